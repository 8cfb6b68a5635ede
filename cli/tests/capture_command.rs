//! `loadproof capture verify`: the real binary on a capture that is whole, one that isn't, and none.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use capture::{About, Level, Limits, Moment, Notice, Row, Store, Unit};
use measure::Nanos;
use serde_json::Value;

/// Three segments of ten rows; returns their files.
fn fill(folder: &Path) -> Vec<PathBuf> {
    let about = About {
        version: 1,
        capture: "c1".into(),
        pod: "pod-a".into(),
        segment: 0,
        previous: String::new(),
        level: Level::Lengths,
        unit: Unit::Bytes,
        block: 64,
        tokenizer: None,
        key: "k1".into(),
        sample: 1.0,
        written_by: "0.1.0".into(),
    };
    let limits = Limits {
        low_water_bytes: 0,
        ..Limits::default()
    };
    let at = |secs: u64| Moment {
        mono: Nanos::from_secs(secs),
        wall_us: i64::try_from(secs).unwrap() * 1_000_000,
    };
    let mut store = Store::open(folder, about, limits, at(0)).unwrap();
    for segment in 0..3 {
        store.tick(at(segment * 400 + 1));
        for number in 1..=10 {
            let arrival_ns = segment * 400_000_000_000 + number;
            store
                .append(&Row {
                    exchange: number,
                    arrival_ns,
                    ..Row::default()
                })
                .unwrap();
        }
        store.tick(at(segment * 400 + 302));
    }
    let notices: Vec<Notice> = store.notices().collect();
    store.close().unwrap();
    let sealed = notices.into_iter().filter_map(|notice| match notice {
        Notice::Sealed { path, .. } => Some(path),
        _ => None,
    });
    sealed.collect()
}

fn verify(path: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadproof"));
    command
        .env_clear()
        .args(["capture", "verify"])
        .args(more)
        .arg(path);
    command.output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String) {
    (
        output.status.code(),
        String::from_utf8(output.stdout.clone()).unwrap(),
    )
}

#[test]
fn a_whole_capture_is_said_to_be_whole() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let (code, text) = said(&verify(folder.path(), &[]));
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("pod pod-a, capture c1: closed\n  30 rows in 4 segments")
            && text.ends_with("whole\n"),
        "{text}"
    );
}

#[test]
fn what_is_missing_is_named_in_both_forms() {
    let folder = tempfile::tempdir().unwrap();
    let segments = fill(folder.path());
    fs::remove_file(&segments[1]).unwrap();
    let (code, text) = said(&verify(folder.path(), &[]));
    assert!(
        code == Some(1)
            && text.contains("fault: segments 1 to 1 are missing")
            && text.ends_with("not whole\n"),
        "{text}"
    );
    let (code, json) = said(&verify(folder.path(), &["--output-format", "json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((code, &json["whole"]), (Some(1), &Value::Bool(false)));
    assert_eq!(
        json["captures"][0]["faults"][0],
        "segments 1 to 1 are missing"
    );
}

#[test]
fn where_nothing_is_there_is_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let output = verify(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no capture in it"));
    assert_eq!(
        verify(&folder.path().join("nowhere"), &[]).status.code(),
        Some(3)
    );
}
