//! What holds for every family: names, units, edges.

use std::collections::HashSet;

use super::*;

/// vLLM's edges for the time to first token, seconds.
const VLLM_TTFT: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];
/// vLLM's edges for the time per output token and between tokens, seconds.
const VLLM_TPOT: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];
/// vLLM's edges for the whole request, seconds.
const VLLM_E2E: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        && !name.contains("__")
        && !name.ends_with('_')
}

#[test]
fn names_follow_the_conventions_of_prometheus() {
    let suffixes_we_add = ["_seconds", "_tokens", "_total", "_info"];
    let words = [
        "histogram",
        "counter",
        "gauge",
        "milliseconds",
        "ms",
        "count",
        "sum",
        "bucket",
    ];
    for family in ALL {
        assert!(
            is_snake_case(family.name),
            "{}: not snake_case",
            family.name
        );
        for suffix in suffixes_we_add {
            assert!(
                !family.name.ends_with(suffix),
                "{}: {suffix} comes from the unit or the type",
                family.name
            );
        }
        for word in family.name.split('_') {
            assert!(
                !words.contains(&word),
                "{}: the word {word} has no place in a name",
                family.name
            );
        }
        for label in family.labels {
            assert!(
                is_snake_case(label),
                "{}: label {label} is not snake_case",
                family.name
            );
        }
    }
}

#[test]
fn no_two_families_share_a_name_in_any_form() {
    let mut exported = HashSet::new();
    let mut open_metrics = HashSet::new();
    for family in ALL {
        assert!(
            exported.insert(family.full_name()),
            "{} twice",
            family.full_name()
        );
        // In OpenMetrics a counter's family has no `_total`: a histogram of that name would be the same family.
        let name = family.full_name();
        let name = name.strip_suffix("_total").unwrap_or(&name).to_owned();
        assert!(
            open_metrics.insert(name),
            "{} clashes in OpenMetrics",
            family.full_name()
        );
    }
}

#[test]
fn every_help_is_one_line_that_ends() {
    for family in ALL {
        assert!(
            family.help.ends_with('.'),
            "{}: help has no full stop",
            family.name
        );
        assert!(
            !family.help.contains(['\n', '\\']),
            "{}: help is not one line",
            family.name
        );
        assert!(
            !family.absent.is_empty(),
            "{}: when is it absent?",
            family.name
        );
    }
}

#[test]
fn edges_ascend_and_end_before_infinity() {
    for family in ALL {
        let Some(buckets) = family.buckets() else {
            continue;
        };
        assert!(!buckets.edges.is_empty(), "{}: no edges", family.name);
        assert!(
            buckets.edges.is_sorted_by(|a, b| a < b),
            "{}: edges don't ascend",
            family.name
        );
        assert!(
            buckets.edges.iter().all(|edge| edge.is_finite()),
            "{}",
            family.name
        );
    }
}

#[test]
fn a_quantity_that_may_be_0_has_no_native_form() {
    for family in ALL {
        let Some(buckets) = family.buckets() else {
            continue;
        };
        let is_time = family.unit == Some(Unit::Seconds);
        let is_native = buckets.form == Form::ClassicAndNative;
        assert_eq!(
            is_time, is_native,
            "{}: a span is never 0, an amount may be",
            family.name
        );
    }
}

#[test]
fn latency_edges_contain_those_of_vllm() {
    for (name, ours, theirs) in [
        ("ttft", TTFT, VLLM_TTFT),
        ("tpot", TPOT, VLLM_TPOT),
        ("gap", GAP, VLLM_TPOT),
        ("e2e", DURATION, VLLM_E2E),
    ] {
        for edge in theirs {
            assert!(
                ours.contains(edge),
                "{name}: edge {edge} of vLLM is missing"
            );
        }
    }
}

#[test]
fn latency_edges_begin_at_one_millisecond_and_are_dense_where_services_live() {
    for edge in [0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008] {
        assert!(TPOT.contains(&edge), "{edge}");
    }
    // Between 100 ms and 500 ms no bucket is wider than a half: a constant 110 ms must not read as 242 ms.
    for pair in TTFT.windows(2) {
        if pair[0] >= 0.1 && pair[1] <= 0.5 {
            assert!(
                pair[1] / pair[0] <= 1.5 + 1e-9,
                "bucket ({}, {}] is too wide",
                pair[0],
                pair[1]
            );
        }
    }
}
