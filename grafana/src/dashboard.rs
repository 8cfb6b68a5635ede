//! The dashboard: how the deployment serves its load, by model and by shape, and what the proxy itself costs.

use exporter::catalogue::{self as metric, Family};
use exporter::query::{P50_LEAST, P95_LEAST, P99_LEAST, Quantile};
use serde_json::{Value, json};

use crate::panel::{COLUMNS, Panel, PanelKind, PanelUnit, Target, datasource};

/// Matchers of families without `model`.
const WHERE: &str = r#"job=~"$job",instance=~"$instance""#;
/// Matchers of families with `model`.
const WHERE_MODEL: &str = r#"job=~"$job",instance=~"$instance",model=~"$model""#;
/// Range of rates.
const RATE: &str = "$__rate_interval";
/// Range of quantiles.
const WINDOW: &str = "$window";

/// Quantiles shown together, each with what it must rest on.
const LEVELS: [(&str, &str, u32); 3] = [
    ("0.5", "p50", P50_LEAST),
    ("0.95", "p95", P95_LEAST),
    ("0.99", "p99", P99_LEAST),
];

/// The dashboard, as Grafana imports it.
pub fn dashboard() -> Value {
    json!({
        "uid": "loadproof",
        "title": "loadproof",
        "description": "What the clients of this deployment get, measured on the real traffic. A quantile is left out where it rests on fewer than 20 (p50), 100 (p95) or 500 (p99) observations in the window.",
        "tags": ["loadproof", "llm"],
        "schemaVersion": 41,
        "version": 1,
        "editable": false,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": { "from": "now-1h", "to": "now" },
        "timezone": "browser",
        "templating": { "list": variables() },
        "annotations": { "list": [] },
        "links": [],
        "panels": laid_out(&panels()),
    })
}

/// Panels from left to right, top to bottom.
fn laid_out(panels: &[Panel]) -> Vec<Value> {
    let (mut x, mut y, mut row_height) = (0, 0, 0);
    let mut placed = Vec::new();
    for (place, panel) in panels.iter().enumerate() {
        let (width, height) = panel.size;
        if x + width > COLUMNS {
            (x, y, row_height) = (0, y + row_height, 0);
        }
        placed.push(panel.at(place + 1, (x, y)));
        x += width;
        row_height = row_height.max(height);
    }
    placed
}

// Variables

fn variables() -> Vec<Value> {
    let build = metric::BUILD.full_name();
    let requests = metric::REQUESTS.full_name();
    vec![
        json!({
            "name": "datasource",
            "label": "Data source",
            "type": "datasource",
            "query": "prometheus",
            "current": {},
        }),
        label_values("job", "Job", &format!("label_values({build}, job)")),
        label_values(
            "instance",
            "Instance",
            &format!(r#"label_values({build}{{job=~"$job"}}, instance)"#),
        ),
        label_values(
            "model",
            "Model",
            &format!("label_values({requests}{{{WHERE}}}, model)"),
        ),
        window(),
    ]
}

fn label_values(name: &str, label: &str, query: &str) -> Value {
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": datasource(),
        "query": { "query": query, "refId": "Variable" },
        "refresh": 2,
        "sort": 1,
        "multi": true,
        "includeAll": true,
        "allValue": ".+",
        "current": { "text": ["All"], "value": ["$__all"] },
    })
}

fn window() -> Value {
    let ranges = ["1m", "5m", "15m", "1h", "6h"];
    let options: Vec<Value> = ranges
        .iter()
        .map(|range| json!({ "text": range, "value": range, "selected": *range == "15m" }))
        .collect();
    json!({
        "name": "window",
        "label": "Window of quantiles",
        "type": "custom",
        "query": ranges.join(","),
        "options": options,
        "current": { "text": "15m", "value": "15m" },
    })
}

// Panels

fn panels() -> Vec<Panel> {
    let mut panels = overview();
    panels.extend([
        quantiles("Time to first token", &metric::TIME_TO_FIRST_TOKEN),
        ttft_by_shape(),
        quantiles("Time per output token", &metric::TIME_PER_OUTPUT_TOKEN),
        quantiles("Inter-token latency", &metric::INTER_TOKEN_LATENCY),
        quantiles("Gap between bursts", &metric::INTER_BURST_LATENCY),
        quantiles("Largest stall of a request", &metric::MAX_STALL),
        behind_the_quantiles(),
    ]);
    panels.extend(traffic());
    panels.push(proxy_delay());
    panels
}

fn overview() -> Vec<Panel> {
    let stat = |title: &str, description: &str, unit, query| Panel {
        kind: PanelKind::Stat,
        title: title.to_owned(),
        description: description.to_owned(),
        unit,
        targets: vec![Target {
            query,
            legend: String::new(),
        }],
        size: (6, 4),
    };
    let requests = metric::REQUESTS.full_name();
    vec![
        stat(
            "Requests",
            "Requests that ended, a second.",
            PanelUnit::RequestsPerSecond,
            format!("sum(rate({requests}{{{WHERE_MODEL}}}[{RATE}]))"),
        ),
        stat(
            "Failed",
            "Share of the requests that ended whose outcome isn't ok.",
            PanelUnit::Share,
            format!(
                r#"sum(rate({requests}{{{WHERE_MODEL},outcome!="ok"}}[{RATE}])) / sum(rate({requests}{{{WHERE_MODEL}}}[{RATE}]))"#
            ),
        ),
        stat(
            "Longest wait for a first token",
            "How long the request that has waited longest for its first token has waited so far. Empty while none waits.",
            PanelUnit::Seconds,
            largest(&metric::OLDEST_REQUEST_WITHOUT_TOKEN),
        ),
        stat(
            "Engine silent",
            "Time since the engine's last byte while a request is open.",
            PanelUnit::Seconds,
            largest(&metric::ENGINE_SILENT),
        ),
    ]
}

fn largest(gauge: &Family) -> String {
    format!("max({}{{{WHERE}}})", gauge.full_name())
}

/// Three quantiles by model.
fn quantiles(title: &str, family: &Family) -> Panel {
    let target = |(level, name, least): (&str, &str, u32)| Target {
        query: Quantile {
            family,
            level,
            by: &[metric::MODEL],
            matchers: WHERE_MODEL,
            range: WINDOW,
        }
        .from_at_least(least),
        legend: format!("{name} {{{{model}}}}"),
    };
    Panel {
        kind: PanelKind::TimeSeries,
        title: title.to_owned(),
        description: format!("{} Metric: {}.", family.help, family.full_name()),
        unit: PanelUnit::Seconds,
        targets: LEVELS.map(target).into(),
        size: (12, 8),
    }
}

fn ttft_by_shape() -> Panel {
    let family = &metric::TIME_TO_FIRST_TOKEN;
    let query = Quantile {
        family,
        level: "0.95",
        by: &[metric::INPUT_LEN, metric::CONCURRENCY],
        matchers: WHERE_MODEL,
        range: WINDOW,
    };
    Panel {
        kind: PanelKind::TimeSeries,
        title: "Time to first token, p95 by prompt length and concurrency".to_owned(),
        description: format!(
            "The same requests apart by prompt tokens and by requests in flight at arrival: a slow cell is not hidden by a fast one. Metric: {}.",
            family.full_name()
        ),
        unit: PanelUnit::Seconds,
        targets: vec![Target {
            query: query.from_at_least(P95_LEAST),
            legend: "{{input_len}} tokens, {{concurrency}} in flight".to_owned(),
        }],
        size: (12, 8),
    }
}

fn behind_the_quantiles() -> Panel {
    let observations = |family| {
        let quantile = Quantile {
            family,
            level: "0.5",
            by: &[metric::MODEL],
            matchers: WHERE_MODEL,
            range: WINDOW,
        };
        quantile.observations().to_string()
    };
    Panel {
        kind: PanelKind::TimeSeries,
        title: "Observations in the window".to_owned(),
        description: "What the quantiles rest on. Where these are too few, widen the window."
            .to_owned(),
        unit: PanelUnit::Number,
        targets: vec![
            Target {
                query: observations(&metric::TIME_TO_FIRST_TOKEN),
                legend: "first tokens {{model}}".to_owned(),
            },
            Target {
                query: observations(&metric::INTER_BURST_LATENCY),
                legend: "gaps {{model}}".to_owned(),
            },
        ],
        size: (12, 8),
    }
}

fn traffic() -> Vec<Panel> {
    let series = |title: &str, family: &Family, unit, target| Panel {
        kind: PanelKind::TimeSeries,
        title: title.to_owned(),
        description: format!("{} Metric: {}.", family.help, family.full_name()),
        unit,
        targets: vec![target],
        size: (12, 8),
    };
    let rate = |family: &Family, by: &str| Target {
        query: format!(
            "sum by ({by}) (rate({}{{{WHERE_MODEL}}}[{RATE}]))",
            family.full_name()
        ),
        legend: format!("{{{{{by}}}}}"),
    };
    let per_second = PanelUnit::RequestsPerSecond;
    vec![
        series(
            "In flight",
            &metric::IN_FLIGHT_REQUESTS,
            PanelUnit::Number,
            Target {
                query: format!(
                    "sum by (phase) ({}{{{WHERE}}})",
                    metric::IN_FLIGHT_REQUESTS.full_name()
                ),
                legend: "{{phase}}".to_owned(),
            },
        ),
        series(
            "Requests by outcome",
            &metric::REQUESTS,
            per_second,
            rate(&metric::REQUESTS, metric::OUTCOME),
        ),
        series(
            "Requests without a first token",
            &metric::REQUESTS_WITHOUT_FIRST_TOKEN,
            per_second,
            rate(&metric::REQUESTS_WITHOUT_FIRST_TOKEN, metric::REASON),
        ),
        series(
            "Output tokens",
            &metric::OUTPUT_TOKENS_TOTAL,
            PanelUnit::TokensPerSecond,
            rate(&metric::OUTPUT_TOKENS_TOTAL, metric::MODEL),
        ),
    ]
}

fn proxy_delay() -> Panel {
    let family = &metric::PROXY_DELAY;
    let target = |(level, name, least): (&str, &str, u32)| Target {
        query: Quantile {
            family,
            level,
            by: &["instance"],
            matchers: WHERE,
            range: WINDOW,
        }
        .from_at_least(least),
        legend: format!("{name} {{{{instance}}}}"),
    };
    Panel {
        kind: PanelKind::TimeSeries,
        title: "Delay added by the proxy".to_owned(),
        description: format!("{} Metric: {}.", family.help, family.full_name()),
        unit: PanelUnit::Seconds,
        targets: LEVELS.map(target).into(),
        size: (12, 8),
    }
}
