//! The rules and the dashboard in a real Prometheus that scrapes a real exporter: every query has data.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

extern crate exporter as exporter;

#[path = "../../exporter/tests/support/mod.rs"]
mod records;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use exporter::{Live, Settings, Targets, negotiate};
use grafana::{Rule, dashboard, rules};
use measure::{End, Nanos};
use serde_json::Value;

use records::Story;
use support::{Native, Prometheus, Target};

fn in_this_room(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn promtool(arguments: &[&str]) {
    let mut command = support::program("LOADPROOF_PROMTOOL", "promtool");
    command
        .args(arguments)
        .current_dir(in_this_room("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = support::start(&mut command)
        .wait_with_output()
        .expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&said)
    );
}

#[test]
fn promtool_finds_no_fault_in_the_rules() {
    promtool(&[
        "check",
        "rules",
        "--lint=all",
        "--lint-fatal",
        "rules/loadproof.yml",
    ]);
}

#[test]
fn the_rules_fire_when_they_should_and_not_else() {
    promtool(&["test", "rules", "tests/rules.yml"]);
}

#[test]
fn every_query_has_data_with_native_histograms() {
    every_query_has_data(Native::On);
}

#[test]
fn every_query_has_data_with_classic_histograms() {
    every_query_has_data(Native::Off);
}

/// An exporter under load: each scrape finds 300 more requests of two shapes, 30 of them without a token.
fn served() -> Target {
    let targets = Targets {
        ttft: vec![0.5],
        ..Targets::default()
    };
    let exporter = records::exporter_with(
        &["m"],
        Settings {
            targets,
            ..Settings::default()
        },
    );
    Target::serve(move |accept| {
        for i in 0..300 {
            let mut story = Story {
                ttft: Some(Nanos::from_millis(50 + i)),
                at_arrival: if i % 2 == 0 { 0 } else { 3 },
                ..Story::default()
            };
            if i % 10 == 0 {
                story = Story {
                    ttft: None,
                    end: End::TimeoutTtft,
                    ..story
                };
            }
            exporter.observe(&story.record());
            exporter.observe_proxy_delay(Nanos(20_000 + i * 100));
        }
        let live = Live {
            prefill: 2,
            decode: 5,
            oldest_without_token: Some(0.3),
            silent: 0.01,
        };
        let format = negotiate(accept);
        (
            format.content_type(),
            exporter.encode(format, &live).expect("encodes"),
        )
    })
}

fn every_query_has_data(native: Native) {
    let target = served();
    let prometheus =
        Prometheus::start(target.address, &in_this_room("rules/loadproof.yml"), native);
    target.wait_for_scrapes(8);
    let buckets = prometheus.query("loadproof_time_to_first_token_seconds_bucket");
    assert_eq!(
        buckets.is_empty(),
        native == Native::On,
        "it stores one form and not the other"
    );
    for (whose, query) in panel_queries().into_iter().chain(recorded()) {
        let values = prometheus.query(&query);
        assert!(!values.is_empty(), "{whose}: no data for {query}");
        assert!(
            values.iter().all(|value| value.is_finite()),
            "{whose}: {values:?} for {query}"
        );
    }
    healthy(&prometheus.get("rules"));
}

/// Every panel's queries, with values for Grafana's macros and variables.
fn panel_queries() -> BTreeMap<String, String> {
    let dashboard = dashboard();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut queries = BTreeMap::new();
    for panel in list(&dashboard, "panels") {
        for target in list(&panel, "targets") {
            let query = target["expr"].as_str().expect("a query");
            let query = query
                .replace("$__rate_interval", "1m")
                .replace("$window", "1m")
                .replace("$job", "loadproof")
                .replace("$instance", "127.0.0.1:.+")
                .replace("$model", ".+");
            queries.insert(format!("{} {}", panel["title"], target["refId"]), query);
        }
    }
    assert!(queries.len() > 20, "{} queries", queries.len());
    queries
}

/// The names of the recorded series: each is its own query.
fn recorded() -> Vec<(String, String)> {
    let name = |rule| match rule {
        Rule::Record(record) => Some((record.record.clone(), record.record)),
        Rule::Alert(_) => None,
    };
    rules()
        .groups
        .into_iter()
        .flat_map(|group| group.rules)
        .filter_map(name)
        .collect()
}

/// No rule failed, and no alert fires on good traffic.
fn healthy(rules: &Value) {
    let mut seen = 0;
    for group in rules["groups"].as_array().expect("groups") {
        for rule in group["rules"].as_array().expect("rules") {
            assert_eq!(rule["health"], "ok", "{rule}");
            assert!(
                rule["state"].is_null() || rule["state"] == "inactive",
                "{rule}"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 8, "every rule was evaluated");
}
