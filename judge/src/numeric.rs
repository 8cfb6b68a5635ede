//! Numeric primitives: the incomplete beta function and what follows from it, quantiles of the normal and of Student's
//! distribution, roots, and the crossing between counts and real numbers.
//!
//! `statrs` gives the gamma and the error function. The incomplete beta function is ours, since that of `statrs` stops
//! after 140 steps of its continued fraction, which falls short for parameters in the thousands near the middle.
//!
//! Limits: arguments are those that the callers have checked; an argument outside the domain gives NaN.

mod beta;

pub(crate) use beta::{beta_quantile, binomial_probability, incomplete_beta, ln_beta};

use statrs::function::erf::{erfc, erfc_inv};

/// Halvings of a bisection: more than a double has digits, from any bracket.
const HALVINGS: u32 = 200;

/// Slack of a floor or a ceiling: a product that is whole on paper counts as whole.
const SLACK: f64 = 1e-9;

/// P(Bin(n, p) ≤ k); k may be negative. Real n and k are those of counts divided by a design effect.
pub(crate) fn binomial_at_most(n: f64, p: f64, k: f64) -> f64 {
    if k < 0.0 {
        0.0
    } else if k >= n {
        1.0
    } else {
        incomplete_beta(n - k, k + 1.0, 1.0 - p)
    }
}

/// P(Bin(n, p) ≥ k).
pub(crate) fn binomial_at_least(n: f64, p: f64, k: f64) -> f64 {
    if k <= 0.0 {
        1.0
    } else if k > n {
        0.0
    } else {
        incomplete_beta(k, n - k + 1.0, p)
    }
}

/// z_c: P(Z ≤ z) = c.
pub(crate) fn normal_quantile(c: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * c)
}

/// P(χ² ≥ x) with one degree of freedom.
pub(crate) fn chi_squared_tail(x: f64) -> f64 {
    erfc((x / 2.0).sqrt())
}

/// t_{k,c}: P(T ≤ t) = c with `freedom` degrees of freedom.
///
/// From 1 − I_{k/(k + t²)}(k/2, ½) = 2c − 1 for c ≥ ½ (Abramowitz and Stegun 26.7.1).
pub(crate) fn student_quantile(freedom: f64, c: f64) -> f64 {
    if c < 0.5 {
        return -student_quantile(freedom, 1.0 - c);
    }
    let x = beta_quantile(2.0 * (1.0 - c), freedom / 2.0, 0.5);
    (freedom * (1.0 - x) / x).sqrt()
}

/// Where `above` turns from true (at `low`) to false (at `high`).
pub(crate) fn bisect(low: f64, high: f64, above: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low + (high - low) / 2.0
}

/// The smallest whole number in `from..to` for which `holds`, which stays true once it is; `to` if there is none.
pub(crate) fn first_where(from: u64, to: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// ⌈x⌉ as a count, x less the slack.
pub(crate) fn ceil(x: f64) -> u64 {
    count((x - SLACK).ceil())
}

/// ⌊x⌋ as a count, x with the slack.
pub(crate) fn floor(x: f64) -> u64 {
    count((x + SLACK).floor())
}

/// A whole, positive number as a count: 0 below 0 and for NaN, the largest count above it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, which is what the documentation says"
)]
pub(crate) fn count(whole: f64) -> u64 {
    whole as u64
}

/// A whole number with its sign; it saturates.
#[expect(
    clippy::cast_possible_truncation,
    reason = "such a cast saturates, which is what the documentation says"
)]
pub(crate) fn signed(whole: f64) -> i64 {
    whole as i64
}

/// A count as an index of memory. One that does not fit has no element there either.
pub(crate) fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Arithmetic mean; NaN of nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Σ (x − mean)².
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean).powi(2)).sum()
}

/// Sample variance, divided by n − 1.
pub(crate) fn sample_variance(values: &[f64]) -> f64 {
    squares(values) / (values.len() as f64 - 1.0)
}

/// Population variance, divided by n.
pub(crate) fn population_variance(values: &[f64]) -> f64 {
    squares(values) / values.len() as f64
}

#[cfg(test)]
mod tests;
