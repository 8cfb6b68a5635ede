//! `loadproof decode`: the real binary on recorded answers, its exit codes, and the example in its documentation.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The binary at the top of the checkout, with this on its standard input.
fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loadproof"))
        .args(arguments)
        .current_dir(checkout())
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

const ANSWER: &str = "decode/tests/fixtures/answer.http";

#[test]
fn the_documented_example_is_what_it_writes() {
    let page = std::fs::read_to_string(checkout().join("docs/DECODE.md")).unwrap();
    let begin = format!("```text\n$ loadproof decode {ANSWER}\n");
    let (_, after) = page.split_once(&begin).unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let output = run(&["decode", ANSWER], b"");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), example);
}

#[test]
fn standard_input_and_json_say_the_same_as_the_file() {
    let bytes = std::fs::read(checkout().join(ANSWER)).unwrap();
    let of = |arguments: &[&str], input: &[u8]| -> Value {
        let output = run(
            &[&["decode", "--output-format", "json"], arguments].concat(),
            input,
        );
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let file = of(&[ANSWER], b"");
    assert_eq!(of(&["-"], &bytes), file);
    let summary = &file["answers"][0]["summary"];
    assert_eq!(summary["outcome"], "ok");
    assert_eq!(summary["output_tokens"]["count"], 7);
    assert_eq!(file["answers"][0]["events"][1]["first"][0], "token");
}

#[test]
fn what_is_wrong_is_told_aside_with_its_code() {
    let cases: [(&[&str], &[u8], i32, &str); 5] = [
        (
            &["--endpoint", "/v1/models", ANSWER],
            b"",
            2,
            "no route that generates",
        ),
        (&["--engine", "gpt", ANSWER], b"", 2, "the engines are vllm"),
        (&["-"], b"data: {}\n\n", 2, "say with --endpoint"),
        (
            &["-"],
            b"HTTP/1.1 200 OK\r\nfoo\r\n\r\n",
            3,
            "-: line 2: \"foo\"",
        ),
        (&["missing.http"], b"", 3, "cannot read missing.http"),
    ];
    for (arguments, input, code, message) in cases {
        let output = run(&[&["decode"], arguments].concat(), input);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(code), &b""[..])
        );
        assert!(told.contains(message), "{arguments:?}: {told}");
    }
}

#[test]
fn the_request_changes_what_it_alone_tells() {
    let body = "data: {\"choices\":[{\"index\":0,\"text\":\"a\",\"finish_reason\":\"stop\",\"logprobs\":{\"tokens\":[\"p\",\"a\"]}}]}\n\ndata: [DONE]\n\n";
    let folder = tempfile::tempdir().unwrap();
    let request = folder.path().join("request.json");
    std::fs::write(
        &request,
        r#"{"prompt":"p","echo":true,"logprobs":1,"stream":true}"#,
    )
    .unwrap();
    let reason = |arguments: &[&str]| {
        let output = run(
            &[&["decode", "--output-format", "json", "-"], arguments].concat(),
            body.as_bytes(),
        );
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["answers"][0]["events"][0]["reason"].clone()
    };
    assert_eq!(reason(&[]), "logprobs");
    assert_eq!(reason(&["--request", request.to_str().unwrap()]), "text");
}
