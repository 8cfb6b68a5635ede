//! One histogram: classic buckets, and native ones beside them, fed by the same observation.
//!
//! Why not `prometheus_client`'s own: it takes one value at a time under a lock, and an answer of 256 tokens is 256 values
//! twice over (gaps between tokens, gaps between bursts). A record already holds them counted in the very buckets of a
//! native histogram, and here they are added as they are, all under one lock: 7 µs for the whole record, where the gaps
//! alone cost 50 µs one by one. This type also never reads a clock and never gives up resolution. What leaves the process
//! is still written by `prometheus_client`'s encoders, and a test holds this type to the same messages as its histogram.
//!
//! Limits: see [`crate::native`] for the number of buckets. Values are finite and not negative; any other is left out.

use std::fmt;
use std::iter::once;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::{MetricEncoder, NativeHistogram, NativeHistogramBuckets};

use crate::catalogue::Form;
use crate::native::{self, Sparse};

type NoExemplarLabels = [(&'static str, &'static str); 0];

/// One series of a histogram family.
#[derive(Debug)]
pub(crate) struct Histogram {
    edges: Arc<[f64]>,
    form: Form,
    state: Mutex<State>,
}

#[derive(Debug, Clone)]
struct State {
    sum: f64,
    count: u64,
    /// Per bucket, not cumulated; the last one is above every edge.
    classic: Box<[u64]>,
    native: Sparse,
}

/// Values of one native bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    /// Its index at [`native::SCHEMA`].
    pub(crate) index: i32,
    /// The value that stands for all in it.
    pub(crate) middle: f64,
    /// How many there are.
    pub(crate) n: u64,
}

impl State {
    fn add_classic(&mut self, bucket: usize, n: u64) {
        if let Some(count) = self.classic.get_mut(bucket) {
            *count = count.saturating_add(n);
        }
        self.count = self.count.saturating_add(n);
    }
}

impl Histogram {
    /// An empty histogram over ascending `edges`.
    pub(crate) fn new(edges: Arc<[f64]>, form: Form) -> Self {
        let classic = vec![0; edges.len() + 1].into_boxed_slice();
        Self {
            edges,
            form,
            state: Mutex::new(State {
                sum: 0.0,
                count: 0,
                classic,
                native: Sparse::default(),
            }),
        }
    }

    /// Takes one value.
    pub(crate) fn observe(&self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        let value = match self.form {
            Form::Classic => value,
            // A native histogram must not see 0: a span shorter than the clock can tell is one tick of it.
            Form::ClassicAndNative => value.max(native::SMALLEST),
        };
        let mut state = self.state.lock();
        state.add_classic(self.bucket(value), 1);
        state.sum += value;
        if self.form == Form::ClassicAndNative {
            state.native.add(native::index_of(value), 1);
        }
    }

    /// Takes values that were counted in native buckets of the same schema, and their sum.
    ///
    /// The native form is exact. In the classic one a bucket's values count at its middle, so that those within 1.1 % of
    /// an edge may count on its other side.
    pub(crate) fn observe_counted(&self, buckets: impl Iterator<Item = Counted>, sum: f64) {
        let mut state = self.state.lock();
        for Counted { index, middle, n } in buckets.filter(|bucket| bucket.n > 0) {
            state.add_classic(self.bucket(middle), n);
            if self.form == Form::ClassicAndNative {
                state.native.add(index, n);
            }
        }
        state.sum += sum;
    }

    /// Index of the classic bucket: the first whose upper bound the value doesn't exceed.
    fn bucket(&self, value: f64) -> usize {
        self.edges.partition_point(|&edge| edge < value)
    }

    /// Writes a snapshot; the lock isn't held while writing.
    pub(crate) fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let state = self.state.lock().clone();
        let buckets: Vec<(f64, u64)> = self
            .edges
            .iter()
            .copied()
            .chain(once(f64::INFINITY))
            .zip(state.classic.iter().copied())
            .collect();
        if self.form == Form::Classic {
            return encoder.encode_histogram::<NoExemplarLabels>(
                state.sum,
                state.count,
                &buckets,
                None,
            );
        }
        let positive = state.native.spans();
        encoder.encode_histogram_with_native::<NoExemplarLabels>(
            state.sum,
            state.count,
            &buckets,
            None,
            NativeHistogram {
                schema: native::SCHEMA,
                zero_threshold: native::ZERO_THRESHOLD,
                zero_count: 0,
                negative: NativeHistogramBuckets {
                    spans: &[],
                    deltas: &[],
                },
                positive: NativeHistogramBuckets {
                    spans: &positive.spans,
                    deltas: &positive.deltas,
                },
                created: None,
            },
        )
    }
}

#[cfg(test)]
mod tests;
