//! The histogram against `prometheus_client`'s own, and against exact quantiles.

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::encoding::prometheus_protobuf::{encode, prometheus_data_model as model};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::histogram::{Histogram as Theirs, NativeHistogramConfig};
use prometheus_client::registry::{Metric, Registry};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;
use crate::catalogue::TTFT;

impl EncodeMetric for Histogram {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        Self::encode(self, encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

fn ours() -> Histogram {
    Histogram::new(TTFT.into(), Form::ClassicAndNative)
}

fn written(metric: impl Metric) -> model::Histogram {
    let mut registry = Registry::default();
    registry.register("x", "x", metric);
    let families = encode(&registry).expect("encodes");
    let mut written = families[0].metric[0]
        .histogram
        .clone()
        .expect("a histogram");
    // Theirs stamps the wall clock.
    written.start_timestamp = None;
    written
}

/// Latencies with a tail, seconds.
fn sample(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..n)
        .map(|_| {
            let u: f64 = random.random_range(1e-9..1.0);
            0.05 + 0.2 * (-u.ln()).powf(1.7)
        })
        .collect()
}

/// Quantile of native buckets, exponential interpolation, from the upper end.
fn native_quantile(q: f64, histogram: &model::Histogram) -> f64 {
    let mut buckets = Vec::new();
    let (mut index, mut count, mut deltas) = (0, 0, histogram.positive_delta.iter());
    for span in &histogram.positive_span {
        index += span.offset;
        for _ in 0..span.length {
            count += deltas.next().expect("a delta for each bucket");
            buckets.push((index, count as f64));
            index += 1;
        }
    }
    let total = histogram.sample_count as f64;
    let mut above = 0.0;
    for (index, count) in buckets.into_iter().rev() {
        above += count;
        let rank = (1.0 - q) * total;
        if above >= rank {
            let share = (above - rank) / count;
            return 2f64.powf((f64::from(index) - 1.0 + share) / 32.0);
        }
    }
    panic!("an empty histogram has no quantile");
}

/// The classic bucket that holds the quantile: lower and upper bound.
fn classic_bucket(q: f64, histogram: &model::Histogram) -> (f64, f64) {
    let rank = q * histogram.sample_count as f64;
    let mut lower = 0.0;
    for bucket in &histogram.bucket {
        if bucket.cumulative_count as f64 >= rank {
            return (lower, bucket.upper_bound);
        }
        lower = bucket.upper_bound;
    }
    panic!("the last bucket holds everything");
}

#[test]
fn writes_what_the_library_writes() {
    let values = [
        sample(1, 5000),
        vec![1e-9, 0.001, 0.25, 2560.0, 4000.0, 0.5, 1.0, 1.0],
    ]
    .concat();
    let ours = ours();
    let config = NativeHistogramConfig::with_bucket_factor(1.022);
    let theirs = Theirs::new_classic_and_native(TTFT.iter().copied(), config);
    for &value in &values {
        ours.observe(value);
        theirs.observe(value);
    }
    assert_eq!(written(ours), written(theirs));
}

#[test]
fn an_empty_one_is_recognised_as_native() {
    let config = NativeHistogramConfig::with_bucket_factor(1.022);
    let theirs = Theirs::new_classic_and_native(TTFT.iter().copied(), config);
    assert_eq!(written(ours()), written(theirs));
}

#[test]
fn resolution_stays_over_a_spread_from_one_millisecond_to_five_minutes() {
    let histogram = ours();
    let mut value = 0.001;
    let mut n: u64 = 0;
    while value <= 300.0 {
        histogram.observe(value);
        value *= 1.01;
        n += 1;
    }
    let written = written(histogram);
    assert_eq!(written.schema, 5);
    assert_eq!(written.sample_count, n);
    assert!(
        written.positive_delta.len() >= 580,
        "{} buckets",
        written.positive_delta.len()
    );
}

#[test]
fn a_span_of_0_is_one_tick_and_no_zero_bucket() {
    let histogram = ours();
    histogram.observe(0.0);
    let written = written(histogram);
    assert_eq!((written.sample_count, written.zero_count), (1, 0));
    assert_eq!(written.positive_span.len(), 1);
}

#[test]
fn fault_76_what_is_no_amount_is_left_out() {
    let histogram = ours();
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        histogram.observe(value);
    }
    assert_eq!(written(histogram).sample_count, 0);
}

#[test]
fn fault_76_a_count_stays_at_its_largest() {
    let histogram = ours();
    for _ in 0..3 {
        let counted = Counted {
            index: 0,
            middle: 1.0,
            n: u64::MAX / 2,
        };
        histogram.observe_counted([counted].into_iter(), 1.0);
    }
    let written = written(histogram);
    assert_eq!(written.sample_count, u64::MAX);
    let largest = written.bucket.iter().map(|bucket| bucket.cumulative_count);
    assert_eq!(largest.max(), Some(u64::MAX));
}

#[test]
fn amounts_have_classic_buckets_alone_and_may_be_0() {
    let histogram = Histogram::new([0.0, 1.0].into(), Form::Classic);
    for value in [0.0, 0.0, 1.0, 5.0] {
        histogram.observe(value);
    }
    let written = written(histogram);
    let cumulative: Vec<u64> = written
        .bucket
        .iter()
        .map(|bucket| bucket.cumulative_count)
        .collect();
    assert_eq!(cumulative, [2, 3, 4]);
    assert!(written.positive_span.is_empty() && written.zero_threshold == 0.0);
}

#[test]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive spans far below 2^64 ns"
)]
fn counted_values_are_native_buckets_without_error() {
    let mut gaps = measure::GapHistogram::default();
    let one_by_one = ours();
    for seconds in sample(2, 2000) {
        let gap = measure::Nanos((seconds * 1e9) as u64);
        gaps.record(gap, None);
        one_by_one.observe(gap.as_secs_f64());
    }
    let at_once = ours();
    let counted = gaps.iter().map(|bucket| Counted {
        index: bucket.index,
        middle: bucket.middle_secs(),
        n: bucket.bursts,
    });
    at_once.observe_counted(counted, gaps.sum().as_secs_f64());
    let (at_once, one_by_one) = (written(at_once), written(one_by_one));
    assert_eq!(at_once.sample_count, one_by_one.sample_count);
    assert_eq!(at_once.positive_span, one_by_one.positive_span);
    assert_eq!(at_once.positive_delta, one_by_one.positive_delta);
    assert!((at_once.sample_sum - one_by_one.sample_sum).abs() < 1e-9 * one_by_one.sample_sum);
}

#[test]
fn quantiles_lie_within_a_bucket_of_the_exact_ones() {
    for seed in 3..8 {
        let mut values = sample(seed, 10_000);
        let histogram = ours();
        for &value in &values {
            histogram.observe(value);
        }
        let written = written(histogram);
        values.sort_unstable_by(f64::total_cmp);
        for (q, rank) in [(0.5, 5000), (0.95, 9500), (0.99, 9900)] {
            let exact = values[rank - 1];
            let native = native_quantile(q, &written);
            let off = (native / exact - 1.0).abs();
            assert!(
                off <= 0.022,
                "p{q}: native {native}, exact {exact}, off by {off}"
            );
            let (lower, upper) = classic_bucket(q, &written);
            assert!(
                lower < exact && exact <= upper,
                "p{q}: {exact} not in ({lower}, {upper}]"
            );
        }
    }
}
