//! Saturation: does the queue grow through the window?
//!
//! From outside an engine a queue shows in two ways: more in flight, and later first tokens. Each is cut into 20 batches in
//! order of arrival; a straight line through their means (ordinary least squares) that rises beyond doubt (t-test of the
//! slope) and by more than a quarter of the mean is a rise. Both together are saturation. The quarter is an engineering
//! choice.

use crate::dependence::BATCHES;
use crate::numeric::{mean, student_quantile};

/// Rise over the window, relative to the mean, above which it counts.
const RISE: f64 = 0.25;
/// Confidence of the test of the slope.
const CONFIDENCE: f64 = 0.975;

/// A line through batch means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Slope a batch, in the unit of the means.
    pub slope: f64,
    /// Slope over its standard error; infinite for a rise without any scatter.
    pub t: f64,
    /// Rise from the first batch to the last over the mean; 0 if the mean is not above 0.
    pub rise: f64,
    /// The rise is beyond doubt, and large.
    pub rising: bool,
}

/// The two signals of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// Of the number in flight at arrival.
    pub in_flight: Trend,
    /// Of TTFT, with censored ones at what was seen of them.
    pub ttft: Trend,
}

impl Trend {
    /// The line through batch means. `None` of fewer than three.
    pub fn of(means: &[f64]) -> Option<Self> {
        let freedom = means.len().checked_sub(2).filter(|freedom| *freedom > 0)?;
        let freedom = freedom as f64;
        let middle = (means.len() as f64 + 1.0) / 2.0;
        let height = mean(means);
        let at = || (1..=means.len()).map(|j| j as f64 - middle);
        let spread: f64 = at().map(|x| x * x).sum();
        let slope = at().zip(means).map(|(x, y)| x * (y - height)).sum::<f64>() / spread;
        let residuals = at().zip(means).map(|(x, y)| y - height - slope * x);
        let residuals: f64 = residuals.map(|residual| residual * residual).sum();
        let se = (residuals / (freedom * spread)).sqrt();
        let t = match (se > 0.0, slope > 0.0) {
            (true, _) => slope / se,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
        let rise = if height > 0.0 {
            (means.len() as f64 - 1.0) * slope / height
        } else {
            0.0
        };
        Some(Self {
            slope,
            t,
            rise,
            rising: t > student_quantile(freedom, CONFIDENCE) && rise > RISE,
        })
    }
}

impl Saturation {
    /// From single values in order of arrival: what each exchange found in flight, and its TTFT. `None` of fewer than
    /// [`BATCHES`].
    pub fn of(at_arrival: &[f64], ttft: &[f64]) -> Option<Self> {
        Some(Self {
            in_flight: Trend::of(&batch_means(at_arrival)?)?,
            ttft: Trend::of(&batch_means(ttft)?)?,
        })
    }

    /// Both rise.
    pub fn saturated(&self) -> bool {
        self.in_flight.rising && self.ttft.rising
    }
}

/// Means of 20 contiguous blocks of equal size; what does not fill one is left out.
fn batch_means(values: &[f64]) -> Option<Vec<f64>> {
    let size = values.len() / BATCHES;
    (size > 0).then(|| values.chunks_exact(size).take(BATCHES).map(mean).collect())
}
