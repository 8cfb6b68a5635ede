//! Where a run has warmed up: MSER-5 on TTFT in order of arrival.
//!
//! Means y_1 … y_m of consecutive groups of 5; the cut c, at most ⌊m/2⌋, is the first that minimises
//! Σ_{j>c}(y_j − mean)²/(m − c)². A cut at ⌊m/2⌋ says that the run never settled. (White, "An effective truncation
//! heuristic for bias reduction in simulation output", 1997; Spratt's MSER-5.)

use crate::numeric::{mean, squares};

/// Values a group.
const GROUP: usize = 5;

/// How much to cut off at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Groups of five to cut.
    pub groups: usize,
    /// The run settled before its middle.
    pub stationary: bool,
}

impl WarmUp {
    /// From values in order of arrival, censored ones at what was seen of them.
    pub fn of(values: &[f64]) -> Self {
        let means: Vec<f64> = values.chunks_exact(GROUP).map(mean).collect();
        let last = means.len() / 2;
        let mut best = (0, f64::INFINITY);
        for cut in 0..=last {
            let rest = means.get(cut..).unwrap_or_default();
            let size = rest.len() as f64;
            let error = squares(rest) / (size * size);
            if error < best.1 {
                best = (cut, error);
            }
        }
        Self {
            groups: best.0,
            stationary: best.0 < last,
        }
    }

    /// Values to cut.
    pub fn values(&self) -> usize {
        GROUP * self.groups
    }
}
