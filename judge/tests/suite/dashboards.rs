//! Sketches and histograms: errors within what they promise, merges without error.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use judge::classic_histogram::{CumulativeBucket, histogram_quantile};
use judge::native_histogram::{NativeHistogram, Schema};
use judge::quantile::Sorted;
use judge::sketch::{Mapping, Sketch};
use proptest::collection::vec;
use proptest::prelude::*;

fn sketch_of(values: &[f64], alpha: f64) -> Sketch {
    let mut sketch = Sketch::new(Mapping::new(alpha).unwrap());
    values.iter().for_each(|value| sketch.record(*value));
    sketch
}

fn histogram_of(values: &[f64], schema: Schema) -> NativeHistogram {
    let mut histogram = NativeHistogram::new(schema);
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn merged(parts: &[&Sketch]) -> Sketch {
    let mut whole = parts[0].clone();
    parts[1..]
        .iter()
        .for_each(|part| whole.merge(part).unwrap());
    whole
}

proptest! {
    #[test]
    fn a_sketch_is_as_exact_as_it_says(values in vec(1e-6..1e6_f64, 1..300), p in 0.0..=1.0_f64, alpha in 0.001..0.1_f64) {
        let estimate = sketch_of(&values, alpha).quantile(p).unwrap().estimate;
        let sorted = Sorted::new(values.iter().copied());
        let at = format!("{}", (p * (values.len() as f64 - 1.0) + 1e-9).floor()).parse::<usize>().unwrap();
        let truth = sorted.as_slice()[at];
        prop_assert!((estimate / truth - 1.0).abs() <= alpha * (1.0 + 1e-6), "{estimate} {truth}");
    }

    #[test]
    fn sketches_merge_in_any_grouping(one in vec(0.0..10.0_f64, 0..50), two in vec(0.0..10.0_f64, 0..50), three in vec(0.0..10.0_f64, 0..50)) {
        let all: Vec<f64> = one.iter().chain(&two).chain(&three).copied().collect();
        let [one, two, three] = [one, two, three].map(|part| sketch_of(&part, 0.01));
        let whole = sketch_of(&all, 0.01);
        prop_assert_eq!(&merged(&[&merged(&[&one, &two]), &three]), &whole);
        prop_assert_eq!(&merged(&[&one, &merged(&[&two, &three])]), &whole);
        prop_assert_eq!(&merged(&[&three, &two, &one]), &whole);
    }

    #[test]
    fn a_native_quantile_lies_in_the_bucket_of_the_true_one(values in vec(1e-6..1e6_f64, 1..300), q in 0.0..=1.0_f64, schema in 0_i8..8) {
        let histogram = histogram_of(&values, Schema(schema));
        let quantile = histogram.quantile(q).unwrap();
        let sorted = Sorted::new(values.iter().copied());
        let within = |rank: f64| {
            let at = format!("{}", rank.clamp(1.0, values.len() as f64)).parse::<usize>().unwrap();
            let bounds = Schema(schema).bounds(Schema(schema).index(sorted.as_slice()[at - 1]));
            quantile >= bounds.lower * (1.0 - 1e-9) && quantile <= bounds.upper * (1.0 + 1e-9)
        };
        let rank = q * values.len() as f64;
        // At the edge of two buckets it may be read from either side.
        prop_assert!(within(rank.ceil()) || within(rank.floor()) || within(rank.floor() + 1.0));
    }

    #[test]
    fn a_value_lies_in_its_bucket(value in 1e-9..1e9_f64, schema in -4_i8..9) {
        let schema = Schema(schema);
        let bounds = schema.bounds(schema.index(value));
        prop_assert!(bounds.lower < value * (1.0 + 1e-9) && value <= bounds.upper * (1.0 + 1e-9));
    }

    #[test]
    fn a_classic_quantile_rises_with_q(counts in vec(0_u32..100, 2..10), one in 0.0..1.0_f64, two in 0.0..1.0_f64) {
        prop_assume!(counts.iter().sum::<u32>() > 0);
        let last = counts.len() - 1;
        let mut running = 0;
        let buckets: Vec<CumulativeBucket> = counts.iter().enumerate().map(|(at, count)| {
            running += count;
            let bound = if at == last { f64::INFINITY } else { (at as f64) + 1.0 };
            CumulativeBucket { bound, count: f64::from(running) }
        }).collect();
        let (low, high) = (one.min(two), one.max(two));
        let (low, high) = (histogram_quantile(&buckets, low), histogram_quantile(&buckets, high));
        prop_assert!(low.is_nan() || high >= low, "{low} {high}");
    }
}

#[test]
fn a_classic_quantile_is_undefined_where_prometheus_says_so() {
    let bucket = |bound, count| CumulativeBucket { bound, count };
    let good = [bucket(1.0, 5.0), bucket(f64::INFINITY, 10.0)];
    assert!(histogram_quantile(&good, f64::NAN).is_nan());
    assert_eq!(histogram_quantile(&good, -0.1), f64::NEG_INFINITY);
    assert_eq!(histogram_quantile(&good, 1.1), f64::INFINITY);
    assert!(histogram_quantile(&good[..1], 0.5).is_nan());
    assert!(histogram_quantile(&good[1..], 0.5).is_nan());
    assert!(histogram_quantile(&[bucket(1.0, 0.0), bucket(f64::INFINITY, 0.0)], 0.5).is_nan());
    assert!(histogram_quantile(&[bucket(1.0, 0.0), bucket(f64::INFINITY, 9.0)], 0.0).is_nan());
    assert_eq!(
        histogram_quantile(&[bucket(-1.0, 5.0), bucket(f64::INFINITY, 9.0)], 0.1),
        -1.0
    );
}

#[test]
fn what_differs_does_not_merge() {
    let other = Mapping::new(0.02).unwrap();
    assert_eq!(
        sketch_of(&[1.0], 0.01).merge(&sketch_of(&[1.0], 0.02)),
        Err(other)
    );
    let mut fine = histogram_of(&[1.0, 2.0], Schema(5));
    assert_eq!(fine.merge(&histogram_of(&[1.0], Schema(3))), Err(Schema(3)));
    fine.merge(&histogram_of(&[2.0, 3.0], Schema(5))).unwrap();
    assert_eq!(fine, histogram_of(&[1.0, 2.0, 2.0, 3.0], Schema(5)));
    assert!(sketch_of(&[], 0.01).is_empty());
    assert_eq!(
        sketch_of(&[0.0, 0.0, 1.0], 0.01)
            .quantile(0.5)
            .unwrap()
            .estimate,
        0.0
    );
}
