//! `loadproof calibrate` measures every event on both sides, ours and any other proxy.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]

mod support;

use serde_json::Value;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use support::Proxy;

fn calibrate(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_loadproof"))
        .args(["calibrate", "--output-format", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_spread(spread: &Value) -> bool {
    let [p50, p99, max] = ["p50", "p99", "max"].map(|name| spread[name].as_f64().unwrap());
    p50 <= p99 && p99 <= max
}

fn is_added(added: &Value) -> bool {
    let sides = ["direct_us", "through_us", "added_us"];
    sides.iter().all(|side| is_spread(&added[*side]))
        // A write is before its read on one clock, whatever the machine does.
        && sides[..2].iter().all(|side| added[*side]["p50"].as_f64() > Some(0.0))
}

#[test]
fn ours_is_measured_from_outside_and_by_its_own_records() {
    let report = calibrate(&["--streams", "1,8"]);
    let levels = report["levels"].as_array().unwrap();
    // At least twelve streams a side, at least two turns, 36 events each.
    let events: Vec<_> = levels
        .iter()
        .map(|level| level["events"].as_u64().unwrap())
        .collect();
    assert_eq!(events, [12 * 36, 2 * 8 * 36]);
    for level in levels {
        assert!(
            is_added(&level["first"]) && is_added(&level["later"]),
            "{level:#}"
        );
        assert!(level["cpu_per_event_us"].as_f64() > Some(0.0), "{level:#}");
        let own = &level["own"];
        assert_eq!(own["requests"], 8, "each request has its record: {level:#}");
        for error in ["first_token_us", "ttft_us", "longest_gap_us", "gaps_sum_us"] {
            assert!(is_spread(&own[error]), "{level:#}");
        }
        let memory = &level["memory"];
        assert!(
            memory["stalled_stream_bytes"].as_i64() > memory["idle_connection_bytes"].as_i64(),
            "{level:#}"
        );
    }
}

#[test]
fn another_proxy_is_measured_from_outside() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend: SocketAddr = free.local_addr().unwrap();
    let other = Proxy::start(backend, &[]);
    drop(free);
    let (via, listen) = (format!("http://{}", other.address), backend.to_string());
    let report = calibrate(&["--streams", "4", "--via", &via, "--backend-listen", &listen]);
    let level = &report["levels"][0];
    assert_eq!(report["proxy"], via.as_str());
    assert_eq!(level["events"], 3 * 4 * 36);
    assert!(
        is_added(&level["first"]) && is_added(&level["later"]),
        "{level:#}"
    );
    for unknown in ["own", "memory", "cpu_per_event_us"] {
        assert_eq!(
            level[unknown],
            Value::Null,
            "not to be seen from outside: {level:#}"
        );
    }
}
