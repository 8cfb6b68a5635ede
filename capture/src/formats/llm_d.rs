//! The llm-d Benchmark Report, version 0.2, of captured traffic: lengths, latencies and rates as one YAML document.
//!
//! Times are seconds. It is a summary: nothing can be replayed from it. Quantiles are nearest rank, over the exchanges that
//! ended well.

use jiff::{SignedDuration, Timestamp};
use judge::quantile::{Level, Sorted};
use serde_json::{Map, Value, json};

use super::{Entry, Export, Files, Format, FormatError, Trace};

pub(super) static LLM_D: Format = Format {
    name: "llm-d",
    says: "llm-d Benchmark Report 0.2 (YAML): a summary of lengths and latencies",
    export: Some(Export {
        text: false,
        blocks: None,
        time: "s",
        carries: &[
            "number of requests and failures",
            "distributions of lengths, TTFT, TPOT and duration",
            "rates",
        ],
        loses: &[
            "single requests: it is a summary",
            "arrivals",
            "shared prefixes",
            "sessions",
            "models",
        ],
        commands: include_str!("commands/llm-d.md"),
        write,
    }),
    import: None,
};

const LEVELS: [(&str, f64); 11] = [
    ("p0p1", 0.001),
    ("p1", 0.01),
    ("p5", 0.05),
    ("p10", 0.10),
    ("p25", 0.25),
    ("p50", 0.50),
    ("p75", 0.75),
    ("p90", 0.90),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99p9", 0.999),
];

fn write(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    let report = report(trace)?;
    let text =
        serde_saphyr::to_string(&report).map_err(|error| FormatError::Yaml(error.to_string()))?;
    for line in text.lines() {
        files.line("benchmark-report.yaml", line)?;
    }
    Ok(())
}

fn report(trace: &Trace) -> Result<Value, FormatError> {
    let end_ns = trace
        .entries
        .iter()
        .map(|entry| entry.at_ns + entry.e2e_ns.unwrap_or(0))
        .max()
        .unwrap_or(0);
    let at = |after_ns: u64| {
        let us = trace
            .start_us
            .saturating_add(i64::try_from(after_ns / 1000).unwrap_or(i64::MAX));
        Timestamp::from_microsecond(us)
            .map(|at| at.to_string())
            .map_err(|error| FormatError::File(error.to_string()))
    };
    let duration = SignedDuration::from_nanos(i64::try_from(end_ns).unwrap_or(i64::MAX));
    let failures = trace.entries.iter().filter(|entry| entry.failed).count();
    Ok(json!({
        "version": "0.2.1",
        "run": {
            "uid": trace.about.capture,
            "eid": "loadproof-capture",
            "time": { "start": at(0)?, "end": at(end_ns)?, "duration": format!("PT{}S", duration.as_secs_f64()) },
        },
        "results": { "request_performance": { "aggregate": {
            "requests": {
                "total": trace.entries.len(),
                "failures": failures,
                "input_length": distribution(trace, "tokens", |entry| entry.input.map(|tokens| tokens as f64)),
                "output_length": distribution(trace, "tokens", |entry| entry.output.map(|tokens| tokens as f64)),
            },
            "latency": {
                "time_to_first_token": distribution(trace, "s", |entry| entry.ttft_ns.map(|ns| ns as f64 / 1e9)),
                "time_per_output_token": distribution(trace, "s/token", |entry| entry.tpot_ns.map(|ns| ns / 1e9)),
                "request_latency": distribution(trace, "s", |entry| entry.e2e_ns.map(|ns| ns as f64 / 1e9)),
            },
            "throughput": throughput(trace, end_ns),
        } } },
    }))
}

fn throughput(trace: &Trace, end_ns: u64) -> Value {
    let seconds = end_ns as f64 / 1e9;
    let sum =
        |of: fn(&Entry) -> Option<u64>| trace.entries.iter().filter_map(of).sum::<u64>() as f64;
    let rate = |amount: f64, units: &str| json!({ "units": units, "mean": (seconds > 0.0).then(|| amount / seconds) });
    json!({
        "request_rate": rate(trace.entries.len() as f64, "queries/s"),
        "input_token_rate": rate(sum(|entry| entry.input), "tokens/s"),
        "output_token_rate": rate(sum(|entry| entry.output), "tokens/s"),
    })
}

/// The distribution of what exchanges that did not fail have of something; `null` if none has.
fn distribution(trace: &Trace, units: &str, of: impl Fn(&Entry) -> Option<f64>) -> Value {
    let sound = trace.entries.iter().filter(|entry| !entry.failed);
    let values = Sorted::new(sound.filter_map(of));
    let (Some(min), Some(max)) = (values.min(), values.max()) else {
        return Value::Null;
    };
    let count = values.len() as f64;
    let mean = values.as_slice().iter().sum::<f64>() / count;
    let variance = values
        .as_slice()
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    let figures = [("mean", mean), ("stddev", variance.sqrt()), ("min", min)];
    let mut parts = Map::from_iter([("units".to_owned(), units.into())]);
    parts.extend(figures.map(|(name, value)| (name.to_owned(), value.into())));
    for (name, level) in LEVELS {
        let value = Level::new(level)
            .ok()
            .and_then(|level| values.quantile(level));
        parts.insert(name.to_owned(), value.into());
    }
    parts.insert("max".to_owned(), max.into());
    Value::Object(parts)
}
