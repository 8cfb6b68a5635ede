//! Streams on which tools go wrong: what has to be said of each.

use crate::hostile_page::{STREAMS, page, summary};
use decode::{Summary, Times};

fn said(file: &str) -> (Summary, Times) {
    let mut summary = summary(file).unwrap();
    let times = summary.times.take().unwrap();
    (summary, times)
}

#[test]
fn the_reference() {
    for file in ["0-reference", "3-crlf"] {
        let (summary, times) = said(file);
        assert_eq!(summary.outcome, "ok", "{file}");
        assert_eq!(
            (summary.output_tokens.count, summary.input_tokens.count),
            (Some(21), Some(40))
        );
        assert_eq!(
            (times.first_event_ms, times.ttft_ms),
            (Some(50.0), Some(150.0))
        );
        assert_eq!(times.tpot_ms, Some(10.0));
        assert_eq!(
            (times.gap_mean_ms, times.gap_per_token_ms),
            (Some(40.0), Some(10.0))
        );
        assert_eq!((times.e2e_ms, times.bursts), (Some(430.0), 6));
        assert!(summary.flags.is_empty(), "{file}: {:?}", summary.flags);
    }
}

#[test]
fn an_error_inside_a_200_is_a_failure_with_its_partial_tokens() {
    let (summary, times) = said("1-error-event");
    assert_eq!(
        (summary.outcome, summary.end_mark),
        ("sse_error_event", Some("[DONE]"))
    );
    assert_eq!(summary.error.as_deref(), Some("engine died"));
    assert_eq!(summary.output_tokens.at_least, 9);
    assert_eq!(times.ttft_ms, Some(150.0));
    // It can make no percentile better.
    assert_eq!((times.tpot_ms, times.e2e_ms), (None, None));
}

#[test]
fn an_aborted_connection_is_a_failure() {
    let (summary, times) = said("2-aborted");
    assert_eq!(
        (summary.outcome, summary.end_mark),
        ("upstream_truncated", None)
    );
    assert_eq!(
        (summary.flags.as_slice(), summary.output_tokens.at_least),
        (&["truncated"][..], 9)
    );
    assert_eq!((times.ttft_ms, times.tpot_ms), (Some(150.0), None));
}

#[test]
fn reasoning_is_the_first_token_and_not_the_first_answer() {
    let (summary, times) = said("5-reasoning-first");
    assert_eq!(
        (summary.outcome, summary.output_tokens.count),
        ("ok", Some(21))
    );
    assert_eq!(
        (times.ttft_ms, times.first_answer_ms),
        (Some(150.0), Some(270.0))
    );
    assert_eq!(times.tpot_ms, Some(10.0));
}

#[test]
fn one_late_burst_has_no_pace_and_is_said_to_have_been_held() {
    for file in ["4-crlf-coalesced", "6-buffered"] {
        let (summary, times) = said(file);
        assert_eq!(
            (summary.outcome, summary.output_tokens.count),
            ("ok", Some(21)),
            "{file}"
        );
        assert_eq!(summary.flags, ["buffered_upstream"], "{file}");
        assert_eq!((times.first_event_ms, times.bursts), (Some(50.0), 1));
        assert_eq!(
            (times.tpot_ms, times.gap_mean_ms, times.max_stall_ms),
            (None, None, None)
        );
    }
}

#[test]
fn the_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/HOSTILE-STREAMS.md");
    let written = std::fs::read_to_string(path).unwrap();
    assert!(
        written == page().unwrap(),
        "docs/HOSTILE-STREAMS.md lags behind: `make generate`"
    );
}

#[test]
fn each_recording_is_on_the_page() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/hostile");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), STREAMS.len());
}
