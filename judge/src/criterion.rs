//! The criteria that a verdict is made of: each looks at one thing and yields a [`Finding`].
//!
//! Defaults are engineering choices: p95 of TTFT and TPOT at most 1.10 times the incumbent's at one-sided 2.5 % (dependence
//! costs up to a factor of two, so the claim is "wrong at most about 5 %"), error rates at most half a point above, accuracy
//! at most two points below, both at 5 %, 99 % of what was offered completed.

mod latency;

pub use latency::{Arms, LatencyFinding, LatencyRule};

use crate::accuracy::PairedAccuracy;
use crate::decision::Decision;
use crate::dependence::share_design_effect;
use crate::error::JudgeError;
use crate::sample_size::Gap;
use crate::share::{RateDifference, Share, rate_difference};
use crate::verdict::Finding;

/// Share of what was offered that has to complete.
const COMPLETED: f64 = 0.99;

/// Bad outcomes (errors, time-outs, malformed answers) of two arms: may the candidate have more by `margin`?
///
/// `a` and `b` say of each request, in order of arrival, whether it was bad. Bad ones come in bursts, so the counts enter
/// divided by their design effect by batches. `rate_per_s` is that of the traffic to come.
///
/// # Errors
/// If an arm has no request.
pub fn error_rate(
    a: &[bool],
    b: &[bool],
    margin: f64,
    rate_per_s: f64,
) -> Result<(RateDifference, Finding), JudgeError> {
    let share = |bad: &[bool]| {
        let count = bad.iter().filter(|bad| **bad).count();
        let share = Share::new(count as f64, bad.len() as f64)?;
        Ok::<_, JudgeError>(share.effective(share_design_effect(bad)))
    };
    let difference = rate_difference(share(a)?, share(b)?, margin);
    let gap = Gap::Interval {
        half_width: difference.bounds.upper - difference.difference,
        rank_gap: margin - difference.difference,
    };
    let finding = Finding::gating("error_rate", difference.decision)
        .missing(Some(gap.time_to_answer(b.len() as u64, rate_per_s)));
    Ok((difference, finding))
}

/// Accuracy on a labelled slice of `items`: may the candidate be less right by `margin`?
///
/// What it lacks is counted in labelled items, so there are no hours to it.
pub fn accuracy(slice: &PairedAccuracy, items: u64, margin: f64) -> Finding {
    let decision = Decision::from(slice.decide(margin));
    let gap = Gap::Interval {
        half_width: slice.delta() - slice.one_sided95().lower,
        rank_gap: slice.delta() + margin,
    };
    Finding::gating("accuracy", decision).missing(Some(gap.time_to_answer(items, 0.0)))
}

/// The candidate carries the load: its queue does not grow, and it completes 99 % of what is offered.
pub fn throughput(candidate_saturated: bool, completed: u64, offered: u64) -> Finding {
    let decision = if offered == 0 {
        Decision::NotEnoughData
    } else if candidate_saturated || (completed as f64) < COMPLETED * offered as f64 {
        Decision::Fail
    } else {
        Decision::Pass
    };
    Finding::gating("throughput", decision)
}
