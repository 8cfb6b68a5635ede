//! Intervals for a quantile of **independent** values, from the ranks alone (no distribution assumed).
//!
//! For labelled items and for baselines. Never for the latency of a live queue: neighbouring requests share a queue, and
//! such an interval then covers the truth far less often than it says; [`crate::dependence`] has the one for that.
//!
//! The number of values below the p-quantile is binomial, hence P(x_(l) ≤ q_p < x_(u)) = P(l ≤ Bin(n, p) ≤ u − 1) (David
//! and Nagaraja, *Order Statistics*, 7.1; the one-sided bound is Wilks, "Determination of sample sizes for setting
//! tolerance limits", 1941).

use crate::error::{JudgeError, open_unit};
use crate::numeric::{binomial_at_least, binomial_at_most, ceil, first_where};
use crate::quantile::Level;

/// Ranks, from 1, of the two ends. `None` is unbounded: there is no value that far out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankInterval {
    /// Rank of the lower end.
    pub lower: Option<u64>,
    /// Rank of the upper end.
    pub upper: Option<u64>,
    /// How often such an interval holds the quantile; `None` if an end is unbounded.
    pub coverage: Option<f64>,
}

/// Two-sided interval \[x_(l), x_(u)\] at `confidence`, with a = (1 − c)/2 outside on each side at most.
///
/// # Errors
/// If `confidence` is not between 0 and 1.
pub fn two_sided(n: u64, level: Level, confidence: f64) -> Result<RankInterval, JudgeError> {
    let outside = (1.0 - open_unit("confidence", confidence)?) / 2.0;
    let (size, p) = (n as f64, level.p());
    let below = |rank: u64| binomial_at_most(size, p, rank as f64 - 1.0);
    // The largest rank with no more than `outside` below it is one before the first with more.
    let lower = first_where(1, n + 1, |rank| below(rank) > outside) - 1;
    let upper = first_where(0, n + 1, |rank| {
        binomial_at_least(size, p, rank as f64) <= outside
    });
    let lower = (lower >= 1).then_some(lower);
    let upper = (upper <= n).then_some(upper);
    let coverage = lower
        .zip(upper)
        .map(|(lower, upper)| below(upper) - below(lower));
    Ok(RankInterval {
        lower,
        upper,
        coverage,
    })
}

/// Rank of the one-sided upper bound: the smallest r with P(Bin ≤ r − 1) ≥ c. `None`: no value bounds it.
///
/// # Errors
/// If `confidence` is not between 0 and 1.
pub fn upper_bound(n: u64, level: Level, confidence: f64) -> Result<Option<u64>, JudgeError> {
    let confidence = open_unit("confidence", confidence)?;
    let rank = first_where(1, n + 1, |rank| {
        binomial_at_most(n as f64, level.p(), rank as f64 - 1.0) >= confidence
    });
    Ok((rank <= n).then_some(rank))
}

/// Rank of the one-sided lower bound: the largest r with P(Bin ≥ r) ≥ c. `None`: no value bounds it.
///
/// # Errors
/// If `confidence` is not between 0 and 1.
pub fn lower_bound(n: u64, level: Level, confidence: f64) -> Result<Option<u64>, JudgeError> {
    let confidence = open_unit("confidence", confidence)?;
    let after = first_where(1, n + 1, |rank| {
        binomial_at_least(n as f64, level.p(), rank as f64) < confidence
    });
    Ok(after.checked_sub(1).filter(|rank| *rank >= 1))
}

/// The smallest n with a one-sided upper bound: ⌈ln(1 − c)/ln p⌉.
///
/// # Errors
/// If `confidence` or the level is not between 0 and 1.
pub fn least_for_upper_bound(level: Level, confidence: f64) -> Result<u64, JudgeError> {
    let confidence = open_unit("confidence", confidence)?;
    let p = open_unit("quantile level", level.p())?;
    Ok(ceil((1.0 - confidence).ln() / p.ln()))
}

/// The smallest n for which both ends of the two-sided interval exist.
///
/// The lower end needs (1 − p)^n ≤ a, the upper p^n ≤ a, a = (1 − c)/2.
///
/// # Errors
/// If `confidence` or the level is not between 0 and 1.
pub fn least_for_two_sided(level: Level, confidence: f64) -> Result<u64, JudgeError> {
    let outside = (1.0 - open_unit("confidence", confidence)?) / 2.0;
    let p = open_unit("quantile level", level.p())?;
    Ok(ceil(outside.ln() / p.ln()).max(ceil(outside.ln() / level.tail().ln())))
}
