//! The gap histogram: bounded, exact where it says so, mergeable in any order.

use crate::vector::{Vector, number};
use measure::{GapHistogram, Nanos};
use proptest::prelude::*;

const WIDTH: f64 = 1.021_897_148_654_116_7; // 2^(1/32)

fn of(gaps: &[(u64, Option<u64>)]) -> GapHistogram {
    let mut histogram = GapHistogram::default();
    for &(gap, tokens) in gaps {
        histogram.record(Nanos(gap), tokens);
    }
    histogram
}

/// Gaps within the range of the buckets, half of them with a token count.
fn gaps(most: usize) -> impl Strategy<Value = Vec<(u64, Option<u64>)>> {
    let gap = prop_oneof![1_000..10_000_000_u64, 1_000..4_000_000_000_000_u64];
    prop::collection::vec((gap, prop::option::of(1..20_u64)), 0..most)
}

#[test]
fn buckets_are_those_of_a_native_histogram() {
    let vector = Vector::read("14_native_histogram_index");
    for case in vector.cases() {
        let gap = std::time::Duration::from_secs_f64(number(&case["value"]));
        let nanos = u64::try_from(gap.as_nanos()).expect("it is below 584 years");
        let histogram = of(&[(nanos, Some(1))]);
        let bucket = histogram.iter().next().expect("one gap fills one bucket");
        let expected = &case["expected"];
        vector.check(expected, "index", Some(f64::from(bucket.index)));
        vector.check(expected, "upper_inclusive", Some(bucket.upper_secs()));
        vector.check(
            expected,
            "lower_exclusive",
            Some(bucket.upper_secs() / WIDTH),
        );
        assert_eq!((bucket.bursts, bucket.tokens), (1, 1));
    }
}

#[test]
fn a_bound_belongs_to_the_bucket_below_it() {
    for power in 0..9_u32 {
        let nanos = 1_000_000_000 >> power;
        let indices: Vec<i32> = [nanos, nanos + 1]
            .iter()
            .flat_map(|&gap| {
                of(&[(gap, None)])
                    .iter()
                    .map(|bucket| bucket.index)
                    .collect::<Vec<_>>()
            })
            .collect();
        let power = i32::try_from(power).expect("it is small");
        assert_eq!(indices, [-32 * power, -32 * power + 1], "2^-{power} s");
    }
}

#[test]
fn a_gap_of_several_tokens_is_shared_evenly() {
    let histogram = of(&[(60_000_000, Some(3)), (20_000_000, Some(1))]);
    let buckets: Vec<(u64, u64)> = histogram
        .iter()
        .map(|bucket| (bucket.bursts, bucket.tokens))
        .collect();
    assert_eq!(
        buckets,
        [(1, 4), (1, 0)],
        "20 ms holds one gap and four tokens, 60 ms one gap and no token"
    );
    assert_eq!((histogram.bursts(), histogram.tokens()), (2, 4));
    assert_eq!(
        (histogram.sum(), histogram.token_sum()),
        (Nanos(80_000_000), Nanos(80_000_000))
    );
}

#[test]
fn a_gap_without_a_token_count_has_no_share_of_the_tokens() {
    let histogram = of(&[(60_000_000, None), (20_000_000, Some(2))]);
    assert_eq!((histogram.bursts(), histogram.tokens()), (2, 2));
    assert_eq!(
        (histogram.sum(), histogram.token_sum()),
        (Nanos(80_000_000), Nanos(20_000_000))
    );
}

#[test]
fn without_gaps_nothing_is_known() {
    let histogram = GapHistogram::default();
    assert!(histogram.is_empty());
    assert_eq!((histogram.max(), histogram.quantile(0.5)), (None, None));
    assert_eq!(histogram.heap_bytes(), 0);
}

#[test]
fn a_quantile_that_is_none_is_none() {
    let histogram = of(&[(1_000_000, None)]);
    assert_eq!(
        [-0.1, 1.1, f64::NAN].map(|p| histogram.quantile(p)),
        [None; 3]
    );
    assert_eq!(
        [0.0, 0.5, 1.0].map(|p| histogram.quantile(p)),
        [histogram.quantile(0.5); 3]
    );
}

#[test]
fn gaps_beyond_the_range_keep_sum_and_maximum() {
    let histogram = of(&[(1, Some(1)), (u64::MAX / 2, Some(1))]);
    assert_eq!(
        histogram
            .iter()
            .map(|bucket| bucket.index)
            .collect::<Vec<_>>(),
        [-639, 384]
    );
    assert_eq!(histogram.sum(), Nanos(u64::MAX / 2 + 1));
    assert_eq!(histogram.max(), Some(Nanos(u64::MAX / 2)));
}

proptest! {
    #[test]
    fn each_gap_lies_in_its_bucket(gap in 1_000..4_000_000_000_000_u64, tokens in 1..50_u64) {
        let histogram = of(&[(gap, Some(tokens))]);
        for bucket in histogram.iter() {
            let share = if bucket.bursts > 0 { 1 } else { tokens };
            let value = Nanos(gap).as_secs_f64() / f64::from(u32::try_from(share).expect("it is small"));
            // The first bucket also holds what is shorter than all.
            let lower = if bucket.index == -639 { 0.0 } else { bucket.upper_secs() / WIDTH * (1.0 - 1e-12) };
            prop_assert!(lower < value && value <= bucket.upper_secs() * (1.0 + 1e-12), "{value} in {bucket:?}");
        }
    }

    #[test]
    fn a_quantile_is_the_nearest_rank_within_the_stated_error(gaps in gaps(200), p in 0.001..=1.0_f64) {
        let histogram = of(&gaps);
        let mut sorted: Vec<u64> = gaps.iter().map(|&(gap, _)| gap).collect();
        sorted.sort_unstable();
        let rank = (1..=sorted.len()).find(|&rank| rank as f64 >= p * sorted.len() as f64 - 1e-9);
        match (rank, histogram.quantile(p)) {
            (Some(rank), Some(got)) => {
                let truth = Nanos(sorted[rank - 1]).as_secs_f64();
                let error = (got.as_secs_f64() / truth - 1.0).abs();
                prop_assert!(error < 0.0110, "{truth} told as {got:?}");
                prop_assert!(Some(got) <= histogram.max());
            }
            (rank, got) => prop_assert!(rank.is_none() && got.is_none()),
        }
    }

    #[test]
    fn merging_is_recording_all_in_any_order_and_grouping(a in gaps(40), b in gaps(40), c in gaps(40)) {
        let merged = |parts: &[&GapHistogram]| {
            let mut all = GapHistogram::default();
            for part in parts {
                all.merge(part);
            }
            all
        };
        let recorded = of(&[a.clone(), b.clone(), c.clone()].concat());
        let (a, b, c) = (of(&a), of(&b), of(&c));
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &recorded);
        prop_assert_eq!(&merged(&[&a, &merged(&[&b, &c])]), &recorded);
        prop_assert_eq!(&merged(&[&c, &b, &a]), &recorded);
    }

    #[test]
    fn sums_and_the_maximum_are_exact(gaps in gaps(100)) {
        let histogram = of(&gaps);
        let exact: Vec<(u64, u64)> = gaps.iter().filter_map(|&(gap, tokens)| Some((gap, tokens?))).collect();
        prop_assert_eq!(histogram.sum(), Nanos(gaps.iter().map(|gap| gap.0).sum()));
        prop_assert_eq!(histogram.token_sum(), Nanos(exact.iter().map(|gap| gap.0).sum()));
        prop_assert_eq!(histogram.tokens(), exact.iter().map(|gap| gap.1).sum::<u64>());
        prop_assert_eq!(histogram.bursts(), gaps.len() as u64);
        prop_assert_eq!(histogram.max(), gaps.iter().map(|gap| Nanos(gap.0)).max());
    }
}
