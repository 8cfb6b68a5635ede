//! What was sent when, against what was planned: late sends are a load that was not the recorded one.
//!
//! Both the worst percent and the rate count; a median would hide the tail. The limits are engineering choices.

use crate::error::{JudgeError, same_length};
use crate::interval::Interval;
use crate::quantile::{Level, Sorted};

/// Microseconds a second.
const MICROS: f64 = 1e6;
/// A lag that counts as late, and the smallest limit.
const LATE_S: f64 = 0.010;
/// Share of the TTFT target that the lag may reach.
const OF_TARGET: f64 = 0.05;
/// How far the achieved rate may be from the planned one.
const RATE: Interval = Interval {
    lower: 0.99,
    upper: 1.01,
};

/// Lags of a replay in seconds, in whole microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScheduleLag {
    /// Median.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// Share above 10 ms.
    pub late_share: f64,
    /// What p99 may be: max(10 ms, 5 % of the TTFT target).
    pub limit: f64,
    /// Planned span over actual span.
    pub rate_ratio: f64,
}

impl ScheduleLag {
    /// Of sends, one by one.
    ///
    /// # Errors
    /// If the lists differ in length or are empty.
    pub fn of(planned: &[f64], actual: &[f64], ttft_target: f64) -> Result<Self, JudgeError> {
        same_length(
            ("planned times", planned.len()),
            ("actual times", actual.len()),
        )?;
        let lags = planned
            .iter()
            .zip(actual)
            .map(|(planned, actual)| ((actual - planned) * MICROS).round() / MICROS);
        let lags = Sorted::new(lags);
        let at = |level| {
            lags.quantile(level).ok_or(JudgeError::Empty {
                name: "the list of planned times",
            })
        };
        let punctual = lags.at_most(LATE_S);
        Ok(Self {
            p50: at(Level::P50)?,
            p99: at(Level::P99)?,
            max: at(Level::P100)?,
            late_share: (lags.len() - punctual) as f64 / lags.len() as f64,
            limit: LATE_S.max(OF_TARGET * ttft_target),
            rate_ratio: span(planned) / span(actual),
        })
    }

    /// The lag and the rate are within their limits. One send, or all at one instant as planned, has no rate to keep.
    pub fn is_valid(&self) -> bool {
        self.p99 <= self.limit && (self.rate_ratio.is_nan() || RATE.contains(self.rate_ratio))
    }
}

fn span(times: &[f64]) -> f64 {
    let sorted = Sorted::new(times.iter().copied());
    sorted.max().unwrap_or(0.0) - sorted.min().unwrap_or(0.0)
}
