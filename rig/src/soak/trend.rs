//! Whether something grows: a straight line through what was seen over time, and how sure its slope is.
//!
//! What is seen each second depends on the second before, so the line is drawn through the means of equal spans (batch
//! means), which are nearly independent of each other, by least squares. The slope's standard error is that of the
//! residuals. The limit above which the slope lies in at most one case of forty is `slope + 2.2 · standard error`: 2.2 is
//! Student's quantile of 97.5 % for 11 degrees of freedom and larger than those for more.

use serde::Serialize;

/// Spans at most, and at least: with fewer, nothing is said.
const SPANS: usize = 30;
const SPANS_LEAST: usize = 13;

const STUDENT: f64 = 2.2;

/// How something went over time. Units are those of what was seen; an hour is the unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trend {
    /// Mean.
    pub mean: f64,
    /// Growth an hour.
    pub slope_per_hour: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The slope's upper limit.
    pub upper_per_hour: f64,
}

impl Trend {
    /// Of values and when they were seen, in hours. `None` if they are too few.
    pub(super) fn of(seen: &[(f64, f64)]) -> Option<Self> {
        let size = seen.len().div_ceil(SPANS).max(1);
        let means: Vec<(f64, f64)> = seen.chunks_exact(size).map(mean).collect();
        if means.len() < SPANS_LEAST {
            return None;
        }
        let n = count(means.len());
        let (t, y) = mean(&means);
        let spread: f64 = means.iter().map(|(at, _)| (at - t).powi(2)).sum();
        let shared: f64 = means.iter().map(|(at, value)| (at - t) * (value - y)).sum();
        let slope = shared / spread;
        let residual = |(at, value): &(f64, f64)| (value - y - slope * (at - t)).powi(2);
        let residuals: f64 = means.iter().map(residual).sum();
        let standard_error = (residuals / (n - 2.0) / spread).sqrt();
        Some(Self {
            mean: y,
            slope_per_hour: slope,
            standard_error,
            upper_per_hour: slope + STUDENT * standard_error,
        })
    }
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let n = count(points.len());
    let sum = points
        .iter()
        .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    (sum.0 / n, sum.1 / n)
}

fn count(len: usize) -> f64 {
    len as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    /// 15 minutes of a value that is seen each second, grows by `slope` an hour and is off by up to 8 either way, for
    /// some 10 s in the same direction.
    fn seen(slope: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut off = 0.0;
        let point = |second: u32| {
            if second.is_multiple_of(10) {
                off = random.random_range(-8.0..8.0);
            }
            let hours = f64::from(second) / 3600.0;
            (hours, 40.0 + slope * hours + off)
        };
        (0..900).map(point).collect()
    }

    #[test]
    fn a_leak_is_told_from_noise() {
        let mut covered = 0;
        for seed in 0..40 {
            let level = Trend::of(&seen(0.0, seed)).expect("enough");
            let leak = Trend::of(&seen(100.0, seed)).expect("enough");
            assert!((level.mean - 40.0).abs() < 4.0);
            assert!(
                leak.slope_per_hour - STUDENT * leak.standard_error > 20.0,
                "{leak:?}"
            );
            covered += u32::from(level.upper_per_hour >= 0.0);
        }
        // Of forty intervals, one is expected to lie wholly below.
        assert!(covered >= 36, "{covered}");
    }

    #[test]
    fn a_straight_line_is_found_exactly() {
        let points: Vec<_> = (0..20)
            .map(|at| (f64::from(at), 3.0 + 2.0 * f64::from(at)))
            .collect();
        let trend = Trend::of(&points).expect("enough");
        assert!((trend.slope_per_hour - 2.0).abs() < 1e-9 && trend.standard_error < 1e-9);
        assert_eq!(Trend::of(&points[..12]), None);
    }
}
