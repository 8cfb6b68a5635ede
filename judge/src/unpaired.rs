//! Comparison of two arms that did not see the same requests.
//!
//! Each arm has its own interval ([`crate::dependence`]); they decide only if they do not overlap around the margin. It has
//! little power: a pair says far more ([`crate::paired`]). The mixes of input lengths have to agree
//! ([`crate::mix`]).

use crate::decision::Standing;
use crate::dependence::QuantileInterval;
use crate::error::{JudgeError, open_unit, positive};
use crate::observation::{Ending, Observation};
use crate::paired::PairedTest;

/// Both arms at the ends that make NON-INFERIOR harder, and the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnpairedResult {
    /// The incumbent, value end.
    pub a: QuantileInterval,
    /// The candidate, infinite end.
    pub b: QuantileInterval,
    /// The answer.
    pub standing: Standing,
}

/// NON-INFERIOR if upper_B ≤ m·lower_A (B at the infinite end, A at the value end), INFERIOR if lower_B > m·upper_A (the
/// other ends), each interval at confidence 1 − α; the guard has to hold on both. `None` if an arm has fewer than 20.
///
/// # Errors
/// If the margin is not above 0, alpha not between 0 and 1, or the level below ½.
pub fn compare(
    test: &PairedTest,
    a: &[Observation],
    b: &[Observation],
) -> Result<Option<UnpairedResult>, JudgeError> {
    let margin = positive("margin", test.margin)?;
    let confidence = 1.0 - open_unit("alpha", test.alpha)?;
    let read = |arm, ending| QuantileInterval::of(arm, ending, test.level, confidence);
    let (Some(low_a), Some(high_a)) = (read(a, Ending::Value)?, read(a, Ending::Infinite)?) else {
        return Ok(None);
    };
    let (Some(low_b), Some(high_b)) = (read(b, Ending::Value)?, read(b, Ending::Infinite)?) else {
        return Ok(None);
    };
    let enough = [&low_a, &high_a, &low_b, &high_b]
        .iter()
        .all(|interval| interval.guard_holds());
    let standing = if !enough {
        Standing::NotEnoughData
    } else if high_b.bounds.upper <= margin * low_a.bounds.lower {
        Standing::NonInferior
    } else if low_b.bounds.lower > margin * high_a.bounds.upper {
        Standing::Inferior
    } else {
        Standing::NotEnoughData
    };
    Ok(Some(UnpairedResult {
        a: low_a,
        b: high_b,
        standing,
    }))
}
