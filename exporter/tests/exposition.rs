//! What is written for what was observed: every family, every label, every limit.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test fails by panicking, and tells its figures"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use exporter::{Build, Error, Exporter, Format, Live, Settings, Targets, Unmeasured, catalogue};
use measure::{Edges, End, Nanos, Outcome, Role, ShapeEdges};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model as model;
use prost::Message;
use wire::{Endpoint, EngineTimes, Tokens};

use support::{Story, exporter, exporter_with, fill};

/// Families by full name, decoded from the protobuf form.
fn families(exporter: &Exporter) -> BTreeMap<String, model::MetricFamily> {
    families_at(exporter, &Live::default())
}

fn families_at(exporter: &Exporter, live: &Live) -> BTreeMap<String, model::MetricFamily> {
    let bytes = exporter.encode(Format::Protobuf, live).expect("encodes");
    let mut left = bytes.as_slice();
    let mut families = BTreeMap::new();
    while !left.is_empty() {
        let family = model::MetricFamily::decode_length_delimited(&mut left).expect("a family");
        assert!(
            families.insert(family.name.clone(), family).is_none(),
            "a family twice"
        );
    }
    families
}

fn text(exporter: &Exporter) -> String {
    text_in(exporter, Format::Text)
}

fn text_in(exporter: &Exporter, format: Format) -> String {
    String::from_utf8(exporter.encode(format, &Live::default()).expect("encodes")).expect("UTF-8")
}

/// Series of a family by its label values, joined by commas.
fn series(exporter: &Exporter, family: &catalogue::Family) -> BTreeMap<String, model::Metric> {
    let all = families(exporter)
        .remove(&family.full_name())
        .expect("the family is there");
    all.metric
        .into_iter()
        .map(|metric| {
            let names: Vec<&str> = metric
                .label
                .iter()
                .map(|label| label.name.as_str())
                .collect();
            assert_eq!(names, family.labels, "labels of {}", family.full_name());
            let values: Vec<&str> = metric
                .label
                .iter()
                .map(|label| label.value.as_str())
                .collect();
            (values.join(","), metric)
        })
        .collect()
}

/// Counters of a family that are above 0.
fn counted(exporter: &Exporter, family: &catalogue::Family) -> Vec<(String, f64)> {
    series(exporter, family)
        .into_iter()
        .map(|(labels, metric)| (labels, metric.counter.expect("a counter").value))
        .filter(|&(_, value)| value > 0.0)
        .collect()
}

/// Number and sum of each histogram of a family.
fn observed(exporter: &Exporter, family: &catalogue::Family) -> Vec<(String, u64, f64)> {
    series(exporter, family)
        .into_iter()
        .map(|(labels, metric)| {
            let histogram = metric.histogram.expect("a histogram");
            (
                labels,
                histogram.sample_count,
                (histogram.sample_sum * 1e6).round() / 1e6,
            )
        })
        .collect()
}

fn owned(expected: &[(&str, u64, f64)]) -> Vec<(String, u64, f64)> {
    expected
        .iter()
        .map(|&(labels, n, sum)| (labels.to_owned(), n, sum))
        .collect()
}

/// An exporter in which every family has a series.
fn full() -> Exporter {
    let exporter = exporter_with(
        &["m"],
        Settings {
            targets: Targets {
                ttft: vec![0.35],
                tpot: vec![0.045],
                e2e: vec![7.0],
            },
            ..Settings::default()
        },
    );
    let story = Story {
        engine_times: EngineTimes {
            ttft: Some(99_000_000),
            ..EngineTimes::default()
        },
        ..Story::default()
    };
    exporter.observe(&story.record());
    exporter.observe_proxy_delay(Nanos(40_000));
    exporter.observe_upstream_connect(Nanos(300_000));
    exporter.set_engine(["vllm", "0.33.0", "m", "unstated", "8192"].map(str::to_owned));
    exporter
}

// Catalogue and exposition

#[test]
fn the_exposition_is_the_catalogue() {
    let declared: BTreeSet<String> = catalogue::ALL
        .iter()
        .map(|family| family.full_name())
        .collect();
    let exporter = full();
    let live = Live {
        oldest_without_token: Some(1.5),
        ..Live::default()
    };
    let exported = families_at(&exporter, &live);
    assert_eq!(exported.keys().cloned().collect::<BTreeSet<_>>(), declared);
    for family in catalogue::ALL {
        let exported = &exported[&family.full_name()];
        assert_eq!(exported.help, family.help);
        assert!(
            !exported.metric.is_empty(),
            "{} has no series",
            family.full_name()
        );
        for metric in &exported.metric {
            let labels: Vec<&str> = metric
                .label
                .iter()
                .map(|label| label.name.as_str())
                .collect();
            assert_eq!(labels, family.labels, "labels of {}", family.full_name());
        }
    }
}

#[test]
fn every_form_has_the_same_families_in_the_same_order() {
    let declared: Vec<String> = catalogue::ALL
        .iter()
        .map(|family| family.full_name())
        .collect();
    let exporter = full();
    let named = |text: String, suffixes: &[(&str, &str)]| -> Vec<String> {
        let of_type = |line: &str| {
            let mut words = line.strip_prefix("# TYPE ")?.split(' ');
            let (name, kind) = (words.next()?, words.next()?);
            let suffix = suffixes
                .iter()
                .find(|(of, _)| *of == kind)
                .map_or("", |(_, suffix)| suffix);
            Some(format!("{name}{suffix}"))
        };
        text.lines().filter_map(of_type).collect()
    };
    assert_eq!(named(text_in(&exporter, Format::Text), &[]), declared);
    let suffixes = [("counter", "_total"), ("info", "_info")];
    let open_metrics = text_in(&exporter, Format::OpenMetrics1);
    assert!(open_metrics.ends_with("# EOF\n"));
    assert_eq!(open_metrics, text_in(&exporter, Format::OpenMetrics0));
    assert_eq!(named(open_metrics, &suffixes), declared);
}

#[test]
fn an_exposition_is_written_in_the_same_order_each_time() {
    let exporter = full();
    for model in ["a", "b", "c"] {
        exporter.learn_models(&[model]);
        exporter.observe(
            &Story {
                model: Some(model.to_owned()),
                ..Story::default()
            }
            .record(),
        );
    }
    assert_eq!(text(&exporter), text(&exporter));
}

// From the start

#[test]
fn counters_exist_at_0_before_anything_happened() {
    let exporter = exporter(&["m"]);
    let requests = series(&exporter, &catalogue::REQUESTS);
    assert_eq!(
        requests.len(),
        2 * 2 * Outcome::ALL.len(),
        "2 models, 2 endpoints, each outcome"
    );
    assert!(requests.contains_key("m,/v1/chat/completions,upstream_reset"));
    assert!(requests.contains_key("other,/v1/completions,ok"));
    let reasons = series(&exporter, &catalogue::REQUESTS_WITHOUT_FIRST_TOKEN);
    assert_eq!(reasons.len(), 2 * Outcome::ALL.len());
    for (family, expected) in [
        (&catalogue::REJECTED_REQUESTS, 2),
        (&catalogue::ANOMALIES, 2),
        (&catalogue::UNMEASURED, Unmeasured::ALL.len()),
        (&catalogue::LABEL_OVERFLOW, 6),
        (&catalogue::PASSED_REQUESTS, 2),
        (&catalogue::PANICS, 1),
        (&catalogue::ENGINE_CHANGES, 1),
        (&catalogue::ENGINE_SCRAPES, 2),
        (&catalogue::CLIENT_LIMITED, 1),
        (&catalogue::BUFFERED_UPSTREAM, 1),
    ] {
        assert_eq!(
            series(&exporter, family).len(),
            expected,
            "{}",
            family.full_name()
        );
    }
    for family in catalogue::ALL
        .iter()
        .filter(|family| family.kind == catalogue::Kind::Counter)
    {
        assert_eq!(counted(&exporter, family), [], "{}", family.full_name());
    }
}

#[test]
fn a_route_that_is_not_there_from_the_start_begins_whole() {
    let exporter = exporter(&["m"]);
    let before = series(&exporter, &catalogue::REQUESTS).len();
    let mut record = Story::default().record();
    record.identity.endpoint = Endpoint::Responses;
    exporter.observe(&record);
    let requests = series(&exporter, &catalogue::REQUESTS);
    assert_eq!(requests.len(), before + Outcome::ALL.len());
    assert!(requests.contains_key("m,/v1/responses,upstream_reset"));
}

#[test]
fn no_shape_cell_exists_before_it_is_observed() {
    let exporter = exporter(&["m"]);
    assert!(series(&exporter, &catalogue::TIME_TO_FIRST_TOKEN).is_empty());
    exporter.observe(&Story::default().record());
    let cells = series(&exporter, &catalogue::TIME_TO_FIRST_TOKEN);
    assert_eq!(
        cells.into_keys().collect::<Vec<_>>(),
        ["m,257-1024,0-32,0-1"]
    );
}

#[test]
fn settings_that_can_not_be_exported_are_refused() {
    let refused = |settings: Settings| Exporter::new(settings).expect_err("refused");
    let models = |models: Vec<String>| Settings {
        models,
        ..Settings::default()
    };
    let ttft = |ttft: Vec<f64>| Settings {
        targets: Targets {
            ttft,
            ..Targets::default()
        },
        ..Settings::default()
    };
    assert!(matches!(
        refused(Settings {
            max_cells: 0,
            ..Settings::default()
        }),
        Error::NoCells
    ));
    assert!(matches!(
        refused(models((0..65).map(|i| format!("m{i}")).collect())),
        Error::TooManyModels { count: 65 }
    ));
    assert!(matches!(
        refused(models(vec!["m".to_owned(), "x".repeat(129)])),
        Error::ModelName {
            position: 2,
            bytes: 129
        }
    ));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            matches!(
                refused(ttft(vec![1.0, bad])),
                Error::Target { metric: "ttft", .. }
            ),
            "{bad}"
        );
    }
    assert!(matches!(
        refused(ttft((1..=17).map(f64::from).collect())),
        Error::TooManyTargets {
            metric: "ttft",
            count: 17
        }
    ));
}

// Targets

#[test]
fn each_target_is_an_edge_and_a_gauge() {
    let exporter = full();
    for (family, target) in [
        (&catalogue::TIME_TO_FIRST_TOKEN, 0.35),
        (&catalogue::TIME_TO_FIRST_ANSWER_TOKEN, 0.35),
        (&catalogue::TIME_PER_OUTPUT_TOKEN, 0.045),
        (&catalogue::REQUEST_DURATION, 7.0),
    ] {
        let own = family.buckets().expect("a histogram").edges;
        let (_, metric) = series(&exporter, family).pop_first().expect("a series");
        let edges: Vec<f64> = metric
            .histogram
            .expect("a histogram")
            .bucket
            .iter()
            .map(|bucket| bucket.upper_bound)
            .collect();
        assert!(edges.contains(&target), "{}", family.full_name());
        assert!(
            own.iter().all(|edge| edges.contains(edge)),
            "{}",
            family.full_name()
        );
        assert!(edges.is_sorted(), "{}", family.full_name());
        assert_eq!(edges.len(), own.len() + 2, "{}", family.full_name());
    }
    let targets = series(&exporter, &catalogue::SLO_TARGET);
    let gauges: Vec<(&str, f64)> = targets
        .iter()
        .map(|(labels, metric)| (labels.as_str(), metric.gauge.expect("a gauge").value))
        .collect();
    assert_eq!(
        gauges,
        [("e2e,1", 7.0), ("tpot,1", 0.045), ("ttft,1", 0.35)]
    );
}

#[test]
fn a_target_that_is_an_edge_already_adds_none() {
    let exporter = exporter_with(
        &[],
        Settings {
            targets: Targets {
                ttft: vec![0.5, 1.0, 1.0],
                ..Targets::default()
            },
            ..Settings::default()
        },
    );
    exporter.observe(&Story::default().record());
    let (_, metric) = series(&exporter, &catalogue::TIME_TO_FIRST_TOKEN)
        .pop_first()
        .expect("a cell");
    assert_eq!(
        metric.histogram.expect("a histogram").bucket.len(),
        catalogue::TTFT.len() + 1
    );
}

// Records

#[test]
fn a_whole_answer_is_in_every_histogram_once() {
    let exporter = exporter(&["m"]);
    exporter.observe(
        &Story {
            at_arrival: 5,
            ..Story::default()
        }
        .record(),
    );
    let shape = "m,257-1024,0-32,5-16";
    for (family, expected) in [
        (&catalogue::TIME_TO_FIRST_TOKEN, (shape, 1, 0.1)),
        (&catalogue::TIME_TO_FIRST_ANSWER_TOKEN, (shape, 1, 0.1)),
        (&catalogue::TIME_TO_FIRST_EVENT, ("m", 1, 0.1)),
        (&catalogue::TIME_PER_OUTPUT_TOKEN, (shape, 1, 0.02)),
        (&catalogue::INTER_TOKEN_LATENCY, (shape, 9, 0.18)),
        (&catalogue::INTER_BURST_LATENCY, (shape, 9, 0.18)),
        (&catalogue::MAX_STALL, ("m", 1, 0.02)),
        (
            &catalogue::REQUEST_DURATION,
            ("m,257-1024,0-32,5-16,ok", 1, 0.285),
        ),
        (&catalogue::REQUEST_INPUT_TOKENS, ("m", 1, 1000.0)),
        (&catalogue::REQUEST_OUTPUT_TOKENS, ("m", 1, 10.0)),
        (&catalogue::ARRIVAL_CONCURRENCY, ("m", 1, 5.0)),
        (&catalogue::REQUEST_UPLOAD, ("", 1, 0.001)),
    ] {
        assert_eq!(
            observed(&exporter, family),
            owned(&[expected]),
            "{}",
            family.full_name()
        );
    }
    let ok = ("m,/v1/chat/completions,ok".to_owned(), 1.0);
    assert_eq!(counted(&exporter, &catalogue::REQUESTS), [ok]);
    assert_eq!(
        counted(&exporter, &catalogue::REQUESTS_WITHOUT_FIRST_TOKEN),
        []
    );
    assert_eq!(
        counted(&exporter, &catalogue::INPUT_TOKENS_TOTAL),
        [("m,usage".to_owned(), 1000.0)]
    );
}

#[test]
fn a_difference_to_the_engine_stands_on_the_side_on_which_it_lies() {
    let exporter = exporter(&["m"]);
    assert_eq!(observed(&exporter, &catalogue::ENGINE_TIME_DIFFERENCE), []);
    // 100 ms to the first token, 20 ms a token, 285 ms in all, where the engine says the same.
    for (queue, prefill) in [(Some(30_000_000), 66_000_000), (None, 90_000_000)] {
        let story = Story {
            engine_times: EngineTimes {
                queue,
                prefill: Some(prefill),
                decode: Some(9 * 21_000_000),
                ..EngineTimes::default()
            },
            ..Story::default()
        };
        exporter.observe(&story.record());
    }
    assert_eq!(
        observed(&exporter, &catalogue::ENGINE_TIME_DIFFERENCE),
        owned(&[
            ("e2e,longer", 1, 0.0),
            ("prefill,longer", 1, 0.01),
            ("tpot,shorter", 2, 0.002),
            ("ttft,longer", 1, 0.004),
        ])
    );
}

#[test]
fn a_request_without_a_first_token_is_counted_and_not_timed() {
    let exporter = exporter(&["m"]);
    for end in [End::ClientGone, End::TimeoutTtft, End::TimeoutTtft] {
        let story = Story {
            ttft: None,
            gaps: Vec::new(),
            end,
            ..Story::default()
        };
        exporter.observe(&story.record());
    }
    assert_eq!(observed(&exporter, &catalogue::TIME_TO_FIRST_TOKEN), []);
    assert_eq!(
        counted(&exporter, &catalogue::REQUESTS_WITHOUT_FIRST_TOKEN),
        [
            ("m,client_abort_prefill".to_owned(), 1.0),
            ("m,timeout_ttft".to_owned(), 2.0)
        ]
    );
    let classes: Vec<String> = series(&exporter, &catalogue::REQUEST_DURATION)
        .into_keys()
        .collect();
    assert_eq!(
        classes,
        ["m,257-1024,unknown,0-1,client", "m,257-1024,unknown,0-1,us"]
    );
}

#[test]
fn gaps_are_weighted_only_where_the_count_is_exact() {
    let gap = Nanos::from_millis(30);
    let exporter = exporter(&["m"]);
    let gaps = vec![
        (gap, Tokens::Exactly(3)),
        (gap, Tokens::AtLeastOne),
        (gap, Tokens::Exactly(1)),
    ];
    exporter.observe(
        &Story {
            gaps,
            ..Story::default()
        }
        .record(),
    );
    let shape = "m,257-1024,0-32,0-1";
    assert_eq!(
        observed(&exporter, &catalogue::INTER_BURST_LATENCY),
        owned(&[(shape, 3, 0.09)])
    );
    // 3 times 10 ms and once 30 ms; the burst of unknown size has no share.
    assert_eq!(
        observed(&exporter, &catalogue::INTER_TOKEN_LATENCY),
        owned(&[(shape, 4, 0.06)])
    );
    let (_, metric) = series(&exporter, &catalogue::INTER_TOKEN_LATENCY)
        .pop_first()
        .expect("a cell");
    let histogram = metric.histogram.expect("a histogram");
    let below = |edge: f64| {
        let bucket = histogram
            .bucket
            .iter()
            .find(|bucket| bucket.upper_bound == edge);
        bucket.expect("the edge is there").cumulative_count
    };
    assert_eq!(
        (below(0.008), below(0.015), below(0.025), below(0.04)),
        (0, 3, 3, 4)
    );
    // Two buckets of schema 5: 10 ms and 30 ms, the deltas 3, then 1 − 3.
    assert_eq!(
        (histogram.schema, histogram.positive_delta),
        (5, vec![3, -2])
    );
}

#[test]
fn only_production_is_observed() {
    let exporter = exporter(&["m"]);
    for role in [Role::Shadow, Role::Replay] {
        let story = Story {
            role,
            ..Story::default()
        };
        let mut exchange = story.exchange();
        exporter.output_progress(&exchange.poll_progress().expect("it has tokens"));
        exporter.observe(&story.record());
    }
    assert_eq!(counted(&exporter, &catalogue::REQUESTS), []);
    assert_eq!(counted(&exporter, &catalogue::OUTPUT_TOKENS_TOTAL), []);
    assert_eq!(observed(&exporter, &catalogue::TIME_TO_FIRST_TOKEN), []);
}

// Counters

#[test]
fn output_tokens_move_while_the_stream_runs_and_add_up_to_the_total() {
    let exporter = exporter(&["m"]);
    let story = Story {
        gaps: vec![(Nanos::from_millis(20), Tokens::AtLeastOne); 4],
        ..Story::default()
    };
    let mut exchange = story.exchange();
    exporter.output_progress(&exchange.poll_progress().expect("it has tokens"));
    let events = ("m,events".to_owned(), 5.0);
    assert_eq!(
        counted(&exporter, &catalogue::OUTPUT_TOKENS_TOTAL),
        std::slice::from_ref(&events)
    );
    // The engine's usage says 12: 7 more than its events proved.
    let mut answer = story.answer();
    answer.output_tokens = Some(12);
    exporter.observe(&exchange.finish(Some(answer)));
    assert_eq!(
        counted(&exporter, &catalogue::OUTPUT_TOKENS_TOTAL),
        [events, ("m,usage".to_owned(), 7.0)]
    );
}

#[test]
fn tokens_that_nobody_stated_are_those_of_the_events() {
    let exporter = exporter(&["m"]);
    exporter.observe(
        &Story {
            end: End::Truncated,
            ..Story::default()
        }
        .record(),
    );
    assert_eq!(
        counted(&exporter, &catalogue::OUTPUT_TOKENS_TOTAL),
        [("m,events".to_owned(), 10.0)]
    );
}

#[test]
fn flags_are_counted() {
    let exporter = exporter(&["m"]);
    let mut record = Story::default().record();
    record.flags.client_limited = true;
    record.flags.buffered_upstream = true;
    record.flags.opaque = true;
    record.flags.oversize_event = true;
    record.flags.unobserved = true;
    exporter.observe(&record);
    let once = ("".to_owned(), 1.0);
    assert_eq!(
        counted(&exporter, &catalogue::CLIENT_LIMITED),
        std::slice::from_ref(&once)
    );
    assert_eq!(counted(&exporter, &catalogue::BUFFERED_UPSTREAM), [once]);
    let reasons: Vec<String> = counted(&exporter, &catalogue::UNMEASURED)
        .into_iter()
        .map(|(reason, _)| reason)
        .collect();
    assert_eq!(reasons, ["opaque", "oversize_event", "unobserved"]);
    assert_eq!(observed(&exporter, &catalogue::INTER_BURST_LATENCY), []);
    assert_eq!(observed(&exporter, &catalogue::TIME_PER_OUTPUT_TOKEN), []);
    assert_eq!(observed(&exporter, &catalogue::TIME_TO_FIRST_TOKEN), []);
}

#[test]
fn events_beside_records_are_counted_and_strangers_are_other() {
    let exporter = exporter(&[]);
    exporter.count_rejected("head_too_large");
    exporter.count_rejected("something else");
    exporter.count_anomaly("bad_json", 3);
    exporter.count_anomaly("something else", 2);
    exporter.count_passed("embeddings");
    exporter.count_passed("something else");
    exporter.count_panic();
    let pair = |label: &str, value: f64| (label.to_owned(), value);
    for (family, expected) in [
        (
            &catalogue::REJECTED_REQUESTS,
            vec![pair("head_too_large", 1.0), pair("other", 1.0)],
        ),
        (
            &catalogue::ANOMALIES,
            vec![pair("bad_json", 3.0), pair("other", 2.0)],
        ),
        (
            &catalogue::PASSED_REQUESTS,
            vec![pair("embeddings", 1.0), pair("other", 1.0)],
        ),
        (&catalogue::PANICS, vec![pair("", 1.0)]),
        (
            &catalogue::LABEL_OVERFLOW,
            vec![pair("kind", 1.0), pair("reason", 1.0), pair("route", 1.0)],
        ),
    ] {
        assert_eq!(
            counted(&exporter, family),
            expected,
            "{}",
            family.full_name()
        );
    }
}

#[test]
fn gauges_say_what_is_true_at_the_scrape() {
    let exporter = exporter(&[]);
    let gauges = |live: &Live, family: &catalogue::Family| -> Vec<f64> {
        let mut all = families_at(&exporter, live);
        let family = all
            .remove(&family.full_name())
            .expect("the family is there");
        family
            .metric
            .iter()
            .map(|metric| metric.gauge.expect("a gauge").value)
            .collect()
    };
    let busy = Live {
        prefill: 3,
        decode: 7,
        oldest_without_token: Some(2.5),
        silent: 0.25,
    };
    assert_eq!(gauges(&busy, &catalogue::IN_FLIGHT_REQUESTS), [3.0, 7.0]);
    assert_eq!(
        gauges(&busy, &catalogue::OLDEST_REQUEST_WITHOUT_TOKEN),
        [2.5]
    );
    assert_eq!(gauges(&busy, &catalogue::ENGINE_SILENT), [0.25]);
    let idle = Live::default();
    assert!(gauges(&idle, &catalogue::OLDEST_REQUEST_WITHOUT_TOKEN).is_empty());
    assert_eq!(gauges(&idle, &catalogue::ENGINE_SILENT), [0.0]);
}

#[test]
fn the_engine_is_named_once_it_is_known_and_there_is_only_one() {
    let exporter = exporter(&["m"]);
    let of = |version: &str| ["vllm", version, "m", "kv=auto", "unstated"].map(str::to_owned);
    let told = || {
        series(&exporter, &catalogue::ENGINE)
            .into_keys()
            .collect::<Vec<_>>()
    };
    let changes = || counted(&exporter, &catalogue::ENGINE_CHANGES);
    assert_eq!((told(), changes()), (vec![], vec![]));
    for (version, changed) in [
        ("0.33.0", vec![]),
        ("0.33.0", vec![]),
        ("0.34.0", vec![(String::new(), 1.0)]),
    ] {
        exporter.set_engine(of(version));
        assert_eq!(told(), [of(version).join(",")]);
        assert_eq!(changes(), changed);
    }
    for result in ["ok", "ok", "gone"] {
        exporter.count_engine_scrape(result);
    }
    assert_eq!(
        counted(&exporter, &catalogue::ENGINE_SCRAPES),
        [("ok".to_owned(), 2.0), ("other".to_owned(), 1.0)]
    );
}

#[test]
fn the_build_is_named() {
    let build = Build {
        version: "1.2.3".to_owned(),
        revision: "abc".to_owned(),
    };
    let exporter = exporter_with(
        &[],
        Settings {
            build,
            ..Settings::default()
        },
    );
    let line = "loadproof_build_info{version=\"1.2.3\",revision=\"abc\"} 1\n";
    assert!(text(&exporter).contains(line));
    assert!(text_in(&exporter, Format::OpenMetrics1).contains(line));
}

// Labels

#[test]
fn a_models_name_is_what_is_known_or_other() {
    let exporter = exporter(&["configured"]);
    exporter.learn_models(&["learned"]);
    for (asked, answered, expected) in [
        (Some("configured"), None, "configured"),
        (Some("learned"), None, "learned"),
        (Some("alias"), Some("learned"), "learned"),
        (Some("stranger"), Some("stranger"), "other"),
        (None, None, "other"),
    ] {
        let before = counted(&exporter, &catalogue::REQUESTS);
        let story = Story {
            model: asked.map(str::to_owned),
            answer_model: answered.map(str::to_owned),
            ..Story::default()
        };
        exporter.observe(&story.record());
        let risen: Vec<String> = counted(&exporter, &catalogue::REQUESTS)
            .into_iter()
            .filter(|series| !before.contains(series))
            .map(|(labels, _)| labels)
            .collect();
        assert_eq!(
            risen,
            [format!("{expected},/v1/chat/completions,ok")],
            "{asked:?} {answered:?}"
        );
    }
}

#[test]
fn names_of_the_engine_beyond_the_limits_are_counted() {
    let exporter = exporter(&[]);
    let many: Vec<String> = (0..70).map(|i| format!("m{i}")).collect();
    exporter.learn_models(&many);
    exporter.learn_models(&["x".repeat(129)]);
    assert_eq!(
        counted(&exporter, &catalogue::LABEL_OVERFLOW),
        [("model".to_owned(), 7.0)],
        "64 of 70 fit, and one is too long"
    );
}

#[test]
fn hostile_text_never_becomes_a_label_and_known_text_is_escaped() {
    let known = "a \"quoted\"\nname\\";
    let exporter = exporter(&[known]);
    let strangers = [
        "\"} 1\nfake_metric 1\n".to_owned(),
        "x".repeat(1 << 20),
        "\u{0}\u{7f}é".to_owned(),
    ];
    for model in strangers.iter().map(String::as_str).chain([known]) {
        let story = Story {
            model: Some(model.to_owned()),
            ..Story::default()
        };
        exporter.observe(&story.record());
    }
    let text = text(&exporter);
    assert!(
        !text.contains("fake_metric"),
        "a client's text is in the exposition"
    );
    assert!(text.len() < 100_000, "{} bytes", text.len());
    assert!(text.contains(r#"loadproof_requests_total{model="a \"quoted\"\nname\\",endpoint="/v1/chat/completions",outcome="ok"} 1"#));
    assert!(text.contains(
        r#"loadproof_requests_total{model="other",endpoint="/v1/chat/completions",outcome="ok"} 3"#
    ));
}

// Limits

/// What an engine claims is not bounded by what it can have done.
#[test]
fn fault_76_a_counter_stays_at_its_largest() {
    let exporter = exporter(&["m"]);
    for input in [1_000, u64::MAX, u64::MAX] {
        let story = Story {
            input: Some(input),
            ..Story::default()
        };
        exporter.observe(&story.record());
    }
    let text = text(&exporter);
    let line = text
        .lines()
        .find(|line| line.starts_with("loadproof_input_tokens_total{"));
    let value = line.and_then(|line| line.rsplit(' ').next());
    assert_eq!(value, Some("18446744073709551615"), "{line:?}");
}

#[test]
fn beyond_the_cap_a_models_overflow_cell_takes_the_rest() {
    let settings = Settings {
        max_cells: 2,
        ..Settings::default()
    };
    let exporter = exporter_with(&["a", "b"], settings);
    for (model, at_arrival) in [("a", 0), ("a", 2), ("a", 5), ("b", 0), ("b", 5), ("a", 0)] {
        let story = Story {
            model: Some(model.to_owned()),
            at_arrival,
            ..Story::default()
        };
        exporter.observe(&story.record());
    }
    assert_eq!(
        observed(&exporter, &catalogue::TIME_TO_FIRST_TOKEN),
        owned(&[
            ("a,257-1024,0-32,0-1", 2, 0.2),
            ("a,257-1024,0-32,2-4", 1, 0.1),
            ("a,overflow,overflow,overflow", 1, 0.1),
            ("b,overflow,overflow,overflow", 2, 0.2),
        ])
    );
    let shaped = 6.0;
    assert_eq!(
        counted(&exporter, &catalogue::LABEL_OVERFLOW),
        [("shape".to_owned(), 3.0 * shaped)],
        "3 records overflow in each shaped family"
    );
}

#[test]
fn edges_of_the_shape_are_those_of_the_settings() {
    let edges = |bounds: &[u64]| Edges::new(bounds).expect("edges");
    let shape = ShapeEdges {
        input: edges(&[100]),
        output: edges(&[5, 50]),
        concurrency: edges(&[8]),
    };
    let exporter = exporter_with(
        &["m"],
        Settings {
            shape,
            ..Settings::default()
        },
    );
    exporter.observe(
        &Story {
            input: None,
            at_arrival: 9,
            ..Story::default()
        }
        .record(),
    );
    let cells: Vec<String> = series(&exporter, &catalogue::TIME_TO_FIRST_TOKEN)
        .into_keys()
        .collect();
    assert_eq!(cells, ["m,unknown,6-50,9+"]);
}

#[test]
fn a_hundred_thousand_random_models_are_one_series_each() {
    let exporter = exporter(&["m"]);
    let mut record = Story::default().record();
    for i in 0..100_000_u64 {
        record.request.model = Some(format!("{:x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        exporter.observe(&record);
    }
    let samples = text(&exporter)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert!(samples <= 5000, "{samples} series");
    assert_eq!(
        counted(&exporter, &catalogue::REQUESTS),
        [("other,/v1/chat/completions,ok".to_owned(), 100_000.0)]
    );
}

#[test]
fn a_scrape_at_the_default_cap_stays_within_its_size() {
    let model = "meta-llama/Llama-3.1-8B-Instruct";
    let exporter = exporter(&[model]);
    fill(&exporter, model);
    let shaped = series(&exporter, &catalogue::TIME_TO_FIRST_TOKEN).len();
    assert_eq!(
        shaped,
        exporter::DEFAULT_MAX_CELLS + 1,
        "the cap is reached"
    );
    let text = exporter
        .encode(Format::Text, &Live::default())
        .expect("encodes")
        .len();
    let open_metrics = exporter
        .encode(Format::OpenMetrics1, &Live::default())
        .expect("encodes")
        .len();
    let protobuf = exporter
        .encode(Format::Protobuf, &Live::default())
        .expect("encodes")
        .len();
    println!("text {text}, OpenMetrics {open_metrics}, protobuf {protobuf} bytes");
    assert!(text < 2_000_000, "{text} bytes of text");
    assert!(
        open_metrics < 2_000_000,
        "{open_metrics} bytes of OpenMetrics"
    );
    assert!(protobuf < 400_000, "{protobuf} bytes of protobuf");
}

// Threads

#[test]
fn nothing_is_lost_between_threads_that_observe_and_one_that_scrapes() {
    let exporter = Arc::new(exporter(&["a", "b"]));
    let workers: Vec<_> = (0..4_u32)
        .map(|worker| {
            let exporter = Arc::clone(&exporter);
            std::thread::spawn(move || {
                for i in 0..500 {
                    let model = if i % 2 == 0 { "a" } else { "b" };
                    let story = Story {
                        model: Some(model.to_owned()),
                        at_arrival: (i + worker) % 100,
                        ..Story::default()
                    };
                    exporter.observe(&story.record());
                }
            })
        })
        .collect();
    while workers.iter().any(|worker| !worker.is_finished()) {
        assert!(!text(&exporter).is_empty());
    }
    for worker in workers {
        worker.join().expect("no worker panics");
    }
    let total: u64 = observed(&exporter, &catalogue::TIME_TO_FIRST_TOKEN)
        .into_iter()
        .map(|(_, n, _)| n)
        .sum();
    assert_eq!(total, 2000);
}
