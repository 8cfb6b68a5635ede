//! What a record costs the thread that carries the stream, and what a scrape costs.

#![allow(missing_docs, reason = "criterion's macros declare the entry point")]
#![allow(
    clippy::expect_used,
    reason = "a benchmark that can't begin has failed"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use exporter::{Exporter, Format, Live};
use measure::Nanos;
use prometheus_client::metrics::histogram::{Histogram, NativeHistogramConfig};
use wire::Tokens;

const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";

/// 256 tokens, one a burst, gaps between 10 and 50 ms.
fn answer() -> support::Story {
    let gap = |i: u64| Nanos(10_000_000 + i * 7_919_000 % 40_000_000);
    support::Story {
        model: Some(MODEL.to_owned()),
        gaps: (0..255).map(|i| (gap(i), Tokens::Exactly(1))).collect(),
        ..support::Story::default()
    }
}

fn observe(c: &mut Criterion) {
    let exporter = support::exporter(&[MODEL]);
    let story = answer();
    let record = story.record();
    c.bench_function("observe a record of 256 tokens", |b| {
        b.iter(|| exporter.observe(black_box(&record)));
    });
    c.bench_function("progress of one burst", |b| {
        let mut exchange = story.exchange();
        let progress = exchange.poll_progress().expect("it has tokens");
        b.iter(|| exporter.output_progress(black_box(&progress)));
    });
    c.bench_function("proxy delay of one burst", |b| {
        b.iter(|| exporter.observe_proxy_delay(black_box(Nanos(40_000))));
    });
    // What the gaps of the same record would cost, one by one, in the library's histogram.
    let edges = exporter::catalogue::GAP.iter().copied();
    let native = NativeHistogramConfig::with_bucket_factor(1.022);
    let (tokens, bursts) = (
        Histogram::new_classic_and_native(edges.clone(), native),
        Histogram::new_classic_and_native(edges, native),
    );
    c.bench_function("the same gaps one by one in prometheus_client", |b| {
        b.iter(|| {
            for &(gap, _) in black_box(&story.gaps) {
                tokens.observe(gap.as_secs_f64());
                bursts.observe(gap.as_secs_f64());
            }
        });
    });
}

fn at_cap() -> Exporter {
    let exporter = support::exporter(&[MODEL]);
    support::fill(&exporter, MODEL);
    exporter
}

fn encode(c: &mut Criterion) {
    let exporter = at_cap();
    let live = Live::default();
    for (name, format) in [
        ("text", Format::Text),
        ("OpenMetrics", Format::OpenMetrics1),
        ("protobuf", Format::Protobuf),
    ] {
        c.bench_function(&format!("scrape at the default cap, {name}"), |b| {
            b.iter(|| exporter.encode(format, black_box(&live)));
        });
    }
}

criterion_group!(benches, observe, encode);
criterion_main!(benches);
