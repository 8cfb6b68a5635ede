//! Intervals for quantiles that hold at all times at once: for live displays, not for verdicts.
//!
//! For independent values; dependent ones enter as n/d.
//!
//! One quantile: the two-sided beta-binomial mixture of Howard and Ramdas, "Sequential estimation of quantiles with
//! applications to A/B testing and best-arm identification" (2022), theorem 1 and the code of the authors,
//! gostevehoward/confseq. All quantiles at once: theorem 2 of the same paper,
//! |F̂_t − F| ≤ 0.85·√((ln(1 + ln(t/t_min)) + C)/t) for all t ≥ t_min.

use crate::error::{JudgeError, open_unit, positive};
use crate::interval::Interval;
use crate::numeric::{bisect, ceil, floor, ln_beta};
use crate::quantile::Level;

/// The risk for which the mixture is tuned to be tightest at its best time.
const TUNED_ALPHA: f64 = 0.05;
/// A of theorem 2.
const FACTOR: f64 = 0.85;
/// Steps of a search by thirds: from 1 to below 1e-17.
const THIRDS: u32 = 100;

/// Ranks around a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankSequence {
    /// How far the lower end is from p, in shares of the ranks.
    pub lower_radius: f64,
    /// How far the upper end is.
    pub upper_radius: f64,
    /// Nothing bounds the lower end yet.
    pub lower_capped: bool,
    /// Nothing bounds the upper end yet.
    pub upper_capped: bool,
    /// Rank of the lower end, from 1; `None` where it is unbounded.
    pub lower_rank: Option<u64>,
    /// Rank of the upper end; `None` where it is unbounded.
    pub upper_rank: Option<u64>,
}

/// One-sided bound of the running sum of an indicator with mean g/(g + h), g + h = 1.
struct Mixture {
    g: f64,
    h: f64,
    /// Scale of the mixture.
    r: f64,
}

impl Mixture {
    /// Tuned to be tightest after `best` values.
    fn new(g: f64, best: f64) -> Self {
        let h = 1.0 - g;
        let l = -TUNED_ALPHA.ln();
        let rho = g * h * best / (2.0 * l + (1.0 + 2.0 * l).ln());
        Self {
            g,
            h,
            r: (rho - g * h).max(1e-3 * g * h),
        }
    }

    /// ln M(s) at the intrinsic time v.
    fn ln_value(&self, s: f64, v: f64) -> f64 {
        let Self { g, h, r } = *self;
        -((v + h * s) / h) * g.ln() - ((v - g * s) / g) * h.ln()
            + ln_beta((r + v - g * s) / g, (r + v + h * s) / h)
            - ln_beta(r / g, r / h)
    }

    /// The largest sum after `t` values that is still plausible; `None` where every sum is.
    fn bound(&self, t: f64, alpha: f64) -> Option<f64> {
        let v = self.g * self.h * t;
        let needed = -alpha.ln();
        let most = v / self.g;
        if self.ln_value(most, v) < needed {
            return None;
        }
        Some(bisect(0.0, most, |s| self.ln_value(s, v) < needed))
    }
}

/// The ranks between which the quantile is, after `t` values, at all times with risk `alpha` on each side.
///
/// `best` is the number of values at which the interval is tightest.
///
/// # Errors
/// If the level or `alpha` is not between 0 and 1, or `best` not above 0.
pub fn one_quantile(
    level: Level,
    t: u64,
    best: f64,
    alpha: f64,
) -> Result<RankSequence, JudgeError> {
    let p = open_unit("quantile level", level.p())?;
    open_unit("alpha", alpha)?;
    positive("best number of values", best)?;
    let size = t as f64;
    let upper = Mixture::new(p, best).bound(size, alpha);
    let lower = Mixture::new(level.tail(), best).bound(size, alpha);
    let upper_radius = upper.map_or(level.tail(), |sum| sum / size);
    let lower_radius = lower.map_or(p, |sum| sum / size);
    Ok(RankSequence {
        lower_radius,
        upper_radius,
        lower_capped: lower.is_none(),
        upper_capped: upper.is_none(),
        lower_rank: lower
            .map(|_| floor(size * (p - lower_radius) + 1.0))
            .filter(|rank| *rank >= 1),
        upper_rank: upper
            .map(|_| ceil(size * (p + upper_radius)))
            .filter(|rank| *rank <= t),
    })
}

/// How far the empirical distribution is from the true one, at all quantiles and all times from `t_min` on.
///
/// # Errors
/// If `alpha` is not between 0 and 1, `t_min` is 0, or `t` lies before it.
pub fn all_quantiles(t: f64, t_min: f64, alpha: f64) -> Result<f64, JudgeError> {
    positive("first time", t_min)?;
    if t < t_min {
        return Err(JudgeError::OutOfRange {
            name: "number of values",
            value: t,
            wanted: "a number not below the first time",
        });
    }
    let c = constant(alpha)?;
    Ok(FACTOR * (((t / t_min).ln().ln_1p() + c) / t).sqrt())
}

/// C(α): the root of α = inf over η and γ > 1 of 4·e^{−γ²C}(1 + 1/((γ² − 1) ln η)), γ² = (2/η)(A − √(2(η − 1)/C))².
///
/// # Errors
/// If `alpha` is not between 0 and 1.
pub fn constant(alpha: f64) -> Result<f64, JudgeError> {
    let alpha = open_unit("alpha", alpha)?;
    Ok(bisect(3.0, 3000.0, |c| crossing_risk(c) > alpha))
}

/// The radius of Dvoretzky, Kiefer and Wolfowitz for one look, for contrast: √(ln(2/α)/(2t)).
pub fn one_look(t: f64, alpha: f64) -> f64 {
    ((2.0 / alpha).ln() / (2.0 * t)).sqrt()
}

/// The risk that comes with a constant, at the best η. It has one minimum in η, found by thirds.
fn crossing_risk(c: f64) -> f64 {
    let at = |eta: f64| {
        let root = FACTOR - (2.0 * (eta - 1.0) / c).sqrt();
        let gamma2 = 2.0 / eta * root * root;
        if root <= 0.0 || gamma2 <= 1.0 {
            return f64::INFINITY;
        }
        4.0 * (-gamma2 * c).exp() * (1.0 + 1.0 / ((gamma2 - 1.0) * eta.ln()))
    };
    let (mut low, mut high) = (1.0, 2.0 * FACTOR * FACTOR);
    for _ in 0..THIRDS {
        let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(one) <= at(two) {
            high = two;
        } else {
            low = one;
        }
    }
    at(low + (high - low) / 2.0)
}

impl RankSequence {
    /// p − lower radius to p + upper radius, as levels.
    pub fn levels(&self, level: Level) -> Interval {
        Interval {
            lower: level.p() - self.lower_radius,
            upper: level.p() + self.upper_radius,
        }
    }
}
