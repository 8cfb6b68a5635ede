//! The text exposition, read by Prometheus' own checker.
//!
//! Needs `promtool`: from `LOADPROOF_PROMTOOL`, else from the path.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test fails by panicking, and tells its figures"
)]

mod support;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use exporter::{Format, Live, Settings, Targets};
use measure::Nanos;

fn promtool(arguments: &[&str], input: &[u8]) -> Output {
    let program = std::env::var_os("LOADPROOF_PROMTOOL").unwrap_or_else(|| "promtool".into());
    let mut child = Command::new(&program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!(
                "could not start {}: {error}: run `make test`, which brings it",
                program.display()
            )
        });
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    stdin.write_all(input).expect("it reads its input");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

#[test]
fn promtool_finds_no_fault_in_the_exposition() {
    let targets = Targets {
        ttft: vec![0.35, 1.0],
        tpot: vec![0.045],
        e2e: vec![7.0],
    };
    let settings = Settings {
        targets,
        ..Settings::default()
    };
    let known = "a \"quoted\"\nname\\é";
    let exporter = support::exporter_with(&["m", known], settings);
    support::fill(&exporter, "m");
    support::fill(&exporter, known);
    support::fill(&exporter, "\"} 1\nfake 1\n");
    exporter.observe_proxy_delay(Nanos(40_000));
    exporter.observe_upstream_connect(Nanos(300_000));
    let live = Live {
        prefill: 1,
        decode: 2,
        oldest_without_token: Some(0.5),
        silent: 0.1,
    };
    let text = exporter.encode(Format::Text, &live).expect("encodes");
    let checked = promtool(&["check", "metrics"], &text);
    let said = [checked.stdout, checked.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        checked.status.success() && said.is_empty(),
        "{}: {said}",
        checked.status
    );
}

#[test]
fn promtool_does_find_faults() {
    let checked = promtool(
        &["check", "metrics"],
        b"# TYPE bad_total gauge\nbad_total 1\n",
    );
    assert!(!checked.status.success());
}
