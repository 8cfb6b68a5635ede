//! A test of a share over a limit that may be looked at any number of times.
//!
//! An e-process for "the share is at least p0": a beta mixture of likelihood ratios, truncated to shares below p0. By
//! Ville's inequality it exceeds 1/α with probability α at most over all times together. Its mirror tests "at most p0".
//! (Robbins, "Statistical methods related to the law of the iterated logarithm", 1970; Howard, Ramdas, McAuliffe and
//! Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", 2021.)
//!
//! With k of n over the limit, and a mixture Beta(a, b), both ½ by default:
//! ln E = ln I_{p0}(k + a, n − k + b) + ln B(k + a, n − k + b) − ln I_{p0}(a, b) − ln B(a, b) − k ln p0 − (n − k) ln(1 − p0).
//!
//! It holds for independent values: dependent ones enter as k/d and n/d, and not before [`FIRST_LOOK`] requests.

use crate::decision::Decision;
use crate::error::{JudgeError, open_unit, positive};
use crate::numeric::{incomplete_beta, ln_beta};

/// Requests before which no look is taken: before that the design effect is not known.
pub const FIRST_LOOK: u64 = 2000;

/// A share limit under repeated looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialTest {
    /// The limit of the share.
    p0: f64,
    /// Risk over all looks together, on each side.
    alpha: f64,
    /// First parameter of the mixture.
    a: f64,
    /// Second parameter of the mixture.
    b: f64,
}

/// What the data of one look say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// ln E against "the share is at least p0".
    pub log_e_pass: f64,
    /// ln E against "the share is at most p0".
    pub log_e_fail: f64,
    /// NOT ENOUGH DATA means: go on.
    pub decision: Decision,
}

impl SequentialTest {
    /// A test of "the share over is at most `p0`" at risk `alpha`, with the mixture Beta(½, ½).
    ///
    /// # Errors
    /// If a number is not between 0 and 1.
    pub fn new(p0: f64, alpha: f64) -> Result<Self, JudgeError> {
        Ok(Self {
            p0: open_unit("limit of the share", p0)?,
            alpha: open_unit("alpha", alpha)?,
            a: 0.5,
            b: 0.5,
        })
    }

    /// The same with the mixture Beta(`a`, `b`), chosen before the data were seen.
    ///
    /// # Errors
    /// If one is not above 0.
    pub fn with_mixture(mut self, a: f64, b: f64) -> Result<Self, JudgeError> {
        self.a = positive("mixture parameter a", a)?;
        self.b = positive("mixture parameter b", b)?;
        Ok(self)
    }

    /// A look at `over` of `n`, counts that may be divided by a design effect.
    ///
    /// # Errors
    /// If `over` lies outside 0 and `n`.
    pub fn look(&self, over: f64, n: f64) -> Result<Evidence, JudgeError> {
        if !(0.0..=n).contains(&over) {
            return Err(JudgeError::OutOfRange {
                name: "count over the limit",
                value: over,
                wanted: "a number from 0 to the number of requests",
            });
        }
        let within = n - over;
        let mixture = ln_beta(over + self.a, within + self.b) - ln_beta(self.a, self.b);
        let null = over * self.p0.ln() + within * (-self.p0).ln_1p();
        let (a, b, p0) = (self.a, self.b, self.p0);
        let below = incomplete_beta(over + a, within + b, p0).ln() - incomplete_beta(a, b, p0).ln();
        let above = incomplete_beta(within + b, over + a, 1.0 - p0).ln()
            - incomplete_beta(b, a, 1.0 - p0).ln();
        let (log_e_pass, log_e_fail) = (below + mixture - null, above + mixture - null);
        let needed = -self.alpha.ln();
        let decision = if log_e_pass >= needed {
            Decision::Pass
        } else if log_e_fail >= needed {
            Decision::Fail
        } else {
            Decision::NotEnoughData
        };
        Ok(Evidence {
            log_e_pass,
            log_e_fail,
            decision,
        })
    }
}
