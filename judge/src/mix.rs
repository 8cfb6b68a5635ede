//! Two arms with different mixes of input lengths: the candidate's share over a limit, re-weighted to the incumbent's mix.
//!
//! Direct standardisation over strata of input length, which neither arm can influence: Σ w_s·exceed_{B,s}/n_{B,s}, w_s =
//! n_{A,s}/n_A. Never over output length or observed concurrency: both are consequences of the model, and standardising on
//! them hides what is to be found. (Rothman, Greenland and Lash, *Modern Epidemiology*, chapter 4.)

use crate::error::JudgeError;

/// Distance of two mixes above which an unpaired comparison has to be standardised. An engineering choice.
const DIFFERS: f64 = 0.05;

/// Requests of one range of input length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stratum {
    /// Of the incumbent.
    pub n_a: u64,
    /// Of those, over the limit.
    pub exceed_a: u64,
    /// Of the candidate.
    pub n_b: u64,
    /// Of those, over the limit.
    pub exceed_b: u64,
}

/// Shares over a limit, crude and standardised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Of A.
    pub crude_a: f64,
    /// Of B.
    pub crude_b: f64,
    /// Of B in A's mix; `None` if B lacks a stratum that A has.
    pub standardised_b: Option<f64>,
    /// ½Σ|n_{A,s}/n_A − n_{B,s}/n_B|.
    pub distance: f64,
}

impl Mix {
    /// Of all strata.
    ///
    /// # Errors
    /// If an arm has no request.
    pub fn of(strata: &[Stratum]) -> Result<Self, JudgeError> {
        let sum = |count: fn(&Stratum) -> u64| strata.iter().map(count).sum::<u64>() as f64;
        let (n_a, n_b) = (sum(|one| one.n_a), sum(|one| one.n_b));
        if n_a == 0.0 || n_b == 0.0 {
            return Err(JudgeError::Empty { name: "an arm" });
        }
        let parts = strata.iter().filter(|one| one.n_a > 0).map(|one| {
            let share = (one.n_b > 0).then(|| one.exceed_b as f64 / one.n_b as f64)?;
            Some(one.n_a as f64 / n_a * share)
        });
        let apart = strata
            .iter()
            .map(|one| (one.n_a as f64 / n_a - one.n_b as f64 / n_b).abs());
        Ok(Self {
            crude_a: sum(|one| one.exceed_a) / n_a,
            crude_b: sum(|one| one.exceed_b) / n_b,
            standardised_b: parts.sum(),
            distance: apart.sum::<f64>() / 2.0,
        })
    }

    /// The mixes differ so much that an unpaired comparison has to be standardised.
    pub fn differs(&self) -> bool {
        self.distance > DIFFERS
    }
}
