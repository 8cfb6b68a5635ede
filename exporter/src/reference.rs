//! METRICS.md, written from the catalogue.
//!
//! `cargo run -p exporter --example metrics_md` writes the file; a test fails when it is not current.

use std::fmt::{self, Write};

use crate::catalogue::{self, Added, Form};
use crate::query::{self, Quantile};
use crate::{DEFAULT_MAX_CELLS, MODEL_NAME_BYTES, MODELS_MAX, TARGETS_MAX};

/// The whole page, in Markdown.
///
/// # Errors
/// Writing to a string doesn't fail.
pub fn markdown() -> Result<String, fmt::Error> {
    let mut page = String::from(HEAD);
    families(&mut page)?;
    labels(&mut page)?;
    edges(&mut page)?;
    page.push_str(DEFINITIONS);
    queries(&mut page)?;
    page.push_str(FORMS);
    Ok(page)
}

const HEAD: &str = "# Metrics

<!-- Written by `cargo run -p exporter --example metrics_md`. Change the catalogue, not this page. -->

Every metric that loadproof exports, on its own listener and never on the serving port, where the engine's `/metrics`
passes through unchanged. Durations are in seconds. A value that does not exist is absent, never 0.

Stable: the name stays, or is exported under both names for one minor version. Experimental: may change with any version.
";

const DEFINITIONS: &str = "
## Definitions

One clock, read once per read from the engine. Tokens that complete in one read form one **burst** and share its stamp.
Latency begins when the last byte of the request has been handed to the engine, which can't start earlier; connecting and
uploading are apart, in `loadproof_request_upload_seconds`.

| word | is | has no value |
| --- | --- | --- |
| TTFT | first token − last byte of the request. A token is generated text, reasoning or tool call; a role, a heartbeat or a usage event is none | no token came: the request is in `loadproof_requests_without_first_token_total`. The answer was not streamed, or could not be read: nowhere |
| TTFA | the same to the first token of the answer, reasoning excluded | only reasoning came |
| TPOT | (last token − first token) / (output tokens − tokens of the first burst), one value a request | fewer than two bursts; the request failed; the client set the pace |
| gap | one burst − the burst before | fewer than two bursts; the client set the pace |
| inter-token latency | a gap before a burst of n tokens counts n times, at gap/n | the engine does not say how many tokens an event carries |
| duration | end − last byte of the request | never, but only `outcome_class=\"ok\"` is a time to completion |

TPOT weighs requests equally and hides stalls; gaps weigh tokens and show them; the largest gap of each request is
`loadproof_max_stall_seconds`.

A request without a first token is over any target. The share within a target T that is a bucket edge is therefore

```text
sum(rate(loadproof_time_to_first_token_seconds_bucket{le=\"T\"}[5m]))
  / (sum(rate(loadproof_time_to_first_token_seconds_count[5m])) + sum(rate(loadproof_requests_without_first_token_total[5m])))
```

with `le` written as your server stores it: `1` from the text and protobuf forms, `1.0` from OpenMetrics.
";

const FORMS: &str = "
## Forms

| a scraper that accepts | gets |
| --- | --- |
| `application/vnd.google.protobuf` (delimited `io.prometheus.client.MetricFamily`) | protobuf: classic and native histograms |
| `application/openmetrics-text`, version 1.0.0 or 0.0.1 | OpenMetrics text: classic histograms |
| anything else | Prometheus text 0.0.4: classic histograms |

Native histograms have schema 5: buckets 2.19 % wide, whatever the spread. Prometheus 3 asks for them with
`scrape_native_histograms: true` and keeps the classic buckets beside them with `always_scrape_classic_histograms: true`;
Prometheus 2.40 and newer asks with `--enable-feature=native-histograms` and drops the classic ones. Where native
histograms are stored there are no `_bucket`, `_sum` and `_count` series: use the query above, `histogram_count` and
`histogram_fraction`.

Gaps are counted within the exchange in the same native buckets, so that their native form is exact; in the classic form
a gap within 1.1 % of an edge may count on its other side. All other values are exact in both.
";

fn families(page: &mut String) -> fmt::Result {
    for (title, wanted) in [
        ("Histograms", "histogram"),
        ("Counters", "counter"),
        ("Gauges", "gauge"),
        ("Information", "info"),
    ] {
        writeln!(page, "\n## {title}\n")?;
        writeln!(
            page,
            "| name | unit | labels | meaning | absent | stability |"
        )?;
        writeln!(page, "| --- | --- | --- | --- | --- | --- |")?;
        for family in catalogue::ALL
            .iter()
            .filter(|family| family.kind.as_str() == wanted)
        {
            let labels: Vec<String> = family
                .labels
                .iter()
                .map(|label| format!("`{label}`"))
                .collect();
            writeln!(
                page,
                "| `{}` | {} | {} | {} | {} | {} |",
                family.full_name(),
                family.unit.map_or("–", catalogue::Unit::as_str),
                if labels.is_empty() {
                    "–".to_owned()
                } else {
                    labels.join(", ")
                },
                family.help,
                family.absent,
                family.stability.as_str(),
            )?;
        }
    }
    Ok(())
}

fn labels(page: &mut String) -> fmt::Result {
    write!(
        page,
        "
## Labels

No label value is a client's text.

| label | values |
| --- | --- |
| `model` | a name of the configuration or of the engine's own list, at most {MODELS_MAX} of at most {MODEL_NAME_BYTES} bytes, else `other` |
| `input_len`, `output_len` | range of tokens by the configured edges, such as `257-1024`; `unknown`; `overflow` |
| `concurrency` | range of requests in flight at arrival, itself excluded; `overflow` |
| `outcome`, `reason` of requests without a first token | a closed set: {} |
| `outcome_class` | `ok`, or whose doing the failure is: `client`, `engine`, `us` |
| `endpoint` | the generating route |
| `source` | of a token count: `usage` (stated for the whole), `continuous` (running usage), `ids`, `logprobs`, `counter` (the engine's own), `headers` (of the response), `events` (proven by events), `unknown` |
| `reason` of unmeasured exchanges | {} |
| `route` | a closed set of the proxy, all there from the start: what a route serves that no tokens answer; `other` |
| `reason` of rejected requests, `kind` | closed sets of the proxy, all there from the start; `other` |
| `phase` | `prefill` (no token yet), `decode` |
| `{}` | only where the engine has several ports (`upstream.url` with a range): which of them, in every series but those of the whole process (`{}`, `{}`, `{}`); at most 16 |

A combination of shape labels appears when it is first observed. Each family has at most `shape.max_cells` of them
({DEFAULT_MAX_CELLS} if not set otherwise), for each port of the engine; what comes later goes to the `overflow` cell of its model, and is counted in
`{}`.
",
        code_list(measure::Outcome::ALL.map(measure::Outcome::as_str)),
        code_list(crate::Unmeasured::ALL.map(crate::Unmeasured::as_str)),
        catalogue::ENGINE_PORT,
        catalogue::CERTIFICATES_REFUSED.full_name(),
        catalogue::SLO_TARGET.full_name(),
        catalogue::BUILD.full_name(),
        catalogue::LABEL_OVERFLOW.full_name(),
    )
}

fn code_list<const N: usize>(values: [&str; N]) -> String {
    values.map(|value| format!("`{value}`")).join(", ")
}

fn edges(page: &mut String) -> fmt::Result {
    write!(
        page,
        "
## Bucket edges

Inclusive upper bounds of the classic buckets; `+Inf` comes on top. The latency edges contain all that vLLM exports for the
same quantity. Each configured target (at most {TARGETS_MAX} a metric) is an edge too: those for TTFT of the histograms of
TTFT and TTFA, those for TPOT and for the whole request of theirs.

| histogram | edges | targets added | native |
| --- | --- | --- | --- |
"
    )?;
    for family in catalogue::ALL {
        let Some(buckets) = family.buckets() else {
            continue;
        };
        let edges: Vec<String> = buckets.edges.iter().map(f64::to_string).collect();
        let added = match buckets.added {
            Added::Nothing => "–",
            Added::TtftTargets => "TTFT",
            Added::TpotTargets => "TPOT",
            Added::E2eTargets => "whole request",
        };
        let native = match buckets.form {
            Form::Classic => "no",
            Form::ClassicAndNative => "yes",
        };
        writeln!(
            page,
            "| `{}` | {} | {added} | {native} |",
            family.full_name(),
            edges.join(" ")
        )?;
    }
    Ok(())
}

fn queries(page: &mut String) -> fmt::Result {
    let p95 = |by| Quantile {
        family: &catalogue::TIME_TO_FIRST_TOKEN,
        level: "0.95",
        by,
        matchers: "",
        range: "5m",
    };
    write!(
        page,
        "
## Queries

p95 of TTFT by model. The first half reads native histograms, the second classic ones, so that one query works on every
server:

```text
{}
```

By input length and concurrency:

```text
{}
```

Below some hundred requests in the range a p95 says little; the rules and dashboards that come with loadproof leave it out
below {}.
",
        p95(&[catalogue::MODEL]),
        p95(&[catalogue::INPUT_LEN, catalogue::CONCURRENCY]),
        query::P95_LEAST,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_md_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../METRICS.md");
        let committed = std::fs::read_to_string(path).expect("METRICS.md can be read");
        assert!(
            committed == markdown().expect("it can be written"),
            "METRICS.md is not what the catalogue says: run `cargo run -p exporter --example metrics_md`"
        );
    }

    #[test]
    fn the_page_names_every_family_and_no_other() {
        let page = markdown().expect("it can be written");
        let known: Vec<String> = catalogue::ALL
            .iter()
            .map(|family| family.full_name())
            .collect();
        for name in &known {
            assert!(page.contains(&format!("| `{name}` |")), "{name} has no row");
        }
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        for (at, _) in page.match_indices("loadproof_") {
            let name: String = page[at..].chars().take_while(|&c| is_part(c)).collect();
            let base = ["_bucket", "_count", "_sum"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(&name);
            assert!(
                known.iter().any(|known| known == base),
                "{name} is no family"
            );
        }
    }
}
