//! A short soak of the binary: `make soak` is the long one.

use serde_json::Value;
use std::process::Command;

#[test]
fn fault_78_everything_that_goes_wrong_leaves_nothing_and_loses_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_loadproof"))
        .args(["soak", "--seconds", "25", "--output-format", "json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.stdout.is_empty(), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 7, "{report:#}");
    for check in checks {
        assert_eq!(check["holds"], true, "{report:#}");
    }
    assert!(output.status.success(), "{said}");
    // What was not played can't have been lost.
    let outcomes = report["outcomes"].as_array().unwrap();
    for group in [
        "answered",
        "client_error",
        "too_many",
        "server_error",
        "error_event",
        "no_done",
        "broken",
    ] {
        let of_group = |row: &&Value| row["group"] == group && row["engine"].as_u64() > Some(0);
        assert!(
            outcomes.iter().any(|row| of_group(&row)),
            "{group}: {report:#}"
        );
    }
}
