//! Right or wrong on the same items: McNemar's tests and the interval that decides.
//!
//! With b items that A has right and B wrong, and c the other way round, of n: Δ = (c − b)/n. The share of flips, (b +
//! c)/n, stands beside it, since equal accuracy can hide changed answers (arXiv 2407.09141).
//!
//! Tests: McNemar, "Note on the sampling error of the difference between correlated proportions", 1947; mid-p: Fagerland,
//! Lydersen and Laake, 2013. Intervals: Wald; Bonett and Price, "Adjusted Wald confidence interval for a difference of
//! binomial proportions based on paired data", 2012; **Tango**, "Equivalence test and confidence interval for the
//! difference in proportions for the paired-sample design", 1998, by the score, which decides.

use crate::decision::Standing;
use crate::error::JudgeError;
use crate::interval::Interval;
use crate::numeric::{
    binomial_at_most, binomial_probability, bisect, chi_squared_tail, normal_quantile,
};

/// Two-sided confidence of which each end is a one-sided 95 % bound.
const ONE_SIDED: f64 = 0.9;

/// Items that both arms answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedAccuracy {
    n: u64,
    a_only: u64,
    b_only: u64,
}

/// McNemar's χ².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChiSquared {
    /// (b − c)²/(b + c), 0 without discordant items.
    pub statistic: f64,
    /// Its p-value, with one degree of freedom.
    pub p: f64,
    /// Continuity-corrected: max(0, |b − c| − 1)²/(b + c).
    pub corrected: f64,
}

impl PairedAccuracy {
    /// `n` items, `a_only` right in A only, `b_only` right in B only.
    ///
    /// # Errors
    /// If there is no item, or more are discordant than there are.
    pub fn new(n: u64, a_only: u64, b_only: u64) -> Result<Self, JudgeError> {
        if n == 0 {
            return Err(JudgeError::Empty {
                name: "the labelled slice",
            });
        }
        let discordant = a_only.saturating_add(b_only);
        if discordant > n {
            return Err(JudgeError::OutOfRange {
                name: "number of discordant items",
                value: discordant as f64,
                wanted: "at most the number of items",
            });
        }
        Ok(Self { n, a_only, b_only })
    }

    /// Δ: accuracy of B less that of A.
    pub fn delta(&self) -> f64 {
        (self.b_only as f64 - self.a_only as f64) / self.n as f64
    }

    /// Share of items whose answer turned from right to wrong or back.
    pub fn flips(&self) -> f64 {
        self.discordant() / self.n as f64
    }

    /// McNemar's exact p: min(1, 2·P(Bin(b + c, ½) ≤ min(b, c))).
    pub fn exact_p(&self) -> f64 {
        if self.discordant() == 0.0 {
            return 1.0;
        }
        (2.0 * binomial_at_most(self.discordant(), 0.5, self.fewer())).min(1.0)
    }

    /// Mid-p: min(1, 2·[P(Bin ≤ k − 1) + ½P(Bin = k)]), k = min(b, c).
    pub fn mid_p(&self) -> f64 {
        if self.discordant() == 0.0 {
            return 1.0;
        }
        let below = binomial_at_most(self.discordant(), 0.5, self.fewer() - 1.0);
        let at = binomial_probability(self.discordant(), 0.5, self.fewer());
        (2.0 * (below + at / 2.0)).min(1.0)
    }

    /// McNemar's χ².
    pub fn chi_squared(&self) -> ChiSquared {
        let discordant = self.discordant();
        if discordant == 0.0 {
            return ChiSquared {
                statistic: 0.0,
                p: 1.0,
                corrected: 0.0,
            };
        }
        let difference = (self.a_only as f64 - self.b_only as f64).abs();
        let statistic = difference * difference / discordant;
        ChiSquared {
            statistic,
            p: chi_squared_tail(statistic),
            corrected: (difference - 1.0).max(0.0).powi(2) / discordant,
        }
    }

    /// Wald's interval: Δ ± z·√(b + c − (b − c)²/n)/n.
    pub fn wald(&self, confidence: f64) -> Interval {
        let n = self.n as f64;
        let difference = self.a_only as f64 - self.b_only as f64;
        let variance = self.discordant() - difference * difference / n;
        let z = normal_quantile((1.0 + confidence) / 2.0);
        Interval::around(self.delta(), z * variance.max(0.0).sqrt() / n)
    }

    /// Bonett and Price's interval: Wald's with one pair added to each discordant cell.
    pub fn bonett_price(&self, confidence: f64) -> Interval {
        let n = self.n as f64 + 2.0;
        let delta = (self.b_only as f64 - self.a_only as f64) / n;
        let variance = (self.discordant() + 2.0) / n - delta * delta;
        let z = normal_quantile((1.0 + confidence) / 2.0);
        Interval::around(delta, z * variance.sqrt() / n.sqrt())
    }

    /// Tango's score interval: the differences that the score does not refute at `confidence`.
    pub fn tango(&self, confidence: f64) -> Interval {
        let z = normal_quantile((1.0 + confidence) / 2.0);
        let delta = self.delta();
        Interval {
            lower: bisect(-1.0, delta, |at| self.score(at) > z),
            upper: bisect(delta, 1.0, |at| self.score(at) > -z),
        }
    }

    /// Tango's bounds, each at one-sided 95 %.
    pub fn one_sided95(&self) -> Interval {
        self.tango(ONE_SIDED)
    }

    /// NON-INFERIOR if B is proven less than `margin` worse, INFERIOR if it is proven more.
    pub fn decide(&self, margin: f64) -> Standing {
        let bounds = self.one_sided95();
        Standing::of_bounds(-bounds.upper, -bounds.lower, margin)
    }

    /// How far Δ lies above a hypothetical difference, in standard errors under it; it falls as the difference grows.
    fn score(&self, difference: f64) -> f64 {
        let (n, b, c) = (self.n as f64, self.a_only as f64, self.b_only as f64);
        let linear = -b - c + (2.0 * n - c + b) * difference;
        let constant = -b * difference * (1.0 - difference);
        let root = (linear * linear - 8.0 * n * constant).max(0.0).sqrt();
        let q = (root - linear) / (4.0 * n);
        let above = c - b - n * difference;
        let variance = n * (2.0 * q + difference * (1.0 - difference));
        if above == 0.0 {
            0.0
        } else if variance <= 0.0 {
            f64::INFINITY.copysign(above)
        } else {
            above / variance.sqrt()
        }
    }

    fn discordant(&self) -> f64 {
        (self.a_only + self.b_only) as f64
    }

    fn fewer(&self) -> f64 {
        self.a_only.min(self.b_only) as f64
    }
}
