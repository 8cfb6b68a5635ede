//! Export, import, export again: the same lines, and the same requests as were captured.

use std::collections::BTreeMap;

use capture::formats::{Reading, Rounding, TimeUnit};
use capture::{About, Level, Row};
use proptest::prelude::*;

use super::captured::{about, row};
use super::{read, trace, write};

/// A turn: wait in ms, tokens that are new, tokens of the answer, whether it goes on with its session.
type Turn = (u64, u64, u64, bool);

/// Arrival in ms, prompt and output length, ids, session.
type Structure = (u64, u64, u64, Vec<u64>, Option<u64>);

/// Sessions that grow by what is said in them. Blocks are 16 tokens and shared as far as the text is.
fn captured(turns: &[(u8, Turn)]) -> Vec<Row> {
    let mut told: BTreeMap<u8, (u64, Vec<u64>)> = BTreeMap::new();
    let mut rows = Vec::new();
    let mut at_ns = 0;
    for (number, (session, (wait_ms, added, output, goes_on))) in (1..).zip(turns) {
        at_ns += wait_ms * 1_000_000 + 7_000;
        let (said, blocks) = told.entry(*session).or_default();
        if !goes_on {
            (*said, *blocks) = (0, Vec::new());
        }
        let input = *said + added;
        blocks.truncate(usize::try_from(*said / 16).unwrap());
        while (blocks.len() as u64) < input.div_ceil(16) {
            blocks.push(number * 1_000_000 + blocks.len() as u64);
        }
        rows.push(Row {
            input_tokens: Some(input),
            output_tokens: Some(*output),
            prompt_units: Some(input),
            blocks: blocks.clone(),
            session: Some(u64::from(*session) + 0xABCD_EF00_0000),
            stream: Some(true),
            end_ns: 300_000_000,
            ..row(number, at_ns)
        });
        *said = input + output;
    }
    rows
}

fn turns() -> impl Strategy<Value = Vec<Row>> {
    let turn = (
        0_u64..4000,
        1_u64..1500,
        1_u64..300,
        proptest::bool::weighted(0.8),
    );
    prop::collection::vec((0_u8..4, turn), 1..40).prop_map(|turns| captured(&turns))
}

/// What a row's structure is, with ids and sessions as numbers by first sight.
fn structure(format: &str, about: &About, rows: &[Row]) -> Vec<Structure> {
    let entries = trace(format, about, rows, Rounding::None).unwrap().entries;
    entries
        .into_iter()
        .map(|entry| {
            (
                entry.at_ns / 1_000_000,
                entry.input.unwrap(),
                entry.output.unwrap(),
                entry.ids,
                entry.session,
            )
        })
        .collect()
}

/// AIPerf's later turns have no time and no ids: what begins anew is a session of its own, and ids have holes.
fn comparable(format: &str, line: &str) -> String {
    if format != "aiperf-mooncake-trace" {
        return line.to_owned();
    }
    let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
    let parts = line.as_object_mut().unwrap();
    parts.remove("session_id");
    let ids = parts
        .remove("hash_ids")
        .map_or(0, |ids| ids.as_array().unwrap().len());
    format!("{line} {ids}")
}

/// The lines of an import are the lines that it came from.
fn again(
    format: &str,
    file: &str,
    rows: &[Row],
    reading: &Reading,
) -> Result<Vec<Row>, TestCaseError> {
    let before = about(Level::Prefix);
    let text = write(format, &before, rows).unwrap().remove(file).unwrap();
    let imported = read(format, &text, reading)
        .unwrap()
        .into_rows("file")
        .unwrap();
    let after = About {
        block: imported.block,
        level: imported.level,
        ..before
    };
    let second = write(format, &after, &imported.rows)
        .unwrap()
        .remove(file)
        .unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|line| comparable(format, line)).collect();
        lines.sort();
        lines
    };
    prop_assert_eq!(sorted(&second), sorted(&text));
    Ok(imported.rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arrivals_lengths_and_prefixes(rows in turns()) {
        let reading = Reading { time: Some(TimeUnit::Milliseconds), block: None, seed: 0 };
        for (format, file, block) in [("mooncake", "mooncake.jsonl", 512), ("vllm-timed-trace", "timed.jsonl", 16)] {
            let imported = again(format, file, &rows, &Reading { block: Some(block), ..reading })?;
            let captured = structure(format, &about(Level::Prefix), &rows);
            let read = structure(format, &About { block, ..about(Level::Prefix) }, &imported);
            prop_assert_eq!(captured.len(), read.len());
            for (captured, read) in captured.iter().zip(&read) {
                // Times are whole milliseconds in these files.
                prop_assert!(captured.0.abs_diff(read.0) <= 1);
                prop_assert_eq!((captured.1, captured.2, &captured.3), (read.1, read.2, &read.3));
            }
        }
    }

    #[test]
    fn arrivals_and_lengths(rows in turns()) {
        for (format, file) in [("azure", "azure.csv"), ("guidellm-synthetic", "synthetic.jsonl")] {
            let imported = again(format, file, &rows, &Reading::default())?;
            let captured: Vec<_> = structure(format, &about(Level::Prefix), &rows).into_iter().map(|row| (row.0, row.1, row.2)).collect();
            let read: Vec<_> = structure(format, &about(Level::Prefix), &imported).into_iter().map(|row| (row.0, row.1, row.2)).collect();
            prop_assert_eq!(captured, read);
        }
    }

    #[test]
    fn arrivals_lengths_and_sessions(rows in turns()) {
        let imported = again("burstgpt", "burstgpt.csv", &rows, &Reading::default())?;
        prop_assert_eq!(structure("burstgpt", &about(Level::Prefix), &rows), structure("burstgpt", &about(Level::Prefix), &imported));
    }

    #[test]
    fn sessions_and_what_their_turns_share(rows in turns()) {
        let imported = again("weka", "weka.jsonl", &rows, &Reading::default())?;
        prop_assert_eq!(imported.len(), rows.len());
    }

    #[test]
    fn turns_as_what_they_add(rows in turns()) {
        let imported = again("aiperf-mooncake-trace", "mooncake-trace.jsonl", &rows, &Reading::default())?;
        let lengths = |rows: &[Row]| {
            let mut lengths: Vec<_> = rows.iter().map(|row| (row.input_tokens, row.output_tokens)).collect();
            lengths.sort_unstable();
            lengths
        };
        prop_assert_eq!(lengths(&imported), lengths(&rows));
    }

    #[test]
    fn rounded_fully_no_exact_length_or_time_is_left(rows in turns()) {
        for entry in trace("mooncake", &about(Level::Prefix), &rows, Rounding::Full).unwrap().entries {
            prop_assert_eq!(entry.at_ns % 10_000_000, 0);
            prop_assert_eq!(entry.ids.len() as u64, entry.input.unwrap().div_ceil(512));
        }
    }
}

#[test]
fn spans_and_bodies_come_back_as_the_same_requests() {
    let rows = captured(&[
        (0, (10, 40, 5, false)),
        (1, (500, 70, 9, false)),
        (0, (900, 30, 6, true)),
    ]);
    for (format, file) in [
        ("otel", "otel.jsonl"),
        ("aiperf-payload", "payload.jsonl"),
        ("aiperf-raw-payload", "raw.jsonl"),
    ] {
        let text = write(format, &about(Level::Text), &rows)
            .unwrap()
            .remove(file)
            .unwrap();
        let imported = read(format, &text, &Reading::default()).unwrap();
        let bodies: Vec<String> = imported
            .entries
            .iter()
            .map(|entry| entry.text.clone().unwrap().request["messages"].to_string())
            .collect();
        assert_eq!(bodies.len(), 3, "{format}");
        for (number, body) in (1..).zip(&bodies) {
            assert_eq!(
                bodies.iter().filter(|other| *other == body).count(),
                1,
                "{format}"
            );
            assert!(
                bodies
                    .iter()
                    .any(|body| body.contains(&format!("question {number}"))),
                "{format}"
            );
        }
        let read = imported.into_rows("file").unwrap();
        assert_eq!(read.texts, 3);
        assert!(
            read.rows.iter().all(|row| row.prompt_bytes == Some(8 + 10)),
            "{format}"
        );
    }
    let text = write("otel", &about(Level::Text), &rows)
        .unwrap()
        .remove("otel.jsonl")
        .unwrap();
    let imported = read("otel", &text, &Reading::default())
        .unwrap()
        .into_rows("file")
        .unwrap()
        .rows;
    let of = |rows: &[Row]| {
        rows.iter()
            .map(|row| (row.input_tokens, row.output_tokens, row.end_ns))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&imported), of(&rows));
    assert_eq!(imported[0].session, imported[2].session);
    assert_ne!(imported[0].session, imported[1].session);
    assert_eq!(imported[0].wall_us, rows[0].wall_us);
}
