//! Two distributions, recorded and replayed: how far apart.
//!
//! With F_a, F_b the empirical distribution functions: Kolmogorov and Smirnov's sup |F_a − F_b|, Wasserstein's ∫|F_a − F_b|
//! (in the unit of the values), and the energy distance √(2∫(F_a − F_b)²) (Székely and Rizzo, 2013).

use crate::error::JudgeError;
use crate::numeric::mean;
use crate::quantile::Sorted;

/// How far two distributions are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// sup |F_a − F_b|.
    pub ks: f64,
    /// ∫|F_a − F_b|.
    pub wasserstein: f64,
    /// √(2∫(F_a − F_b)²).
    pub energy: f64,
    /// Wasserstein's distance over the mean of a; `None` if that is 0.
    pub relative_wasserstein: Option<f64>,
    /// What `ks` exceeds in 5 % of cases for equal distributions: 1.358·√((n + m)/(nm)).
    pub ks_critical: f64,
}

impl Lengths {
    /// Compares recorded `a` with replayed `b`.
    ///
    /// # Errors
    /// If one is empty.
    pub fn compare(a: &[f64], b: &[f64]) -> Result<Self, JudgeError> {
        if a.is_empty() || b.is_empty() {
            return Err(JudgeError::Empty {
                name: "one of the two lists to compare",
            });
        }
        let (sorted_a, sorted_b) = (
            Sorted::new(a.iter().copied()),
            Sorted::new(b.iter().copied()),
        );
        let (n, m) = (a.len() as f64, b.len() as f64);
        let all = Sorted::new(a.iter().chain(b).copied());
        let (mut ks, mut wasserstein, mut squares) = (0.0_f64, 0.0, 0.0);
        for (at, next) in all.as_slice().iter().zip(all.as_slice().iter().skip(1)) {
            let apart = sorted_a.at_most(*at) as f64 / n - sorted_b.at_most(*at) as f64 / m;
            ks = ks.max(apart.abs());
            wasserstein += apart.abs() * (next - at);
            squares += apart * apart * (next - at);
        }
        let of_a = mean(a);
        Ok(Self {
            ks,
            wasserstein,
            energy: (2.0 * squares).sqrt(),
            relative_wasserstein: (of_a != 0.0).then(|| wasserstein / of_a),
            ks_critical: 1.358 * ((n + m) / (n * m)).sqrt(),
        })
    }
}
