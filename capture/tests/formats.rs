//! Other tools' formats, from outside: what is written is read again as the same requests, times have the unit that the
//! format says, and nothing secret goes out.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, and these are functions of tests"
)]

#[path = "formats/captured.rs"]
mod captured;
#[path = "formats/foreign.rs"]
mod foreign;
#[path = "formats/round_trip.rs"]
mod round_trip;

use std::collections::BTreeMap;

use capture::formats::{Format, FormatError, Import, Imported, Reading, Rounding, TimeUnit, Trace};
use capture::{About, Level, Row};
use serde_json::{Value, json};

use captured::{about, prompt, row};

type Files = BTreeMap<String, String>;

fn trace(
    format: &str,
    about: &About,
    rows: &[Row],
    rounding: Rounding,
) -> Result<Trace, FormatError> {
    let mut outgoing = Format::named(format)?.export(about.level)?.begin(rounding);
    for row in rows {
        let text = (about.level == Level::Text).then(|| prompt(row));
        outgoing.take(about, row.clone(), text)?;
    }
    outgoing.finish()
}

fn write(format: &str, about: &About, rows: &[Row]) -> Result<Files, FormatError> {
    let trace = trace(format, about, rows, Rounding::None)?;
    let mut files = Files::new();
    Format::named(format)?
        .export(about.level)?
        .write(&trace, &mut files)?;
    Ok(files)
}

fn read(format: &str, text: &str, reading: &Reading) -> Result<Imported, FormatError> {
    match Format::named(format)?.import.expect("is read") {
        Import::Lines(read) => read(&mut text.as_bytes(), reading),
        Import::File(_) => unreachable!("is read from lines"),
    }
}

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Two requests, 500 ms apart.
fn half_a_second() -> [Row; 2] {
    [row(1, 0), row(2, 500_000_000)]
}

#[test]
fn half_a_second_is_half_a_second_in_every_unit() {
    let rows = half_a_second();
    let of = |format: &str| write(format, &about(Level::Lengths), &rows).unwrap();
    assert_eq!(
        objects(&of("mooncake")["mooncake.jsonl"])[1]["timestamp"],
        500
    );
    assert_eq!(
        objects(&of("vllm-timed-trace")["timed.jsonl"])[1]["timestamp"],
        500
    );
    assert_eq!(
        objects(&of("aiperf-mooncake-trace")["mooncake-trace.jsonl"])[1]["timestamp"],
        500
    );
    assert_eq!(
        objects(&of("guidellm-synthetic")["synthetic.jsonl"])[1]["timestamp"],
        0.5
    );
    assert!(
        of("azure")["azure.csv"]
            .lines()
            .nth(2)
            .unwrap()
            .contains(":40.5000000,")
    );
    assert!(
        of("burstgpt")["burstgpt.csv"]
            .lines()
            .nth(2)
            .unwrap()
            .starts_with("0.5,")
    );
}

#[test]
fn what_the_readers_parse_is_what_is_written() {
    let rows = [
        Row {
            session: Some(7),
            stream: Some(true),
            blocks: (1..=82).collect(),
            ..row(1, 0)
        },
        Row {
            session: Some(7),
            stream: Some(true),
            blocks: (1..=90).collect(),
            input_tokens: Some(1437),
            ..row(2, 900_000_000)
        },
    ];
    let of = |format: &str| write(format, &about(Level::Prefix), &rows).unwrap();
    assert_eq!(
        objects(&of("mooncake")["mooncake.jsonl"])[0],
        json!({"timestamp": 0, "input_length": 1300, "output_length": 87, "hash_ids": [0, 1, 2]})
    );
    assert_eq!(
        objects(&of("aiperf-mooncake-trace")["mooncake-trace.jsonl"])[1],
        json!({"session_id": "s-0", "delay": 400, "input_length": 50, "output_length": 87})
    );
    assert_eq!(
        of("burstgpt")["burstgpt.csv"].lines().last().unwrap(),
        "0.9,s-0,0.5,GPT-4,1437,87,1524,Conversation log"
    );
    let weka = &objects(&of("weka")["weka.jsonl"])[0];
    assert_eq!(
        weka["requests"][1]["hash_ids"].as_array().unwrap().len(),
        1437 / 64
    );
    assert_eq!(weka["requests"][1]["think_time"], 0.4);
    assert_eq!(weka["hash_id_scope"], "local");
    let report: Value = serde_saphyr::from_str(&of("llm-d")["benchmark-report.yaml"]).unwrap();
    let aggregate = &report["results"]["request_performance"]["aggregate"];
    assert_eq!(aggregate["requests"]["input_length"]["p99"], 1437.0);
    assert_eq!(aggregate["latency"]["time_to_first_token"]["p50"], 0.1);
}

#[test]
fn formats_of_prompts_are_refused_where_none_are_kept() {
    for format in [
        "aiperf-payload",
        "aiperf-multi-turn",
        "aiperf-raw-payload",
        "guidellm",
        "vllm-custom",
        "otel",
        "otel-files",
    ] {
        let error = write(format, &about(Level::Prefix), &half_a_second())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with(&format!(
                "{format} holds prompts, and the capture is at level Prefix"
            )),
            "{error}"
        );
    }
}

#[test]
fn formats_of_prompts_hold_what_was_said() {
    let rows = [
        Row {
            session: Some(7),
            model: Some("m".to_owned()),
            ..row(1, 0)
        },
        Row {
            session: Some(7),
            ..row(2, 900_000_000)
        },
    ];
    let of = |format: &str| write(format, &about(Level::Text), &rows).unwrap();
    let payload = &objects(&of("aiperf-payload")["payload.jsonl"])[0];
    assert_eq!(payload["payload"]["messages"][1]["content"], "question 1");
    assert_eq!(payload["payload"]["stream_options"]["include_usage"], true);
    let turns = &objects(&of("aiperf-multi-turn")["multi-turn.jsonl"]);
    assert_eq!(
        turns[0]["turns"][1],
        json!({"text": "question 2", "delay": 400})
    );
    assert_eq!(objects(&of("aiperf-raw-payload")["raw.jsonl"]).len(), 2);
    let columns = &objects(&of("guidellm")["columns.jsonl"])[1];
    assert_eq!(columns["prompt"], "question 2");
    assert_eq!(columns["system_prompt"], "be brief");
    assert_eq!(columns["relative_timestamp"], 0.9);
    assert_eq!(
        objects(&of("vllm-custom")["custom.jsonl"])[0],
        json!({"prompt": "be brief\nquestion 1", "output_tokens": 87})
    );
    let span = &objects(&of("otel")["otel.jsonl"])[0]["spans"][0]["attributes"];
    assert_eq!(
        span["gen_ai.usage.input_tokens"],
        span["gen_ai.usage.prompt_tokens"]
    );
    assert!(
        span["gen_ai.input.messages"]
            .as_str()
            .unwrap()
            .contains("question 1")
    );
    assert_eq!(
        of("otel-files").keys().collect::<Vec<_>>(),
        ["s-000000.json"]
    );
}

#[test]
fn no_hash_no_key_and_no_session_goes_out() {
    let hashes: Vec<u64> = (1..=82)
        .map(|at| at * 0x0123_4567_89AB_CDEF % 0xFFFF_FFFF_FFFF_FFC5)
        .collect();
    let (session, tenant) = (0xDEAD_BEEF_0BAD_F00D, 0xFEED_FACE_CAFE_0001_u64);
    let secret = Row {
        session: Some(session),
        tenant: Some(tenant),
        blocks: hashes.clone(),
        ..row(1, 0)
    };
    let secrets: Vec<u64> = hashes.into_iter().chain([session, tenant]).collect();
    for format in [
        "mooncake",
        "aiperf-mooncake-trace",
        "guidellm-synthetic",
        "vllm-timed-trace",
        "azure",
        "burstgpt",
        "weka",
        "llm-d",
    ] {
        for text in write(format, &about(Level::Prefix), std::slice::from_ref(&secret))
            .unwrap()
            .values()
        {
            for secret in &secrets {
                assert!(
                    !text.contains(&secret.to_string()) && !text.contains(&format!("{secret:x}")),
                    "{format}: {text}"
                );
            }
        }
    }
}

#[test]
fn bytes_are_told_as_tokens_and_said_to_be_approximate() {
    let about = About {
        unit: capture::Unit::Bytes,
        block: 64,
        ..about(Level::Prefix)
    };
    let shared: Vec<u64> = (1..=60).collect();
    let rows: Vec<Row> = (0..2)
        .map(|n| Row {
            input_tokens: Some(1300),
            prompt_units: Some(5200),
            blocks: shared
                .iter()
                .copied()
                .chain((0..22).map(|at| 1000 * (n + 1) + at))
                .collect(),
            ..row(n, n * 1000)
        })
        .collect();
    let trace = trace("mooncake", &about, &rows, Rounding::None).unwrap();
    assert_eq!(trace.prefixes, capture::formats::Prefixes::Approximate);
    let ids: Vec<&[u64]> = trace
        .entries
        .iter()
        .map(|entry| entry.ids.as_slice())
        .collect();
    assert_eq!(ids, [[0, 1, 2], [0, 3, 4]]);
}

#[test]
fn a_unit_is_never_guessed() {
    let line = r#"{"timestamp": 0.75, "input_length": 16, "output_length": 1, "hash_ids": [0]}"#;
    let error = read("mooncake", line, &Reading::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("line 1: \"timestamp\" is 0.75") && error.contains("--time-unit s"),
        "{error}"
    );
    let said = Reading {
        time: Some(TimeUnit::Seconds),
        ..Reading::default()
    };
    assert_eq!(read("mooncake", line, &said).unwrap().entries.len(), 1);
    let error = read("vllm-timed-trace", line, &Reading::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "the unit of its times is not said in the file: say it with --time-unit ms or --time-unit s"
    );
}

#[test]
fn the_first_bad_line_is_named_with_what_is_wanted() {
    let good = r#"{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [0, 1]}"#;
    let cases = [
        ("{", "line 2: is no JSON"),
        ("[]", "line 2: is no JSON object"),
        (r#"{"input_length": 600}"#, "line 2: has no \"timestamp\""),
        (r#"{"timestamp": 5}"#, "line 2: has no \"input_length\""),
        (
            r#"{"timestamp": 5, "input_length": -3}"#,
            "line 2: \"input_length\" is -3: a whole number is wanted",
        ),
        (
            r#"{"timestamp": 5, "input_length": 600, "hash_ids": [0]}"#,
            "line 2: has 1 block ids for 600 tokens, which are 2 blocks of 512",
        ),
        (
            r#"{"timestamp": 5, "input_length": 600, "hash_ids": [1, 0]}"#,
            "line 2: block id 1 stands at place 0 after nothing",
        ),
    ];
    for (bad, problem) in cases {
        let error = read(
            "mooncake",
            &format!("{good}\n{bad}\n{bad}"),
            &Reading::default(),
        )
        .unwrap_err()
        .to_string();
        assert!(error.starts_with(problem), "{bad}: {error}");
    }
}

#[test]
fn what_has_no_column_is_kept() {
    let line = r#"{"timestamp": 0, "input_length": 16, "output_length": 1, "hash_ids": [0], "priority": 3}"#;
    let rows = read("mooncake", line, &Reading::default())
        .unwrap()
        .into_rows("f")
        .unwrap();
    assert_eq!(rows.rows[0].extra.as_deref(), Some(r#"{"priority":3}"#));
    assert_eq!(
        (rows.rows[0].outcome.as_str(), rows.rows[0].role.as_str()),
        ("unknown", "import")
    );
}

#[test]
fn unknown_formats_and_wrong_directions_name_the_others() {
    let error = Format::named("csv").unwrap_err().to_string();
    assert!(
        error.contains("the formats are mooncake, aiperf-mooncake-trace"),
        "{error}"
    );
    let error = Format::named("bailian")
        .unwrap()
        .export(Level::Text)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("bailian is not written: written are mooncake"),
        "{error}"
    );
    let error = Format::named("llm-d")
        .unwrap()
        .read(std::path::Path::new("f"), &Reading::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("llm-d is not read: read are mooncake"),
        "{error}"
    );
}
