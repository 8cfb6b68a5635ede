//! Whole replays as replicates: what holds "on this recorded trace".
//!
//! One replay on each side is one pair, x = ln(p95_B/p95_A); a paired t-interval of x decides, from five replays on. Beside
//! it two tests that assume no distribution: by signs (Arbuthnot, 1710), and by flipping signs (Fisher, *The Design of
//! Experiments*), whose smallest p-value is 2^−K.

use crate::decision::Standing;
use crate::error::{JudgeError, open_unit, positive, same_length};
use crate::interval::Interval;
use crate::numeric::{binomial_at_least, mean, sample_variance, student_quantile};

/// Replays that a decision takes.
const LEAST: usize = 5;
/// Slack of the comparison of sums.
const SLACK: f64 = 1e-12;
/// Replays above which signs are not flipped one by one any more: a million sums.
const MOST_FLIPPED: usize = 20;

/// K replays on each side.
#[derive(Debug, Clone, PartialEq)]
pub struct Replicates {
    logs: Vec<f64>,
    margin: f64,
    alpha: f64,
}

impl Replicates {
    /// One quantile of each replay, in order: `a` of the incumbent, `b` of the candidate, which may be at most `margin`
    /// times as much, with one-sided risk `alpha`.
    ///
    /// # Errors
    /// If the lists differ in length or are empty, a value or the margin is not above 0, or alpha not between 0 and 1.
    pub fn new(a: &[f64], b: &[f64], margin: f64, alpha: f64) -> Result<Self, JudgeError> {
        same_length(("replays of A", a.len()), ("replays of B", b.len()))?;
        if a.is_empty() {
            return Err(JudgeError::Empty {
                name: "the list of replays",
            });
        }
        let log = |(a, b): (&f64, &f64)| {
            Ok(
                (positive("quantile of a replay", *b)? / positive("quantile of a replay", *a)?)
                    .ln(),
            )
        };
        Ok(Self {
            logs: a
                .iter()
                .zip(b)
                .map(log)
                .collect::<Result<_, JudgeError>>()?,
            margin: positive("margin", margin)?,
            alpha: open_unit("alpha", alpha)?,
        })
    }

    /// K.
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    /// Mean of ln(B/A).
    pub fn log_mean(&self) -> f64 {
        mean(&self.logs)
    }

    /// Its exponential: the geometric mean of B/A.
    pub fn ratio(&self) -> f64 {
        self.log_mean().exp()
    }

    /// Standard deviation of ln(B/A). `None` of one.
    pub fn sd(&self) -> Option<f64> {
        (self.logs.len() > 1).then(|| sample_variance(&self.logs).sqrt())
    }

    /// t_{K−1, 1−α}. `None` of one.
    pub fn t_critical(&self) -> Option<f64> {
        let freedom = self
            .logs
            .len()
            .checked_sub(1)
            .filter(|freedom| *freedom > 0)?;
        Some(student_quantile(freedom as f64, 1.0 - self.alpha))
    }

    /// exp(x̄ ± t·s/√K), each end at one-sided 1 − α. `None` of one.
    pub fn bounds(&self) -> Option<Interval> {
        let half = self.t_critical()? * self.sd()? / (self.logs.len() as f64).sqrt();
        let around = Interval::around(self.log_mean(), half);
        Some(Interval {
            lower: around.lower.exp(),
            upper: around.upper.exp(),
        })
    }

    /// p-value by signs, P(Bin(K, ½) ≥ number of replays below the margin).
    pub fn sign_test_p(&self) -> f64 {
        let below = self.logs.iter().filter(|x| **x < self.margin.ln()).count();
        binomial_at_least(self.logs.len() as f64, 0.5, below as f64)
    }

    /// Exact p-value by flipping signs: the share of the 2^K sign vectors whose sum is at most the one found. `None` above
    /// 20 replays.
    pub fn sign_flip_p(&self) -> Option<f64> {
        let over: Vec<f64> = self.logs.iter().map(|x| x - self.margin.ln()).collect();
        if over.len() > MOST_FLIPPED {
            return None;
        }
        let found: f64 = over.iter().sum();
        let vectors = 1_u32 << over.len();
        let at_most = (0..vectors).filter(|signs| {
            let flipped = over.iter().enumerate().map(|(at, x)| {
                let sign = if signs >> at & 1 == 0 { 1.0 } else { -1.0 };
                sign * x.abs()
            });
            flipped.sum::<f64>() <= found + SLACK
        });
        Some(at_most.count() as f64 / f64::from(vectors))
    }

    /// The smallest p-value that K replays can give by signs: 2^−K.
    pub fn least_sign_p(&self) -> f64 {
        (-(self.logs.len() as f64)).exp2()
    }

    /// The answer, from five replays on.
    pub fn standing(&self) -> Standing {
        match self.bounds() {
            Some(bounds) if self.logs.len() >= LEAST => {
                Standing::of_bounds(bounds.lower, bounds.upper, self.margin)
            }
            _ => Standing::NotEnoughData,
        }
    }
}
