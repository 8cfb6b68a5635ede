//! Figures against a traffic whose figures are known.

use super::*;
use crate::testing::about;

const S: u64 = 1_000_000_000;

/// 100 exchanges, one a second, each of two seconds; a session of two turns each.
fn rows() -> impl Iterator<Item = Row> {
    (0..100_u64).map(|at| Row {
        arrival_ns: at * S,
        wall_us: 1_780_000_000_000_000 + i64::try_from(at * 1_000_000).unwrap(),
        model: Some(if at < 90 { "m" } else { "n" }.to_owned()),
        stream: Some(true),
        input_tokens: Some(if at % 2 == 0 { 100 } else { 2000 }),
        output_tokens: Some(if at % 2 == 0 { 300 } else { 20 }),
        outcome: if at == 7 { "upstream_5xx" } else { "ok" }.to_owned(),
        body_sent_ns: Some(0),
        first_token_ns: Some(S / 4),
        end_ns: 2 * S,
        session: Some(at / 2),
        session_by: Some(if at < 10 { "prefix" } else { "header" }.to_owned()),
        turn: Some(if at % 2 == 0 { 1 } else { 2 }),
        think_ns: (at % 2 == 1).then_some(3 * S),
        prompt_units: Some(32),
        blocks: vec![1, 1000 + at],
        ..Row::default()
    })
}

fn inspection() -> Inspection {
    let mut inspector = Inspector::default();
    for row in rows() {
        inspector.take(&about(), row);
    }
    inspector.dropped("disk_full", 3);
    inspector.finish()
}

#[test]
fn figures_are_those_of_the_traffic() {
    let inspection = inspection();
    assert_eq!(
        (
            inspection.rows,
            inspection.captures,
            inspection.pods,
            inspection.span_s
        ),
        (100, 1, 1, 99.0)
    );
    assert_eq!(inspection.arrivals.rate, Some(1.0));
    assert_eq!(inspection.arrivals.gap_cv, Some(0.0));
    assert_eq!(inspection.arrivals.dispersion[0].index, Some(0.0));
    assert_eq!(inspection.arrivals.dispersion[2].index, None);
    assert_eq!(inspection.arrivals.grid_s, None);
    let input = inspection.lengths.input.unwrap();
    assert_eq!(
        (input.mean, input.p50, input.p90, input.max),
        (1050.0, 100.0, 2000.0, 2000.0)
    );
    assert_eq!(inspection.lengths.joint.rows[0], [0, 0, 50, 0]);
    assert_eq!(inspection.lengths.joint.rows[2], [50, 0, 0, 0]);
    assert_eq!(inspection.lengths.joint.spearman, Some(-1.0));
    assert_eq!(inspection.ttft_s.unwrap().p50, 0.25);
    let prefixes = inspection.prefixes.unwrap();
    // All but the first have one of their two blocks in the cache.
    assert_eq!(
        (
            prefixes.block_hit_rate,
            prefixes.hit_rate,
            prefixes.rows_that_share
        ),
        (0.495, 0.495, 99)
    );
    let sessions = inspection.sessions.unwrap();
    assert_eq!(
        (
            sessions.sessions,
            sessions.rows,
            sessions.inferred,
            sessions.turns.p50
        ),
        (50, 100, 10, 2.0)
    );
    assert_eq!(sessions.think_s.unwrap().p50, 3.0);
    assert_eq!((inspection.models["m"], inspection.models["n"]), (90, 10));
    assert_eq!(
        (
            inspection.outcomes["upstream_5xx"],
            inspection.dropped["disk_full"]
        ),
        (1, 3)
    );
}

#[test]
fn two_are_there_at_once_but_at_both_ends() {
    let inspection = inspection();
    let at_once = inspection.concurrency.unwrap();
    assert_eq!((at_once.min, at_once.p50, at_once.max), (1.0, 2.0, 2.0));
    // 200 s of exchanges in 101 s.
    assert!((at_once.mean - 200.0 / 101.0).abs() < 1e-9);
    let area: f64 = inspection.concurrency_series.iter().sum::<f64>() * 101.0 / 60.0;
    assert!((area - 200.0).abs() < 1e-6, "{area}");
}

#[test]
fn times_on_a_grid_are_found() {
    let times: Vec<f64> = (0..300).map(|at| f64::from(at / 10) * 3.0).collect();
    assert_eq!(Arrivals::of(&times, 87.0).grid_s, Some(3.0));
}

#[test]
fn the_kind_of_deployment_follows_its_rules() {
    let kind = |input: u64, output: u64, stream: bool| {
        let mut inspector = Inspector::default();
        let row = Row {
            input_tokens: Some(input),
            output_tokens: Some(output),
            stream: Some(stream),
            ..Row::default()
        };
        inspector.take(&about(), row);
        inspector.finish().deployment.looks_like
    };
    assert_eq!(kind(3000, 8, true), "classification");
    assert_eq!(kind(3000, 200, false), "batch");
    assert_eq!(kind(3000, 200, true), "rag");
    assert_eq!(kind(3000, 400, true), "chat");
    assert_eq!(
        Inspector::default().finish().deployment.looks_like,
        "unknown"
    );
}

#[test]
fn the_terminal_shows_what_it_showed() {
    assert_eq!(
        inspection().to_string(),
        include_str!("../../tests/golden/inspect.txt")
    );
}

#[test]
fn the_page_needs_nothing_else_and_has_the_figures() {
    let page = inspection().html();
    assert!(page.starts_with("<!DOCTYPE html>"));
    for elsewhere in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    for figure in ["<b>chat</b>", "49.5 %", "upstream_5xx", "disk_full", "<svg"] {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn a_clients_name_is_neither_markup_nor_a_cursor() {
    let mut inspector = Inspector::default();
    let row = Row {
        model: Some("<script>\u{1b}[2J".to_owned()),
        ..Row::default()
    };
    inspector.take(&about(), row);
    let inspection = inspector.finish();
    assert!(!inspection.html().contains("<script>"));
    assert!(!inspection.to_string().contains('\u{1b}'));
}

#[test]
fn numbers_are_short() {
    let said = [0.0, 0.0123, 1.5, 12.34, 999.6, 1_234_567.0].map(spark::number);
    assert_eq!(said, ["0", "0.012", "1.5", "12.3", "1,000", "1,234,567"]);
    let said = [0.00002, 0.25, 1.5, 300.0, 8000.0].map(spark::duration);
    assert_eq!(said, ["20 µs", "250 ms", "1.5 s", "5 min", "2.22 h"]);
    assert_eq!(spark::bars([0.0, 1.0, 8.0].into_iter()), " ▂█");
}
