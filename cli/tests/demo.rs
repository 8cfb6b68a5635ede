//! `loadproof demo`, the real binary: what it reports is true.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use serde_json::Value;
use std::process::{Command, Output};

/// Runs before the verdict on time is given up: one in which somebody else's work fell between two stamps proves nothing,
/// and a fault of ours is in every run.
const ATTEMPTS: usize = 3;

/// What the product claims: 95 of 100 requests are reported to the millisecond.
const CLAIM_SECONDS: f64 = 0.001;

/// A figure lies between two messages, and what the machine adds to a message is not the product's. If 1 in 100 messages
/// over a bare socket is late by more than q at the time, then at most 2 in 100 figures are late by more than 2 q.
const MESSAGES: f64 = 2.0;

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadproof"))
        .arg("demo")
        .args(["--admin-listen", "127.0.0.1:0"])
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn report(arguments: &[&str]) -> Value {
    let output = demo(&[arguments, &["--output-format", "json"]].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{}: {told}",
        output.status
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let agrees = &report["agreement"]["agrees"];
    assert_eq!(output.status.success(), *agrees == true, "{agrees}: {told}");
    report
}

/// A figure in seconds.
fn seconds(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no figure"))
}

/// Every request has one record and one truth, and ends once.
fn accounted_for(report: &Value) {
    let requests = &report["requests"];
    let count = |name: &str| {
        requests[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let sent = count("sent");
    assert!(sent > 50, "{requests}");
    assert_eq!(
        count("answered") + count("left_early") + count("failed"),
        sent
    );
    for none in [
        "failed",
        "in_flight_left",
        "held_back",
        "unpaired",
        "not_kept",
    ] {
        assert_eq!(count(none), 0, "{none} in {requests}");
    }
    for all in ["records", "truths", "paired"] {
        assert_eq!(count(all), sent, "{all} in {requests}");
    }
    let outcomes = report["outcomes"].as_object().expect("outcomes by name");
    assert_eq!(
        outcomes.values().filter_map(Value::as_u64).sum::<u64>(),
        sent
    );
    // A client that had read enough may have left with the last token.
    let ok = outcomes["ok"].as_u64().expect("some went well");
    assert!((count("answered")..=sent).contains(&ok), "{outcomes:?}");
    let cells = report["cells"].as_array().expect("a list of cells");
    let in_cells: u64 = cells
        .iter()
        .filter_map(|cell| cell["requests"].as_u64())
        .sum();
    assert_eq!(in_cells, sent);
    // What was cut off was written and not received.
    assert!(
        count("tokens_received") <= count("tokens_reported")
            && count("tokens_reported") <= count("tokens_true")
    );
}

/// What is wrong with the times, if anything is.
fn untrue(report: &Value) -> Option<String> {
    let (total, agreement) = (&report["total"], &report["agreement"]);
    let hop = seconds(&report["control"]["hop"]["p99"]);
    let resolution = seconds(&agreement["gap_p95_resolution"]);
    let differences = [
        (
            "p95 of TTFT",
            seconds(&agreement["ttft_p95_difference"]).abs(),
        ),
        (
            "p95 of gaps",
            seconds(&agreement["gap_p95_difference"]).abs() - resolution,
        ),
        (
            "TTFT of a request",
            seconds(&total["ttft"]["request_difference_p95"]),
        ),
        (
            "TPOT of a request",
            seconds(&total["tpot"]["request_difference_p95"]),
        ),
    ];
    let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
    let beyond: Vec<String> = differences
        .into_iter()
        .filter(|(_, difference)| *difference > CLAIM_SECONDS + MESSAGES * hop)
        .map(|(what, difference)| format!("{what}: {}", ms(difference)))
        .collect();
    (!beyond.is_empty()).then(|| {
        format!(
            "{}, while 1 in 100 bare messages took {}",
            beyond.join(", "),
            ms(hop)
        )
    })
}

#[test]
fn what_is_reported_is_true() {
    let mut faults = Vec::new();
    for _ in 0..ATTEMPTS {
        let report = report(&["--seconds", "5", "--rate", "15", "--seed", "2"]);
        accounted_for(&report);
        match untrue(&report) {
            None => return,
            Some(fault) => faults.push(fault),
        }
    }
    panic!("{faults:#?}");
}

#[test]
fn the_text_says_where_the_metrics_are_and_what_was_measured() {
    let output = demo(&["--seconds", "1", "--rate", "20"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("metrics: http://127.0.0.1:"), "{told}");
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "TTFT is the first token after",
        "Reported and true",
        "Outcomes: ",
        "longest gap",
        "n too small",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(
        !told.contains('\u{1b}'),
        "no bar where nobody watches: {told:?}"
    );
}

#[test]
fn options_that_make_no_sense_are_usage() {
    for wrong in [
        &["--seconds", "0"][..],
        &["--rate", "0"],
        &["--rate", "NaN"],
        &["--rate", "5000"],
        &["--admin-listen", "here"],
    ] {
        let output = demo(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(wrong[0].trim_start_matches("--")), "{told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_taken_port_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_loadproof"))
        .args(["demo", "--seconds", "1", "--admin-listen", &address])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains(&format!(
            "cannot listen on {address} for the proxy's metrics"
        )),
        "{told}"
    );
}
