//! Quantiles of values that are partly cut off, for display: verdicts read both ends instead
//! ([`crate::dependence::Target`]).
//!
//! Kaplan and Meier, "Nonparametric estimation from incomplete observations", 1958, assumes that what was cut off would
//! have gone on like the rest, which an impatient client's abort does not. The band of best and worst case assumes nothing.

use crate::observation::{Ending, Observation, at_end};
use crate::quantile::{Level, Sorted};

/// Slack of the comparison with the level.
const SLACK: f64 = 1e-12;

/// One quantile, seen four ways. Infinite: above everything that was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CensoredQuantile {
    /// Kaplan and Meier's; `None` where the curve never gets there.
    pub kaplan_meier: Option<f64>,
    /// Of determined values alone: biased low. `None` of none.
    pub completed_only: Option<f64>,
    /// With what was cut off longer than everything.
    pub worst_case: f64,
    /// With what was cut off at what was seen of it.
    pub best_case: f64,
}

impl CensoredQuantile {
    /// Of values in any order. `None` of none.
    pub fn of(observations: &[Observation], level: Level) -> Option<Self> {
        let at = |ending| Sorted::new(at_end(observations, ending)).quantile(level);
        let completed = observations.iter().filter(|one| !one.censored);
        Some(Self {
            kaplan_meier: kaplan_meier(observations, level),
            completed_only: Sorted::new(completed.map(|one| one.observed)).quantile(level),
            worst_case: at(Ending::Infinite)?,
            best_case: at(Ending::Value)?,
        })
    }
}

/// The first time at which 1 − S reaches the level, S = Π (1 − events/at risk).
fn kaplan_meier(observations: &[Observation], level: Level) -> Option<f64> {
    let mut sorted = observations.to_vec();
    sorted.sort_unstable_by(|a, b| a.observed.total_cmp(&b.observed));
    let mut survival = 1.0;
    let mut at_risk = sorted.len();
    for same_time in sorted.chunk_by(|a, b| a.observed == b.observed) {
        let events = same_time.iter().filter(|one| !one.censored).count();
        survival *= 1.0 - events as f64 / at_risk as f64;
        if events > 0 && 1.0 - survival >= level.p() - SLACK {
            return same_time.first().map(|one| one.observed);
        }
        at_risk -= same_time.len();
    }
    None
}
