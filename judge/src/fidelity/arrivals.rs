//! Arrivals over time: how bursty, and how finely stamped.
//!
//! The variation of gaps alone does not tell a Poisson process: its counts in windows do, by their index of dispersion
//! var/mean, which is 1 for Poisson at every width (Cox and Lewis, *The Statistical Analysis of Series of Events*).
//! Variances are those of the population, divided by n.

use crate::numeric::{count, floor, index, mean, population_variance};

/// Arrival times in seconds, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals<'a> {
    times: &'a [f64],
    end: f64,
}

/// Arrivals in each whole window of one width.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCounts {
    /// Arrivals, window by window.
    pub counts: Vec<u64>,
    /// Their mean. `None` without a whole window, as the others.
    pub mean: Option<f64>,
    /// Index of dispersion, var/mean; `None` also if the mean is 0.
    pub dispersion: Option<f64>,
    /// Squared coefficient of variation, var/mean².
    pub cv2: Option<f64>,
}

impl<'a> Arrivals<'a> {
    /// Arrivals from 0 to `end` seconds.
    pub fn new(times: &'a [f64], end: f64) -> Self {
        Self { times, end }
    }

    /// Mean gap. `None` of fewer than two arrivals.
    pub fn gap_mean(&self) -> Option<f64> {
        let gaps = self.gaps();
        (!gaps.is_empty()).then(|| mean(&gaps))
    }

    /// Coefficient of variation of the gaps; `None` also if their mean is 0.
    pub fn gap_cv(&self) -> Option<f64> {
        let mean = self.gap_mean().filter(|mean| *mean > 0.0)?;
        Some(population_variance(&self.gaps()).sqrt() / mean)
    }

    /// Counts in windows of `width` seconds; what comes after the last whole one is left out.
    pub fn counts(&self, width: f64) -> WindowCounts {
        let windows = floor(self.end / width);
        let mut counts = vec![0; index(windows)];
        for time in self.times.iter().filter(|time| **time >= 0.0) {
            if let Some(count) = counts.get_mut(index(count((time / width).floor()))) {
                *count += 1;
            }
        }
        let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
        let mean = (!values.is_empty()).then(|| mean(&values));
        let over = |divisor: Option<f64>| {
            divisor
                .filter(|divisor| *divisor > 0.0)
                .map(|divisor| population_variance(&values) / divisor)
        };
        WindowCounts {
            counts,
            mean,
            dispersion: over(mean),
            cv2: over(mean.map(|mean| mean * mean)),
        }
    }

    /// Distinct times over arrivals: 1 for fine stamps, low where they lie on a grid. `None` of none.
    pub fn distinct_ratio(&self) -> Option<f64> {
        let distinct = self.times.chunk_by(|a, b| a == b).count();
        (!self.times.is_empty()).then(|| distinct as f64 / self.times.len() as f64)
    }

    fn gaps(&self) -> Vec<f64> {
        let pairs = self.times.iter().zip(self.times.iter().skip(1));
        pairs.map(|(before, after)| after - before).collect()
    }
}
