//! The share of requests over a limit: "p95 ≤ T" is the same statement as "at most 5 % lie above T".
//!
//! Errors, time-outs and censored values are over every limit. Counts may be real numbers: dependent data enter divided
//! by their design effect.
//!
//! Bounds: Clopper and Pearson, "The use of confidence or fiducial limits", 1934; Wilson, "Probable inference", 1927; for
//! a difference of two shares Newcombe, "Interval estimation for the difference between independent proportions", 1998,
//! method 10.

use crate::decision::Decision;
use crate::error::{JudgeError, open_unit};
use crate::interval::Interval;
use crate::numeric::{
    beta_quantile, binomial_at_least, binomial_at_most, first_where, normal_quantile,
};

/// One-sided confidence of a decision about a share.
const CONFIDENCE: f64 = 0.95;

/// Some of some number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    part: f64,
    total: f64,
}

/// A difference of two shares, B − A, with one-sided bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateDifference {
    /// share of B − share of A.
    pub difference: f64,
    /// Each end holds at one-sided 95 %.
    pub bounds: Interval,
    /// PASS if the upper bound is within the margin, FAIL if the lower one is above it.
    pub decision: Decision,
}

// Share

impl Share {
    /// `part` of `total`.
    ///
    /// # Errors
    /// If `total` is not above 0, or `part` lies outside 0 and `total`.
    pub fn new(part: f64, total: f64) -> Result<Self, JudgeError> {
        crate::error::positive("number of requests", total)?;
        if !(0.0..=total).contains(&part) {
            return Err(JudgeError::OutOfRange {
                name: "count",
                value: part,
                wanted: "a number from 0 to the number of requests",
            });
        }
        Ok(Self { part, total })
    }

    /// The same with both counts divided by a design effect of 1 or more.
    #[must_use]
    pub fn effective(self, design_effect: f64) -> Self {
        let divisor = design_effect.max(1.0);
        Self {
            part: self.part / divisor,
            total: self.total / divisor,
        }
    }

    /// part/total.
    pub fn value(self) -> f64 {
        self.part / self.total
    }

    /// Clopper and Pearson's upper bound at one-sided `confidence`: BetaInv(c; k + 1, n − k), 1 if k = n.
    pub fn upper(self, confidence: f64) -> f64 {
        if self.part >= self.total {
            return 1.0;
        }
        beta_quantile(confidence, self.part + 1.0, self.total - self.part)
    }

    /// Clopper and Pearson's lower bound at one-sided `confidence`: BetaInv(1 − c; k, n − k + 1), 0 if k = 0.
    pub fn lower(self, confidence: f64) -> f64 {
        if self.part <= 0.0 {
            return 0.0;
        }
        beta_quantile(1.0 - confidence, self.part, self.total - self.part + 1.0)
    }

    /// Both of them, two-sided at `confidence`.
    pub fn clopper_pearson(self, confidence: f64) -> Interval {
        let side = (1.0 + confidence) / 2.0;
        Interval {
            lower: self.lower(side),
            upper: self.upper(side),
        }
    }

    /// Wilson's interval, two-sided at `confidence`, z = z_{(1+c)/2}, e = k/n:
    /// (e + z²/2n ± z√(e(1 − e)/n + z²/4n²))/(1 + z²/n).
    pub fn wilson(self, confidence: f64) -> Interval {
        let (z, n, e) = (
            normal_quantile((1.0 + confidence) / 2.0),
            self.total,
            self.value(),
        );
        let scale = 1.0 + z * z / n;
        let centre = (e + z * z / (2.0 * n)) / scale;
        let half = z * (e * (1.0 - e) / n + z * z / (4.0 * n * n)).sqrt() / scale;
        // At the ends centre and half width are equal on paper, and differ by a rounding.
        let none = self.part <= 0.0;
        let all = self.part >= self.total;
        Interval {
            lower: if none { 0.0 } else { (centre - half).max(0.0) },
            upper: if all { 1.0 } else { (centre + half).min(1.0) },
        }
    }

    /// p-value of "the share is at least p0": what a PASS has to refute.
    pub fn p_value_at_least(self, p0: f64) -> f64 {
        binomial_at_most(self.total, p0, self.part)
    }

    /// p-value of "the share is at most p0": what a FAIL has to refute.
    pub fn p_value_at_most(self, p0: f64) -> f64 {
        binomial_at_least(self.total, p0, self.part)
    }

    /// PASS if the upper 95 % bound is at most p0, FAIL if the lower one is above it.
    pub fn decide(self, p0: f64) -> Decision {
        if self.upper(CONFIDENCE) <= p0 {
            Decision::Pass
        } else if self.lower(CONFIDENCE) > p0 {
            Decision::Fail
        } else {
            Decision::NotEnoughData
        }
    }
}

/// The largest count over the limit that still passes: max{k : P(Bin(n, p0) ≤ k) ≤ α}. `None` if even 0 does not.
///
/// # Errors
/// If `p0` or `alpha` is not between 0 and 1.
pub fn most_exceedances(n: u64, p0: f64, alpha: f64) -> Result<Option<u64>, JudgeError> {
    open_unit("limit of the share", p0)?;
    open_unit("alpha", alpha)?;
    let too_many = first_where(0, n + 1, |k| {
        binomial_at_most(n as f64, p0, k as f64) > alpha
    });
    Ok(too_many.checked_sub(1))
}

/// Difference of two shares by Newcombe's method: D − √((e₁ − l₁)² + (u₂ − e₂)²) to D + √((u₁ − e₁)² + (e₂ − l₂)²), from
/// Wilson's limits at `confidence`, D = e₁ − e₂.
pub fn newcombe(first: Share, second: Share, confidence: f64) -> Interval {
    let (one, two) = (first.value(), second.value());
    let (of_one, of_two) = (first.wilson(confidence), second.wilson(confidence));
    let difference = one - two;
    Interval {
        lower: difference - (one - of_one.lower).hypot(of_two.upper - two),
        upper: difference + (of_one.upper - one).hypot(two - of_two.lower),
    }
}

/// Error, time-out or malformed rates of two arms: may B exceed A by no more than `margin`?
pub fn rate_difference(a: Share, b: Share, margin: f64) -> RateDifference {
    let bounds = newcombe(b, a, 2.0 * CONFIDENCE - 1.0);
    let decision = if bounds.upper <= margin {
        Decision::Pass
    } else if bounds.lower > margin {
        Decision::Fail
    } else {
        Decision::NotEnoughData
    };
    RateDifference {
        difference: b.value() - a.value(),
        bounds,
        decision,
    }
}
