//! Native Prometheus histograms: exponential buckets, and the quantile as Prometheus computes it. For dashboards.
//!
//! With base = 2^(2^−schema), bucket i holds the values in (base^(i−1), base^i]. Two of one schema merge without error by
//! adding their counts. (prometheus/prometheus, `model/histogram` and `promql/quantile.go`, `HistogramQuantile` with
//! exponential interpolation.) Positive values only.

use crate::interval::Interval;
use crate::numeric::signed;
use std::collections::BTreeMap;

/// A value this near to a bucket's upper bound, in indices, is on it.
const SLACK: f64 = 1e-12;

/// How finely buckets lie: 2^schema of them for each doubling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schema(pub i8);

/// Counts by bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeHistogram {
    schema: Schema,
    counts: BTreeMap<i64, u64>,
}

// Schema

impl Schema {
    /// Ratio of a bucket's bounds.
    pub fn base(self) -> f64 {
        (1.0 / self.per_octave()).exp2()
    }

    /// base − 1: width of a bucket, and the largest relative error of the interpolation.
    pub fn width(self) -> f64 {
        self.base() - 1.0
    }

    /// (base − 1)/(base + 1): the largest relative error of the harmonic middle of a bucket.
    pub fn error_of_middle(self) -> f64 {
        (self.base() - 1.0) / (self.base() + 1.0)
    }

    /// The bucket of a value above 0.
    pub fn index(self, value: f64) -> i64 {
        signed((self.per_octave() * value.log2() - SLACK).ceil())
    }

    /// Bounds of a bucket; the lower one is excluded.
    pub fn bounds(self, index: i64) -> Interval {
        Interval {
            lower: self.bound(index as f64 - 1.0),
            upper: self.bound(index as f64),
        }
    }

    fn bound(self, at: f64) -> f64 {
        (at / self.per_octave()).exp2()
    }

    fn per_octave(self) -> f64 {
        f64::from(self.0).exp2()
    }
}

// NativeHistogram

impl NativeHistogram {
    /// An empty one.
    pub fn new(schema: Schema) -> Self {
        Self {
            schema,
            counts: BTreeMap::new(),
        }
    }

    /// Counts `count` values of a bucket.
    pub fn add(&mut self, index: i64, count: u64) {
        *self.counts.entry(index).or_default() += count;
    }

    /// Counts a value above 0.
    pub fn record(&mut self, value: f64) {
        self.add(self.schema.index(value), 1);
    }

    /// Adds the counts of one with the same schema.
    ///
    /// # Errors
    /// With the other's schema, if it is not the same.
    pub fn merge(&mut self, other: &Self) -> Result<(), Schema> {
        if self.schema != other.schema {
            return Err(other.schema);
        }
        for (index, count) in &other.counts {
            self.add(*index, *count);
        }
        Ok(())
    }

    /// The counts, by bucket.
    pub fn counts(&self) -> impl DoubleEndedIterator<Item = (i64, u64)> {
        self.counts.iter().map(|(index, count)| (*index, *count))
    }

    /// The q-quantile, 0 ≤ q ≤ 1, counted from the nearer end. `None` of nothing.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.counts.values().sum::<u64>() as f64;
        if total == 0.0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let counts = self.counts().map(|(index, count)| (index, count as f64));
        if q < 0.5 {
            let (index, count, running) = reach(counts, q * total)?;
            Some(self.within(index, (q * total - (running - count)) / count))
        } else {
            let rank = (1.0 - q) * total;
            let (index, count, running) = reach(counts.rev(), rank)?;
            Some(self.within(index, (running - rank) / count))
        }
    }

    /// `share` of the way through a bucket, on the logarithmic scale.
    fn within(&self, index: i64, share: f64) -> f64 {
        self.schema.bound(index as f64 - 1.0 + share)
    }
}

/// The first bucket at which the running count reaches `rank`, with its count and the running count there.
fn reach(counts: impl Iterator<Item = (i64, f64)>, rank: f64) -> Option<(i64, f64, f64)> {
    let mut running = 0.0;
    let mut last = None;
    for (index, count) in counts.filter(|(_, count)| *count > 0.0) {
        running += count;
        last = Some((index, count, running));
        if running >= rank {
            break;
        }
    }
    last
}
