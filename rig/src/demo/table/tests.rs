//! What stands in the table and below it.

use crate::demo::pairing::{Both, Pair, Pairing, histogram};
use crate::demo::report::{Process, Report, Requests, Settings};
use crate::demo::session::Finished;
use crate::process::Holding;
use measure::{Edges, GapHistogram, Nanos, Shape, ShapeEdges};

const MS: u64 = 1_000_000;

/// 257-1024 tokens in, 33-256 out, 2-4 in flight.
fn shape() -> Shape {
    let edges = ShapeEdges::default();
    let bucket = |edges: &Edges, value| edges.bucket(Some(value));
    Shape {
        input: bucket(&edges.input, 300),
        output: bucket(&edges.output, 40),
        concurrency: bucket(&edges.concurrency, 3),
    }
}

/// A report of `n` requests of one shape, each a millisecond slower than the one before and reported `late_us` too late,
/// with a gap each.
fn report(n: u64, late_us: u64) -> Report {
    let shape = shape();
    let mut pairing = Pairing::new(ShapeEdges::default());
    let mut gaps = GapHistogram::default();
    for number in 1..=n {
        let both = |truth: u64| {
            Some(Both {
                reported: Nanos(truth + late_us * 1000),
                truth: Nanos(truth),
            })
        };
        let pair = Pair {
            shape,
            ttft: both(100 * MS + number * MS),
            tpot: both(8 * MS),
            longest_gap: both(9 * MS),
        };
        pairing.pairs.push(pair);
        gaps.record(Nanos(8 * MS), Some(1));
        pairing.gaps_true.saturating_record(8 * MS);
    }
    pairing.gaps_reported = gaps;
    pairing.outcomes.insert("ok", n);
    let held = Holding {
        resident_bytes: Some(9_000_000),
        open_files: Some(12),
    };
    made(Finished {
        settings: Settings {
            version: "0",
            engine: "small-gpu",
            seconds: 20.0,
            rate: 10.0,
            seed: 1,
        },
        requests: Requests {
            sent: n,
            answered: n,
            left_early: 0,
            failed: 0,
            in_flight_left: 0,
            held_back: 0,
            records: n,
            truths: n,
            paired: n,
            unpaired: 0,
            not_kept: 0,
            kept_most: 7,
            tokens_received: 40 * n,
            tokens_reported: 40 * n,
            tokens_true: 40 * n,
        },
        process: Process {
            start: held,
            half: None,
            end: held,
            cpu_seconds: Some(4.0),
            cpu_wait_seconds: Some(0.5),
        },
        pairing,
    })
}

fn made(finished: Finished) -> Report {
    let mut hops = histogram();
    hops.saturating_record(50_000);
    Report::new(finished, &hops)
}

/// The cells of the table's rows, line by line, that begin like this.
fn lines(text: &str, beginning: &[&str]) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.split(['│', '┆'])
            .skip(1)
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    text.lines()
        .map(cells)
        .filter(|cells| cells.len() > 11 && cells.iter().zip(beginning).all(|(a, b)| a == b))
        .collect()
}

#[test]
fn a_cell_shows_what_was_reported_what_was_true_and_the_difference() {
    let text = report(500, 250).to_string();
    let row = lines(&text, &["257-1024", "33-256", "2-4", "500", "reported"]);
    assert_eq!(row.len(), 1, "{text}");
    assert_eq!(
        row[0][5..11],
        ["350.250", "575.250", "595.250", "8.250", "8.250", "8.250"]
    );
    let below = lines(&text, &["", "", "", ""]);
    assert_eq!(
        below[0][4..11],
        [
            "true", "350.000", "575.000", "595.000", "8.000", "8.000", "8.000"
        ]
    );
    assert_eq!(
        below[1][4..11],
        [
            "difference",
            "+0.250",
            "+0.250",
            "+0.250",
            "+0.250",
            "+0.250",
            "+0.250"
        ]
    );
    assert_eq!(lines(&text, &["all", "all", "all", "500"]).len(), 1);
}

#[test]
fn too_few_values_show_their_number_instead_of_a_quantile() {
    let few = report(19, 0).to_string();
    let row = &lines(&few, &["257-1024", "33-256", "2-4", "19"])[0];
    assert_eq!(
        row[4..11],
        ["", "n too small", "", "", "n too small", "", ""],
        "{few}"
    );
    let more = report(100, 0).to_string();
    let row = &lines(&more, &["257-1024", "33-256", "2-4", "100"])[0];
    assert_eq!(row[5..8], ["150.000", "195.000", "n too small"], "{more}");
    // Differences between the two sides are there for any number.
    assert!(
        few.contains("TTFT         within 0.000 ms for 95 in 100, at most 0.000 ms (n = 19)"),
        "{few}"
    );
}

#[test]
fn the_verdict_is_no_from_a_millisecond_on() {
    let agrees = |late_us| report(30, late_us).agreement.agrees;
    assert_eq!(
        (agrees(0), agrees(999), agrees(1001)),
        (Some(true), Some(true), Some(false))
    );
    assert!(
        report(30, 1001)
            .to_string()
            .contains("DO NOT agree: the p95 of TTFT differs by +1.001 ms")
    );
    assert!(
        report(30, 999)
            .to_string()
            .contains("Reported and true agree")
    );
}

#[test]
fn gaps_count_for_the_verdict_beyond_their_resolution() {
    let agrees = |reported_us: u64| {
        let mut pairing = Pairing::new(ShapeEdges::default());
        pairing.pairs.push(Pair {
            shape: shape(),
            ttft: Some(Both {
                reported: Nanos(MS),
                truth: Nanos(MS),
            }),
            tpot: None,
            longest_gap: None,
        });
        pairing
            .gaps_reported
            .record(Nanos(reported_us * 1000), Some(1));
        pairing.gaps_true.saturating_record(50 * MS);
        made(Finished {
            pairing,
            ..finished_nothing()
        })
        .agreement
    };
    // A bucket's middle may lie 1.09 % of 50 ms from the value, so that as much of a difference proves nothing.
    let just = agrees(51_000);
    assert_eq!(just.agrees, Some(true), "{just:?}");
    let beyond = agrees(53_000);
    assert_eq!(beyond.agrees, Some(false), "{beyond:?}");
    let resolution = beyond.gap_p95_resolution;
    assert!(
        resolution.is_some_and(|resolution| (5.4e-4..5.5e-4).contains(&resolution)),
        "{resolution:?}"
    );
}

#[test]
fn nothing_answered_is_no_verdict() {
    let nothing = made(finished_nothing());
    assert_eq!(nothing.agreement.agrees, None);
    assert!(nothing.to_string().contains("Could not tell"));
}

fn finished_nothing() -> Finished {
    let Report {
        settings,
        requests,
        process,
        ..
    } = report(0, 0);
    Finished {
        settings,
        requests,
        process,
        pairing: Pairing::new(ShapeEdges::default()),
    }
}

#[test]
fn json_has_the_shapes_and_no_figure_that_is_not_stated() {
    let json = serde_json::to_value(report(120, 100)).expect("it is a document");
    assert_eq!(json["cells"][0]["input_len"], "257-1024");
    assert_eq!(json["cells"][0]["ttft"]["n"], 120);
    assert!(json["cells"][0]["ttft"]["reported"]["p99"].is_null());
    let difference = json["total"]["ttft"]["request_difference_p95"].as_f64();
    assert!(
        difference.is_some_and(|difference| (difference - 1e-4).abs() < 1e-9),
        "{difference:?}"
    );
    assert_eq!(json["agreement"]["agrees"], true);
    assert_eq!(json["process"]["end"]["open_files"], 12);
}
