//! What an exchange may cost in memory.

use crate::script::{answer, answered, exactly};
use measure::{End, Exchange, GapHistogram, Nanos, Record};

#[test]
fn a_record_is_small() {
    // What the engine states, of the request and of its load, is some 180 of them.
    assert!(size_of::<Record>() <= 896, "{}", size_of::<Record>());
    assert!(size_of::<Exchange>() <= 1024, "{}", size_of::<Exchange>());
}

#[test]
fn a_histogram_with_every_bucket_holds_12_kib() {
    let mut histogram = GapHistogram::default();
    let steps = |power: u32| (0..200_u64).map(move |step| (1_u64 << power) + (step << power) / 200);
    for nanos in (0..50).flat_map(steps) {
        histogram.record(Nanos(nanos), Some(1));
    }
    assert_eq!(histogram.iter().count(), GapHistogram::MAX_BUCKETS);
    assert_eq!(histogram.heap_bytes(), 12 * 1024);
}

#[test]
fn a_long_stream_costs_no_more_than_a_short_one() {
    let mut exchange = answered();
    let mut at = 0;
    for token in 0..100_000_u64 {
        // 20 ms, give or take a quarter.
        at += 15_000_000 + (token * 7919) % 10_000_000;
        exchange.on_read(Nanos(at), 200, &[exactly(1)]);
    }
    exchange.on_end(Nanos(at), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(record.bursts, 100_000);
    assert!(
        record.gaps.heap_bytes() <= 512,
        "{}",
        record.gaps.heap_bytes()
    );
}
