//! Negotiation: the literal headers of Prometheus, and the corners of the header's grammar.

use super::{Format, negotiate};

const OPEN_METRICS_2_42: &str = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const PROTOBUF_2_42: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
const PROTOBUF_3: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
const OPEN_METRICS_3: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

#[track_caller]
fn check(accept: &str, expected: Format) {
    assert_eq!(negotiate(Some(accept)), expected, "Accept: {accept}");
}

#[test]
fn what_prometheus_sends() {
    check(OPEN_METRICS_2_42, Format::OpenMetrics1);
    check(PROTOBUF_2_42, Format::Protobuf);
    check(PROTOBUF_3, Format::Protobuf);
    check(OPEN_METRICS_3, Format::OpenMetrics1);
}

#[test]
fn whoever_asks_for_nothing_gets_text() {
    assert_eq!(negotiate(None), Format::Text);
    for accept in [
        "",
        "*/*",
        "text/*",
        "text/plain",
        "text/plain;version=0.0.4",
        "application/*",
        "text/html,*/*;q=0.8",
    ] {
        check(accept, Format::Text);
    }
}

#[test]
fn what_we_do_not_have_is_answered_with_text() {
    for accept in [
        "application/json",
        "application/openmetrics-text;version=2.0.0",
        "text/plain;version=1.0.0",
        "application/vnd.google.protobuf",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
        "application/vnd.google.protobuf;proto=other.Message;encoding=delimited",
        "application/openmetrics-text+zip;version=1.0.0",
    ] {
        check(accept, Format::Text);
    }
}

#[test]
fn quality_decides_and_at_equal_quality_the_richer_form() {
    let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    for (rest, expected) in [
        (
            ";q=0.5,application/openmetrics-text;version=1.0.0;q=0.9",
            Format::OpenMetrics1,
        ),
        (
            ";q=0.5,application/openmetrics-text;version=0.0.1;q=0.9",
            Format::OpenMetrics0,
        ),
        (
            ";q=0.5,application/openmetrics-text;version=1.0.0;q=0.5",
            Format::Protobuf,
        ),
        (";q=0.4,text/plain;q=0.5", Format::Text),
        (";q=0,text/plain;q=0.001", Format::Text),
        (";q=0", Format::Text),
        (";q=0.000", Format::Text),
        (";q=1.000", Format::Protobuf),
    ] {
        check(&format!("{protobuf}{rest}"), expected);
    }
}

#[test]
fn a_closer_range_overrides_a_wider_one() {
    check(
        "application/openmetrics-text;q=0.2,text/plain;q=0.5,application/openmetrics-text;version=0.0.1;q=0.9",
        Format::OpenMetrics0,
    );
    check(
        "text/plain;version=0.0.4;q=0,*/*;q=1,application/openmetrics-text;q=0.1",
        Format::OpenMetrics1,
    );
}

#[test]
fn writing_varies_and_bad_ranges_do_not_count() {
    check(
        "APPLICATION/OpenMetrics-Text; Version=1.0.0",
        Format::OpenMetrics1,
    );
    check(
        "application/openmetrics-text ; version=\"1.0.0\" ; q=0.3",
        Format::OpenMetrics1,
    );
    check(
        ",, ,application/openmetrics-text;version=1.0.0,",
        Format::OpenMetrics1,
    );
    check(
        "nonsense, application/openmetrics-text;version=1.0.0;q=0.5",
        Format::OpenMetrics1,
    );
    for quality in ["2", "1.5", "-1", "abc", "0.1234", ".5", "1.001", "0,5"] {
        check(
            &format!("application/openmetrics-text;version=1.0.0;q={quality}"),
            Format::Text,
        );
    }
}

#[test]
fn content_types_are_those_that_readers_expect() {
    for (format, expected) in [
        (
            Format::Protobuf,
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited",
        ),
        (
            Format::OpenMetrics1,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        (
            Format::OpenMetrics0,
            "application/openmetrics-text; version=0.0.1; charset=utf-8",
        ),
        (Format::Text, "text/plain; version=0.0.4; charset=utf-8"),
    ] {
        assert_eq!(format.content_type(), expected);
    }
}
