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

/// Quantiles stand where there are enough values for them, and in order.
fn is_spread(spread: &Value) -> bool {
    let n = spread["n"].as_u64().unwrap();
    let [p50, p99, max] = ["p50", "p99", "max"].map(|name| spread[name].as_f64());
    (p50.is_some(), p99.is_some()) == (n >= 20, n >= 500)
        && p50.unwrap_or(f64::MIN) <= p99.or(max).unwrap()
        && p99 <= max
}

fn is_added(added: &Value, n: u64) -> bool {
    let sides = ["direct_us", "through_us", "added_us"];
    sides.iter().all(|side| is_spread(&added[*side]) && added[*side]["n"] == n)
        // A write is before its read on one clock, whatever the machine does.
        && sides[..2].iter().all(|side| added[*side]["p50"].as_f64() > Some(0.0))
}

/// Every event of `streams` streams has its pair.
fn all_paired(level: &Value, streams: u64) {
    assert!(is_added(&level["first"], streams), "{level:#}");
    assert!(is_added(&level["later"], streams * 25), "{level:#}");
    assert!(is_added(&level["bursts"], streams * 15), "{level:#}");
    assert_eq!(level["events"], streams * (26 + 16), "{level:#}");
}

#[test]
fn ours_is_measured_from_outside_and_by_its_own_records() {
    let report = calibrate(&["--streams", "1,8"]);
    let levels = report["levels"].as_array().unwrap();
    // At least twenty streams a side, in whole turns.
    for (level, streams) in levels.iter().zip([20, 3 * 8]) {
        all_paired(level, streams);
        assert!(level["cpu_per_event_us"].as_f64() > Some(0.0), "{level:#}");
        let own = &level["own"];
        assert_eq!(
            own["requests"], streams,
            "each request has its record: {level:#}"
        );
        for error in ["first_token_us", "ttft_us", "longest_gap_us", "gaps_sum_us"] {
            assert!(is_spread(&own[error]), "{level:#}");
        }
        let held = [
            "idle_connection_bytes",
            "open_stream_bytes",
            "stalled_stream_bytes",
        ]
        .map(|name| level["memory"][name].as_i64().expect("Linux tells"));
        assert!(held[2] > held[0] && held[2] > held[1], "{level:#}");
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
    all_paired(level, 5 * 4);
    for unknown in ["own", "memory", "cpu_per_event_us"] {
        assert_eq!(
            level[unknown],
            Value::Null,
            "not to be seen from outside: {level:#}"
        );
    }
}
