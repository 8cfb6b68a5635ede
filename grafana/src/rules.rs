//! Recording and alerting rules for Prometheus.
//!
//! Recorded names follow `level:metric:operations`. A recorded quantile is absent where it rests on too few observations;
//! an alert never fires because there is no traffic.

use exporter::catalogue::{self as metric, Family};
use exporter::query::{Observations, P95_LEAST, P99_LEAST, Quantile};
use serde::Serialize;

/// Silence with a request open, in seconds, from which the engine counts as hung. A long prefill and a long answer that is
/// not streamed are silent too: above the longest of these.
const SILENT_SECONDS: u32 = 300;
/// Requests that must have ended without a token before their number means anything.
const WITHOUT_TOKEN_LEAST: u32 = 3;
/// Outcomes without a token that say nothing of the engine. A client that left is none: it may have been tired of waiting.
const NOT_THE_ENGINES: &str = "rejected_malformed|rejected_limit|upstream_4xx";
/// Range of the recorded quantiles.
const RANGE: &str = "5m";
/// Range over which no first token is noticed.
const STARVED_RANGE: &str = "10m";

/// A rule file.
#[derive(Debug, Serialize)]
pub struct Rules {
    /// Evaluated one by one, each in its order.
    pub groups: Vec<Group>,
}

/// Rules that are evaluated together.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its name.
    pub name: &'static str,
    /// In order.
    pub rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Rule {
    /// Of a recorded series.
    Record(Record),
    /// Of an alert.
    Alert(Alert),
}

/// A recorded series.
#[derive(Debug, Serialize)]
pub struct Record {
    /// Its name.
    pub record: String,
    /// Its query.
    pub expr: String,
}

/// An alert.
#[derive(Debug, Serialize)]
pub struct Alert {
    /// Its name.
    pub alert: &'static str,
    /// Its query.
    pub expr: String,
    /// How long the query must have had a result.
    #[serde(rename = "for")]
    pub pending: &'static str,
    /// Labels it gets.
    pub labels: Labels,
    /// What it says.
    pub annotations: Annotations,
}

/// Labels of an alert.
#[derive(Debug, Serialize)]
pub struct Labels {
    /// `critical` or `warning`.
    pub severity: &'static str,
}

/// What an alert says.
#[derive(Debug, Serialize)]
pub struct Annotations {
    /// In one line.
    pub summary: &'static str,
    /// What it means, and what to look at.
    pub description: &'static str,
}

/// The rules.
pub fn rules() -> Rules {
    Rules {
        groups: vec![
            Group {
                name: "loadproof-quantiles",
                rules: recorded().into_iter().map(Rule::Record).collect(),
            },
            Group {
                name: "loadproof-alerts",
                rules: vec![
                    Rule::Alert(engine_silent()),
                    Rule::Alert(no_first_tokens()),
                    Rule::Alert(absent()),
                ],
            },
        ],
    }
}

// Recorded series

fn recorded() -> Vec<Record> {
    let by_model: &[&str] = &["job", metric::MODEL];
    let by_shape: &[&str] = &["job", metric::MODEL, metric::INPUT_LEN, metric::CONCURRENCY];
    vec![
        quantile("job_model", &metric::TIME_TO_FIRST_TOKEN, by_model, P95),
        quantile(
            "job_model_input_len_concurrency",
            &metric::TIME_TO_FIRST_TOKEN,
            by_shape,
            P95,
        ),
        quantile("job_model", &metric::TIME_PER_OUTPUT_TOKEN, by_model, P95),
        quantile("job_model", &metric::INTER_BURST_LATENCY, by_model, P99),
        Record {
            record: format!(
                "job_model:{}:ratio_rate{RANGE}",
                metric::REQUESTS_WITHOUT_FIRST_TOKEN
                    .full_name()
                    .trim_end_matches("_total")
            ),
            expr: without_first_token_ratio(by_model),
        },
    ]
}

/// A quantile, and what it must rest on.
type Level = (&'static str, &'static str, u32);

const P95: Level = ("0.95", "p95", P95_LEAST);
const P99: Level = ("0.99", "p99", P99_LEAST);

fn quantile(level: &str, family: &Family, by: &[&str], (q, name, least): Level) -> Record {
    let query = Quantile {
        family,
        level: q,
        by,
        matchers: "",
        range: RANGE,
    };
    Record {
        record: format!("{level}:{}:{name}_{RANGE}", family.full_name()),
        expr: query.from_at_least(least),
    }
}

/// Share of the streaming requests that ended before a first token.
fn without_first_token_ratio(by: &[&str]) -> String {
    let with = Observations {
        family: &metric::TIME_TO_FIRST_TOKEN,
        by,
        matchers: "",
        range: RANGE,
    };
    let by = by.join(", ");
    let without = format!(
        "sum by ({by}) (increase({}[{RANGE}]))",
        metric::REQUESTS_WITHOUT_FIRST_TOKEN.full_name()
    );
    format!("{without} / ({without} + ({with} or {without} * 0) > 0)")
}

// Alerts

fn engine_silent() -> Alert {
    Alert {
        alert: "LoadproofEngineSilent",
        expr: format!("{} > {SILENT_SECONDS}", metric::ENGINE_SILENT.full_name()),
        pending: "1m",
        labels: Labels {
            severity: "critical",
        },
        annotations: Annotations {
            summary: "The engine behind {{ $labels.instance }} has sent nothing for {{ $value | humanizeDuration }} with a request open.",
            description: "The engine may hang although its health check is green. If answers that are not streamed can take longer than this, raise the threshold.",
        },
    }
}

fn no_first_tokens() -> Alert {
    let by: &[&str] = &["job", "instance"];
    let with = Observations {
        family: &metric::TIME_TO_FIRST_TOKEN,
        by,
        matchers: "",
        range: STARVED_RANGE,
    };
    Alert {
        alert: "LoadproofNoFirstTokens",
        expr: format!(
            r#"sum by ({by}) (increase({}{{reason!~"{NOT_THE_ENGINES}"}}[{STARVED_RANGE}])) >= {WITHOUT_TOKEN_LEAST} unless on ({by}) ({with} > 0)"#,
            metric::REQUESTS_WITHOUT_FIRST_TOKEN.full_name(),
            by = by.join(", "),
        ),
        pending: "1m",
        labels: Labels {
            severity: "critical",
        },
        annotations: Annotations {
            summary: "No streaming request through {{ $labels.instance }} got a first token for 10 minutes.",
            description: "Requests come and end, none with a token. The outcomes in loadproof_requests_total say how they end.",
        },
    }
}

fn absent() -> Alert {
    Alert {
        alert: "LoadproofAbsent",
        expr: format!("absent({})", metric::BUILD.full_name()),
        pending: "5m",
        labels: Labels {
            severity: "warning",
        },
        annotations: Annotations {
            summary: "Prometheus scrapes no loadproof.",
            description: "Either none runs or its metrics port is not scraped: no other alert here can fire.",
        },
    }
}
