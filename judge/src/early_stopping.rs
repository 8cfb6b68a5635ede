//! MLPerf's early stopping, for comparison with results that were made by it. Independent values only.
//!
//! It asks whether n queries, t of them over the limit, prove at confidence c that the share over the limit is below
//! 1 − p: h_min(t) is the smallest number of queries within the limit that does. (mlcommons/inference,
//! `loadgen/early_stopping.cc`; mlcommons/inference_policies, "Early stopping criterion".)
//!
//! The reported value counts as over the limit itself, which makes it one rank more careful than Wilks's bound.

use crate::error::{JudgeError, open_unit, positive};
use crate::numeric::{binomial_at_most, first_where, normal_quantile};
use crate::quantile::Level;
use crate::rank_interval;

/// Largest number of queries that is looked at.
const LIMIT: u64 = 1 << 40;

/// What early stopping reports of n queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Queries that may be over the reported value, itself included.
    pub over: u64,
    /// Rank of the reported value, from 1.
    pub rank: u64,
    /// Slowest queries that are left out: `over` − 1.
    pub discarded: u64,
}

/// A sample size by the normal approximation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedSize {
    /// z²·p(1 − p)/margin².
    pub exact: f64,
    /// Rounded to the nearest whole number.
    pub queries: u64,
}

/// n queries with `over` of them over the limit are enough: P(Bin(n, 1 − p) ≤ t) < 1 − c.
fn is_enough(n: u64, over: u64, level: Level, confidence: f64) -> bool {
    binomial_at_most(n as f64, level.tail(), over as f64) < 1.0 - confidence
}

/// h_min(t): the fewest queries within the limit that outweigh `over` over it.
///
/// # Errors
/// If the level or `confidence` is not between 0 and 1.
pub fn least_within(over: u64, level: Level, confidence: f64) -> Result<u64, JudgeError> {
    let confidence = open_unit("confidence", confidence)?;
    open_unit("quantile level", level.p())?;
    let total = first_where(over, LIMIT, |n| is_enough(n, over, level, confidence));
    Ok(total - over)
}

/// The fewest queries that have an estimate at all: h_min(1) + 1.
///
/// # Errors
/// As [`least_within`].
pub fn least_queries(level: Level, confidence: f64) -> Result<u64, JudgeError> {
    Ok(least_within(1, level, confidence)? + 1)
}

/// The conservative percentile of n queries: the largest t ≥ 1 with h_min(t) + t ≤ n gives rank n − t + 1. `None` below
/// [`least_queries`].
///
/// # Errors
/// As [`least_within`].
pub fn estimate(n: u64, level: Level, confidence: f64) -> Result<Option<Estimate>, JudgeError> {
    let confidence = open_unit("confidence", confidence)?;
    open_unit("quantile level", level.p())?;
    let too_many = first_where(1, n + 1, |over| !is_enough(n, over, level, confidence));
    Ok((too_many > 1).then(|| Estimate {
        over: too_many - 1,
        rank: n - (too_many - 1) + 1,
        discarded: too_many - 2,
    }))
}

/// Rank of Wilks's bound at the same n, for contrast.
///
/// # Errors
/// As [`least_within`].
pub fn wilks_rank(n: u64, level: Level, confidence: f64) -> Result<Option<u64>, JudgeError> {
    rank_interval::upper_bound(n, level, confidence)
}

/// The fixed number of queries of a run without early stopping, for a margin around p.
///
/// # Errors
/// If `confidence` is not between 0 and 1, or `margin` is not above 0.
pub fn fixed_size(level: Level, confidence: f64, margin: f64) -> Result<FixedSize, JudgeError> {
    let z = normal_quantile((1.0 + open_unit("confidence", confidence)?) / 2.0);
    let margin = positive("margin", margin)?;
    let exact = z * z * level.p() * level.tail() / (margin * margin);
    Ok(FixedSize {
        exact,
        queries: crate::numeric::count(exact.round()),
    })
}
