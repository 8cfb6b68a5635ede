//! The regularised incomplete beta function I_x(a, b) for real a, b > 0, its inverse, and the binomial probability.
//!
//! I_x(a, b) is the continued fraction of Abramowitz and Stegun 26.5.8 by Lentz's method, on the side where it converges
//! fast (x < (a + 1)/(a + b + 2)), else 1 − I_{1−x}(b, a). It takes about √max(a, b) steps near the middle, so the limit
//! grows with that.
//!
//! The factor in front, x^a (1 − x)^b / B(a, b), is where digits are lost: three logarithms of the gamma function of the
//! size of a·ln a cancel. It is taken from the saddle-point expansion of Loader ("Fast and accurate computation of
//! binomial probabilities", 2000) instead, which has no such cancellation: relative error about 1e-14 at a of some
//! millions.

use super::bisect;
use statrs::function::gamma::ln_gamma;
use std::f64::consts::PI;

/// Relative change of a step below which a fraction has converged.
const CONVERGED: f64 = 3e-16;
/// Stands in for a denominator of 0.
const TINY: f64 = 1e-300;
/// Above this Stirling's series has all digits.
const STIRLING: f64 = 16.0;

/// I_x(a, b), a, b > 0, x in \[0, 1\].
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x < (a + 1.0) / (a + b + 2.0) {
        power_over_beta(a, b, x) * fraction(a, b, x) / a
    } else {
        1.0 - power_over_beta(a, b, x) * fraction(b, a, 1.0 - x) / b
    }
}

/// The x for which I_x(a, b) = c.
pub(crate) fn beta_quantile(c: f64, a: f64, b: f64) -> f64 {
    if c <= 0.0 {
        return 0.0;
    }
    if c >= 1.0 {
        return 1.0;
    }
    bisect(0.0, 1.0, |x| incomplete_beta(a, b, x) < c)
}

/// ln B(a, b).
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// P(Bin(n, p) = k), also for real n and k, 0 < p < 1.
pub(crate) fn binomial_probability(n: f64, p: f64, k: f64) -> f64 {
    if k < 0.0 || k > n {
        0.0
    } else if k == 0.0 {
        (n * (-p).ln_1p()).exp()
    } else if k == n {
        (n * p.ln()).exp()
    } else {
        let exponent = correction(n)
            - correction(k)
            - correction(n - k)
            - deviance(k, n * p)
            - deviance(n - k, n * (1.0 - p));
        exponent.exp() * (n / (2.0 * PI * k * (n - k))).sqrt()
    }
}

/// x^a (1 − x)^b / B(a, b), by the binomial probability of a in a + b.
fn power_over_beta(a: f64, b: f64, x: f64) -> f64 {
    binomial_probability(a + b, x, a) * a * b / (a + b)
}

/// What Stirling's formula lacks: ln Γ(z + 1) − [(z + ½) ln z − z + ½ ln 2π].
fn correction(z: f64) -> f64 {
    if z < STIRLING {
        return ln_gamma(z + 1.0) - (z + 0.5) * z.ln() + z - 0.5 * (2.0 * PI).ln();
    }
    let square = z * z;
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
    ];
    series
        .iter()
        .rev()
        .fold(0.0, |sum, term| sum / square + term)
        / z
}

/// x ln(x/m) + m − x without cancellation where x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() >= 0.1 {
        return x * (x / m).ln() + m - x;
    }
    // x ln(x/m) = 2x·artanh(v), and m − x = −(x + m)v.
    let mut sum = (x - m) * v;
    let mut power = 2.0 * x * v;
    for j in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// The continued fraction, without the factor in front.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let limit = 500.0 + 20.0 * a.max(b).sqrt();
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    let mut m = 1.0;
    while m < limit {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / nonzero(1.0 + even * d);
        c = nonzero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / nonzero(1.0 + odd * d);
        c = nonzero(1.0 + odd / c);
        let step = d * c;
        value *= step;
        if (step - 1.0).abs() <= CONVERGED {
            break;
        }
        m += 1.0;
    }
    value
}
