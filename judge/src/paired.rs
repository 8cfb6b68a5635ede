//! Paired comparison: is the p-quantile of candidate B below m times that of incumbent A, on the same requests?
//!
//! The same request goes to both, so that what they have in common (its length, its neighbours) cancels. With q̂_A the
//! quantile of A and θ = m·q̂_A, a request counts in A if it exceeds q̂_A and in B if it exceeds θ; S is the difference of
//! the two shares. S < 0 beyond doubt means that B's quantile lies below θ. The variance of S comes from the differences
//! of single pairs, with dependence allowed for as in [`crate::dependence`]: by 20 batches, and by lag-1, the larger.
//!
//! q̂_A is an estimate itself. Where the densities around the two quantiles differ, its error shows in S; the weight w =
//! m·s_A/s_B (kept within ⅓ and 3) of the spacings around the quantiles takes it out to first order (the linearisation of
//! a quantile by Bahadur, "A note on quantiles in large samples", 1966).
//!
//! Censored values are read at the end that makes the claim harder: for NON-INFERIOR at A's value end and B's infinite
//! end, for INFERIOR the other way round.

use crate::decision::Standing;
use crate::dependence::{BATCHES, QuantileInterval, batch_variance, effect_of_lag1, lag1};
use crate::error::{JudgeError, open_unit, positive, same_length};
use crate::numeric::{mean, population_variance, student_quantile};
use crate::observation::{Ending, Observation, at_end};
use crate::quantile::{Level, Sorted};

/// Largest distance in level from the quantile at which the spacing is read, in parts per million.
const SPACING_PPM: u32 = 20_000;
/// Largest weight, and its inverse the smallest.
const WEIGHT: f64 = 3.0;

/// What is to be proven of B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedTest {
    /// The level of the quantile.
    pub level: Level,
    /// m: B may be at most m times A.
    pub margin: f64,
    /// One-sided risk of a wrong answer.
    pub alpha: f64,
}

/// The statistic with one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedT {
    /// w.
    pub weight: f64,
    /// Variance of one pair's difference, by batches.
    pub var_batch: f64,
    /// The same as if pairs were independent.
    pub var_naive: f64,
    /// The larger lag-1 correlation: of the differences, or of ln(b/a); 0 if negative.
    pub lag1: f64,
    /// Standard error of S.
    pub se: f64,
    /// S/se; 0 if se is 0.
    pub t: f64,
}

/// How many pairs exceed on which side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairCounts {
    /// A only.
    pub a_only: u64,
    /// B only.
    pub b_only: u64,
    /// Both.
    pub both: u64,
    /// Neither.
    pub neither: u64,
}

/// The comparison read one way: which end A and B are read at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Quantile of A.
    pub q_a: f64,
    /// Quantile of B.
    pub q_b: f64,
    /// m·q̂_A.
    pub threshold: f64,
    /// Who exceeds.
    pub counts: PairCounts,
    /// Distance of A's quantiles around the level.
    pub spacing_a: f64,
    /// The same of B.
    pub spacing_b: f64,
    /// S.
    pub statistic: f64,
    /// With w, which decides.
    pub weighted: WeightedT,
    /// With w = 1, for contrast.
    pub unweighted: WeightedT,
}

/// Quantiles of b − a over pairs of which neither side is censored: what one request sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDifference {
    /// 5 %.
    pub p05: f64,
    /// 50 %.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
}

/// The comparison and its answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedResult {
    /// Read against NON-INFERIOR; its t is the one that time to an answer follows from.
    pub reading: Reading,
    /// t of the reading against INFERIOR; `None` where A's quantile is infinite there.
    pub t_inferiority: Option<f64>,
    /// t_{19, 1 − α}.
    pub t_critical: f64,
    /// Effective exceedances of A, value end.
    pub effective_exceedances: f64,
    /// `None` if every pair has a censored side.
    pub difference: Option<PairedDifference>,
    /// The answer.
    pub standing: Standing,
}

impl PairedTest {
    /// Compares pairs, in order of A's arrival. `None` of fewer than 20.
    ///
    /// # Errors
    /// If the lists differ in length, the margin is not above 0, alpha not between 0 and 1, or the level below ½.
    pub fn compare(
        &self,
        a: &[Observation],
        b: &[Observation],
    ) -> Result<Option<PairedResult>, JudgeError> {
        positive("margin", self.margin)?;
        same_length(("arm A", a.len()), ("arm B", b.len()))?;
        let t_critical =
            student_quantile(BATCHES as f64 - 1.0, 1.0 - open_unit("alpha", self.alpha)?);
        let Some(of_a) = QuantileInterval::of(a, Ending::Value, self.level, 0.95)? else {
            return Ok(None);
        };
        let drift = lag1_of_log_ratio(a, b);
        let read = |of_a, of_b| self.read(&at_end(a, of_a), &at_end(b, of_b), drift);
        let Some(reading) = read(Ending::Value, Ending::Infinite) else {
            return Ok(None);
        };
        let t_inferiority = read(Ending::Infinite, Ending::Value).map(|other| other.weighted.t);
        let standing = if !of_a.guard_holds() {
            Standing::NotEnoughData
        } else if reading.weighted.t < -t_critical {
            Standing::NonInferior
        } else if t_inferiority.is_some_and(|t| t > t_critical) {
            Standing::Inferior
        } else {
            Standing::NotEnoughData
        };
        Ok(Some(PairedResult {
            reading,
            t_inferiority,
            t_critical,
            effective_exceedances: of_a.effective_exceedances(),
            difference: difference(a, b),
            standing,
        }))
    }

    /// `None` where the threshold is infinite, so that nothing can exceed it.
    fn read(&self, a: &[f64], b: &[f64], drift: f64) -> Option<Reading> {
        let (sorted_a, sorted_b) = (
            Sorted::new(a.iter().copied()),
            Sorted::new(b.iter().copied()),
        );
        let q_a = sorted_a.quantile(self.level).filter(|q| q.is_finite())?;
        let q_b = sorted_b.quantile(self.level)?;
        let threshold = self.margin * q_a;
        let exceeds_a = indicator(a, q_a);
        let exceeds_b = indicator(b, threshold);
        let (spacing_a, spacing_b) = (self.spacing(&sorted_a), self.spacing(&sorted_b));
        let statistic = mean(&exceeds_b) - mean(&exceeds_a);
        let with = |weight| {
            let differences: Vec<f64> = exceeds_b
                .iter()
                .zip(&exceeds_a)
                .map(|(b, a)| b - weight * a)
                .collect();
            weighted(weight, statistic, &differences, drift)
        };
        Some(Reading {
            q_a,
            q_b,
            threshold,
            counts: PairCounts::of(&exceeds_a, &exceeds_b),
            spacing_a,
            spacing_b,
            statistic,
            weighted: with(weight(self.margin, spacing_a, spacing_b)),
            unweighted: with(1.0),
        })
    }

    /// q(p + δ) − q(p − δ), δ = min(0.02, (1 − p)/2); infinite if the upper one is.
    fn spacing(&self, sorted: &Sorted) -> f64 {
        let half_ppm = i64::from((2 * SPACING_PPM).min(self.level.tail_ppm()));
        let at = |halves| sorted.at_rank(self.level.rank_beside(sorted.len(), halves));
        match (at(half_ppm), at(-half_ppm)) {
            (Some(upper), Some(lower)) if upper.is_finite() => upper - lower,
            _ => f64::INFINITY,
        }
    }
}

impl PairedResult {
    /// q̂_B/q̂_A.
    pub fn ratio(&self) -> f64 {
        self.reading.q_b / self.reading.q_a
    }

    /// q̂_B − q̂_A: what a service objective sees.
    pub fn quantile_difference(&self) -> f64 {
        self.reading.q_b - self.reading.q_a
    }
}

impl PairCounts {
    fn of(exceeds_a: &[f64], exceeds_b: &[f64]) -> Self {
        let mut counts = Self::default();
        for (a, b) in exceeds_a.iter().zip(exceeds_b) {
            let of = match (*a > 0.0, *b > 0.0) {
                (true, false) => &mut counts.a_only,
                (false, true) => &mut counts.b_only,
                (true, true) => &mut counts.both,
                (false, false) => &mut counts.neither,
            };
            *of += 1;
        }
        counts
    }
}

fn indicator(values: &[f64], limit: f64) -> Vec<f64> {
    values
        .iter()
        .map(|value| f64::from(u8::from(*value > limit)))
        .collect()
}

fn weight(margin: f64, spacing_a: f64, spacing_b: f64) -> f64 {
    if spacing_b == 0.0 {
        return WEIGHT;
    }
    match (spacing_a.is_infinite(), spacing_b.is_infinite()) {
        (true, true) => 1.0,
        (true, false) => WEIGHT,
        (false, true) => 1.0 / WEIGHT,
        (false, false) => (margin * spacing_a / spacing_b).clamp(1.0 / WEIGHT, WEIGHT),
    }
}

fn weighted(weight: f64, statistic: f64, differences: &[f64], drift: f64) -> WeightedT {
    let n = differences.len();
    let var_batch = batch_variance(differences);
    let var_naive = population_variance(differences);
    let r = lag1(differences).max(drift).max(0.0);
    let variance = var_batch.max(var_naive * effect_of_lag1(r, n));
    let se = (variance / n as f64).sqrt();
    let t = if se == 0.0 { 0.0 } else { statistic / se };
    WeightedT {
        weight,
        var_batch,
        var_naive,
        lag1: r,
        se,
        t,
    }
}

/// Lag-1 correlation of ln(b/a) on what was observed. A pair with a side of 0 (cut at once) has no ratio and is passed
/// over.
fn lag1_of_log_ratio(a: &[Observation], b: &[Observation]) -> f64 {
    let ratios: Vec<f64> = a
        .iter()
        .zip(b)
        .map(|(a, b)| (b.observed / a.observed).ln())
        .filter(|ratio| ratio.is_finite())
        .collect();
    lag1(&ratios)
}

fn difference(a: &[Observation], b: &[Observation]) -> Option<PairedDifference> {
    let seen = a.iter().zip(b).filter(|(a, b)| !a.censored && !b.censored);
    let sorted = Sorted::new(seen.map(|(a, b)| b.observed - a.observed));
    let at = |level| sorted.quantile(level);
    Some(PairedDifference {
        p05: at(Level::P05)?,
        p50: at(Level::P50)?,
        p95: at(Level::P95)?,
    })
}
