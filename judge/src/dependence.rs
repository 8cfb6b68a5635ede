//! The interval for a quantile of **dependent** values, which latency verdicts use.
//!
//! Requests that follow each other share a queue, so n of them say less than n independent ones: as much as n/d, d being
//! the *design effect*. Two estimates of it exist, and the larger counts:
//!
//! * of 20 **batches**: the variance of the exceedance share between contiguous blocks, over what it would be without
//!   dependence (batching as a device for inference: Alexopoulos et al.; arXiv 2311.04159);
//! * of the **lag-1** correlation r of the values: (1 + r)/(1 − r), that of an autoregressive series (Kish, *Survey
//!   Sampling*; Cochrane and Orcutt).
//!
//! The interval lies in rank space, p ± t_{19}·√(d·p(1 − p)/n), and an end that falls off the data is unbounded rather
//! than the largest value. Below 10 effective exceedances, n(1 − p)/d, nothing is decided.
//!
//! Limits: p of at least ½, n of at least [`BATCHES`]. The choice of the rule is an engineering one: it was checked on a
//! simulated queue, not proven.

use crate::decision::Decision;
use crate::error::{JudgeError, open_unit};
use crate::interval::Interval;
use crate::numeric::{index, mean, sample_variance, signed, student_quantile};
use crate::observation::{Ending, Observation, at_end};
use crate::quantile::{Level, Sorted};
use crate::rank_interval;
use crate::sample_size::LEAST_EXCEEDANCES;

/// Contiguous blocks that a series is cut into.
pub const BATCHES: usize = 20;

/// How much dependence there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DesignEffect {
    /// Lag-1 correlation of the observed values, 0 if negative.
    pub lag1: f64,
    /// By the lag-1 correlation.
    pub by_lag1: f64,
    /// By batches of the exceedance indicator.
    pub by_batches: f64,
}

/// A quantile of dependent values and how far it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileInterval {
    /// The level.
    pub level: Level,
    /// Number of values.
    pub n: u64,
    /// The quantile, by nearest rank.
    pub quantile: f64,
    /// How much dependence there is.
    pub design_effect: DesignEffect,
    /// t_{19, (1 + c)/2}.
    pub t_critical: f64,
    /// h: half width of the interval in shares of the ranks.
    pub half_width: f64,
    /// Rank of the lower end; below 1 it is unbounded.
    pub lower_rank: i64,
    /// Rank of the upper end; above n it is unbounded.
    pub upper_rank: i64,
    /// The ends; infinite where unbounded.
    pub bounds: Interval,
}

/// A target that a quantile has to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The level.
    pub level: Level,
    /// The most that the quantile may be, in the unit of the values.
    pub limit: f64,
    /// The error of the measurement itself, same unit.
    pub error: f64,
}

// DesignEffect

impl DesignEffect {
    /// d: the larger of the two, at least 1.
    pub fn value(&self) -> f64 {
        self.by_batches.max(self.by_lag1).max(1.0)
    }
}

/// (1 + r)/(1 − r), or n where r is too near to 1 to tell.
pub(crate) fn effect_of_lag1(r: f64, n: usize) -> f64 {
    let n = n as f64;
    if r < 1.0 - 2.0 / n {
        (1.0 + r) / (1.0 - r)
    } else {
        n
    }
}

/// Lag-1 correlation: Σ (x_i − x̄)(x_{i+1} − x̄)/Σ (x_i − x̄)², 0 of a constant.
pub(crate) fn lag1(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|x| (x - centre).powi(2)).sum();
    if squares == 0.0 || values.is_empty() {
        return 0.0;
    }
    let pairs = values.iter().zip(values.iter().skip(1));
    pairs
        .map(|(x, next)| (x - centre) * (next - centre))
        .sum::<f64>()
        / squares
}

/// b·s²: the variance of one value that the means of 20 contiguous blocks of b = ⌊n/20⌋ show. Values past the last whole
/// block are left out.
pub(crate) fn batch_variance(values: &[f64]) -> f64 {
    let size = values.len() / BATCHES;
    let means: Vec<f64> = values
        .chunks_exact(size.max(1))
        .take(BATCHES)
        .map(mean)
        .collect();
    size as f64 * sample_variance(&means)
}

/// Design effect of a share of an indicator, by batches: at least 1, and 1 of a constant or of too few.
pub fn share_design_effect(indicator: &[bool]) -> f64 {
    if indicator.len() < BATCHES {
        return 1.0;
    }
    let values: Vec<f64> = indicator
        .iter()
        .map(|is| f64::from(u8::from(*is)))
        .collect();
    by_batches(&values).max(1.0)
}

fn by_batches(indicator: &[f64]) -> f64 {
    let share = mean(indicator);
    let independent = share * (1.0 - share);
    if independent == 0.0 {
        1.0
    } else {
        batch_variance(indicator) / independent
    }
}

fn design_effect(observations: &[Observation], exceeds: &[f64]) -> DesignEffect {
    let observed = at_end(observations, Ending::Value);
    let r = lag1(&observed).max(0.0);
    DesignEffect {
        lag1: r,
        by_lag1: effect_of_lag1(r, observed.len()),
        by_batches: by_batches(exceeds),
    }
}

// QuantileInterval

impl QuantileInterval {
    /// The interval of `observations`, in order of arrival, read at `ending`, at two-sided `confidence`. `None` of fewer
    /// than [`BATCHES`].
    ///
    /// # Errors
    /// If `confidence` is not between 0 and 1, or the level below ½.
    pub fn of(
        observations: &[Observation],
        ending: Ending,
        level: Level,
        confidence: f64,
    ) -> Result<Option<Self>, JudgeError> {
        open_unit("confidence", confidence)?;
        if level < Level::P50 || level.tail_ppm() == 0 {
            return Err(JudgeError::OutOfRange {
                name: "quantile level",
                value: level.p(),
                wanted: "a number from 0.5 to below 1",
            });
        }
        let values = at_end(observations, ending);
        let sorted = Sorted::new(values.iter().copied());
        let Some(quantile) = sorted.quantile(level).filter(|_| values.len() >= BATCHES) else {
            return Ok(None);
        };
        let exceeds: Vec<f64> = values.iter().map(|y| exceeds(*y, quantile)).collect();
        let effect = design_effect(observations, &exceeds);
        let (n, p) = (sorted.len() as f64, level.p());
        let t_critical = student_quantile(BATCHES as f64 - 1.0, (1.0 + confidence) / 2.0);
        let half_width = t_critical * (effect.value() * p * level.tail() / n).sqrt();
        let lower_rank = signed((n * (p - half_width)).floor());
        let upper_rank = signed((n * (p + half_width)).ceil()).saturating_add(1);
        let at = |rank| sorted.at_rank(u64::try_from(rank).ok()?);
        let lower = at(lower_rank).filter(|end| end.is_finite());
        Ok(Some(Self {
            level,
            n: sorted.len(),
            quantile,
            design_effect: effect,
            t_critical,
            half_width,
            lower_rank,
            upper_rank,
            bounds: Interval {
                lower: lower.unwrap_or(f64::NEG_INFINITY),
                upper: at(upper_rank).unwrap_or(f64::INFINITY),
            },
        }))
    }

    /// n/d: as many independent values say as much.
    pub fn effective_n(&self) -> f64 {
        self.n as f64 / self.design_effect.value()
    }

    /// n(1 − p)/d.
    pub fn effective_exceedances(&self) -> f64 {
        self.n as f64 * self.level.tail() / self.design_effect.value()
    }

    /// There are enough effective exceedances to decide anything.
    pub fn guard_holds(&self) -> bool {
        self.effective_exceedances() >= LEAST_EXCEEDANCES
    }

    /// The guard holds and the upper end is finite.
    pub fn enough_data(&self) -> bool {
        self.guard_holds() && self.bounds.upper.is_finite()
    }
}

/// 1 above the quantile; where the quantile itself is infinite, 1 at infinity.
fn exceeds(value: f64, quantile: f64) -> f64 {
    let above = if quantile == f64::INFINITY {
        value == f64::INFINITY
    } else {
        value > quantile
    };
    f64::from(u8::from(above))
}

// Target

impl Target {
    /// PASS if at the infinite end the upper end + error is within the limit; FAIL if at the value end the lower end −
    /// error is above it; both only where the guard holds. So many early aborts can prove neither.
    ///
    /// # Errors
    /// As [`QuantileInterval::of`].
    pub fn decide(
        &self,
        observations: &[Observation],
        confidence: f64,
    ) -> Result<Decision, JudgeError> {
        let at = |ending| QuantileInterval::of(observations, ending, self.level, confidence);
        let (Some(infinite), Some(value)) = (at(Ending::Infinite)?, at(Ending::Value)?) else {
            return Ok(Decision::NotEnoughData);
        };
        let pass = infinite.guard_holds() && self.decide_by(infinite.bounds) == Decision::Pass;
        let fail = value.guard_holds() && self.decide_by(value.bounds) == Decision::Fail;
        Ok(if pass {
            Decision::Pass
        } else if fail {
            Decision::Fail
        } else {
            Decision::NotEnoughData
        })
    }

    /// The same rule on an interval, whatever it was made of: PASS if upper + error ≤ limit, FAIL if lower − error >
    /// limit. An unbounded end proves nothing.
    pub fn decide_by(&self, bounds: Interval) -> Decision {
        if bounds.upper.is_finite() && bounds.upper + self.error <= self.limit {
            Decision::Pass
        } else if bounds.lower.is_finite() && bounds.lower - self.error > self.limit {
            Decision::Fail
        } else {
            Decision::NotEnoughData
        }
    }
}

/// The interval of the same values as if they were independent, for contrast only.
///
/// # Errors
/// If `confidence` is not between 0 and 1.
pub fn as_if_independent(
    observations: &[Observation],
    ending: Ending,
    level: Level,
    confidence: f64,
) -> Result<Interval, JudgeError> {
    let sorted = Sorted::new(at_end(observations, ending));
    let ranks = rank_interval::two_sided(sorted.len(), level, confidence)?;
    let at = |rank: Option<u64>| sorted.as_slice().get(index(rank?.checked_sub(1)?)).copied();
    Ok(Interval {
        lower: at(ranks.lower).unwrap_or(f64::NEG_INFINITY),
        upper: at(ranks.upper).unwrap_or(f64::INFINITY),
    })
}
