//! How far our own measurement is off, and what may be told from an engine's histogram.
//!
//! [`Calibration`] compares what a scripted engine emitted with what was seen. An engine's histogram is compared at its own
//! bounds, by counts ([`BucketComparison`]); a quantile interpolated in a bucket that is wider than the difference in
//! question decides nothing ([`Viewpoints`]).

use crate::error::{JudgeError, same_length};
use crate::interval::Interval;
use crate::quantile::Sorted;

/// Errors against a script, in its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Of the first token.
    pub ttft_error: f64,
    /// Of each gap.
    pub gap_errors: Vec<f64>,
    /// (last − first)/(events − 1) as it was; `None` of fewer than two events.
    pub tpot_true: Option<f64>,
    /// The same as it was seen.
    pub tpot_seen: Option<f64>,
    /// The largest of all events, whatever its sign.
    pub max_abs_error: f64,
}

/// The same p95 TTFT from three places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Viewpoints {
    /// At the client.
    pub client: f64,
    /// Here.
    pub ours: f64,
    /// In the engine, interpolated in its histogram.
    pub engine: f64,
    /// The bucket that it was interpolated in; the lower bound is excluded.
    pub engine_bucket: Interval,
}

/// Our values counted at an engine's bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketComparison {
    /// Ours, at or below each bound.
    pub ours: Vec<u64>,
    /// The largest difference of counts.
    pub max_difference: u64,
    /// The same as a share of our values; `None` of none.
    pub max_share: Option<f64>,
}

impl Calibration {
    /// From when events were emitted and when they were seen.
    ///
    /// # Errors
    /// If the lists differ in length or are empty.
    pub fn of(emitted: &[f64], seen: &[f64]) -> Result<Self, JudgeError> {
        same_length(
            ("emitted events", emitted.len()),
            ("seen events", seen.len()),
        )?;
        let errors: Vec<f64> = seen
            .iter()
            .zip(emitted)
            .map(|(seen, at)| seen - at)
            .collect();
        let Some(first) = errors.first() else {
            return Err(JudgeError::Empty {
                name: "the list of events",
            });
        };
        let pairs = errors.iter().zip(errors.iter().skip(1));
        Ok(Self {
            ttft_error: *first,
            gap_errors: pairs.map(|(before, error)| error - before).collect(),
            tpot_true: mean_gap(emitted),
            tpot_seen: mean_gap(seen),
            max_abs_error: errors.iter().fold(0.0, |max, error| error.abs().max(max)),
        })
    }

    /// TPOT as seen less as it was.
    pub fn tpot_error(&self) -> Option<f64> {
        Some(self.tpot_seen? - self.tpot_true?)
    }
}

fn mean_gap(times: &[f64]) -> Option<f64> {
    let gaps = times.len().checked_sub(1).filter(|gaps| *gaps > 0)?;
    Some((times.last()? - times.first()?) / gaps as f64)
}

impl Viewpoints {
    /// What lies between client and us.
    pub fn network_and_client(&self) -> f64 {
        self.client - self.ours
    }

    /// Our value lies in the engine's bucket, so both may well be the same.
    pub fn bucket_contains_ours(&self) -> bool {
        self.engine_bucket.lower < self.ours && self.ours <= self.engine_bucket.upper
    }

    /// The bucket is wider than the difference to be judged: nothing follows from it.
    pub fn is_undecidable(&self) -> bool {
        let width = self.engine_bucket.upper - self.engine_bucket.lower;
        self.bucket_contains_ours() && width > (self.engine - self.ours).abs()
    }
}

impl BucketComparison {
    /// Our values against an engine's cumulative counts at ascending bounds.
    ///
    /// # Errors
    /// If there is not one count for each bound.
    pub fn of(values: &[f64], bounds: &[f64], engine: &[u64]) -> Result<Self, JudgeError> {
        same_length(("bounds", bounds.len()), ("counts", engine.len()))?;
        let sorted = Sorted::new(values.iter().copied());
        let ours: Vec<u64> = bounds.iter().map(|bound| sorted.at_most(*bound)).collect();
        let differences = ours
            .iter()
            .zip(engine)
            .map(|(ours, its)| ours.abs_diff(*its));
        let max_difference = differences.max().unwrap_or(0);
        Ok(Self {
            ours,
            max_difference,
            max_share: (!values.is_empty()).then(|| max_difference as f64 / values.len() as f64),
        })
    }

    /// No count differs.
    pub fn is_consistent(&self) -> bool {
        self.max_difference == 0
    }
}
