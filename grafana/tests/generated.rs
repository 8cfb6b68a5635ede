//! The generated files: current, sound by the rules of Grafana's dashboard linter, and of families that exist.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use exporter::catalogue::{self, Family, Kind};
use grafana::{Rule, dashboard, generated, rules};
use measure::Outcome;
use promql_parser::label::Matcher;
use promql_parser::parser::{self, Expr, LabelModifier, VectorSelector};
use promql_parser::util::{ExprVisitor, walk_expr};
use serde_json::Value;

/// Labels that Prometheus puts on, and the bucket's.
const OTHERS_LABELS: [&str; 3] = ["job", "instance", "le"];

/// A query with values for Grafana's macros and variables.
fn filled_in(query: &str) -> String {
    query
        .replace("$__rate_interval", "1m")
        .replace("$window", "5m")
        .replace("$job", ".+")
        .replace("$instance", ".+")
        .replace("$model", ".+")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("{key} is a list in {value}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} is a text in {value}"))
}

/// Title of the panel, and query, of every target.
fn panel_queries() -> Vec<(String, String)> {
    let dashboard = dashboard();
    let mut queries = Vec::new();
    for panel in list(&dashboard, "panels") {
        for target in list(panel, "targets") {
            queries.push((
                text(panel, "title").to_owned(),
                text(target, "expr").to_owned(),
            ));
        }
    }
    queries
}

fn rule_queries() -> Vec<(String, String)> {
    let named = |rule: Rule| match rule {
        Rule::Record(record) => (record.record, record.expr),
        Rule::Alert(alert) => (alert.alert.to_owned(), alert.expr),
    };
    rules()
        .groups
        .into_iter()
        .flat_map(|group| group.rules)
        .map(named)
        .collect()
}

/// What a query reads, and under what.
#[derive(Default)]
struct Read {
    selectors: Vec<VectorSelector>,
    grouped_by: BTreeSet<String>,
    under_rate: BTreeSet<String>,
}

impl ExprVisitor for Read {
    type Error = String;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, String> {
        let modifier = match expr {
            Expr::VectorSelector(selector) => {
                self.selectors.push(selector.clone());
                None
            }
            Expr::MatrixSelector(matrix) => {
                self.selectors.push(matrix.vs.clone());
                self.under_rate.extend(matrix.vs.name.clone());
                None
            }
            Expr::Aggregate(aggregate) => aggregate.modifier.as_ref(),
            Expr::Binary(binary) => binary
                .modifier
                .as_ref()
                .and_then(|modifier| modifier.matching.as_ref()),
            _ => None,
        };
        if let Some(LabelModifier::Include(labels) | LabelModifier::Exclude(labels)) = modifier {
            self.grouped_by.extend(labels.labels.iter().cloned());
        }
        Ok(true)
    }
}

fn read(query: &str) -> Read {
    let expr = parser::parse(&filled_in(query)).unwrap_or_else(|error| panic!("{error}: {query}"));
    let mut read = Read::default();
    walk_expr(&mut read, &expr).expect("the visitor finds no fault");
    read
}

/// The family of a series' name.
fn family(series: &str) -> Option<&'static Family> {
    catalogue::ALL.iter().copied().find(|family| {
        let name = family.full_name();
        match family.kind {
            Kind::Histogram(_) => {
                series == name
                    || ["_bucket", "_count", "_sum"]
                        .iter()
                        .any(|suffix| series.strip_suffix(suffix) == Some(&name))
            }
            _ => series == name,
        }
    })
}

// Every query

#[test]
fn every_query_is_of_families_and_labels_of_the_catalogue() {
    for (whose, query) in panel_queries().into_iter().chain(rule_queries()) {
        let read = read(&query);
        assert!(!read.selectors.is_empty(), "{whose}: reads nothing");
        for selector in &read.selectors {
            let name = selector
                .name
                .as_deref()
                .expect("a selector names its metric");
            let family = family(name).unwrap_or_else(|| panic!("{whose}: {name} is no family"));
            let known =
                |label: &str| family.labels.contains(&label) || OTHERS_LABELS.contains(&label);
            for Matcher { name: label, .. } in &selector.matchers.matchers {
                assert!(known(label), "{whose}: {name} has no label {label}");
            }
            for label in &read.grouped_by {
                assert!(known(label), "{whose}: {name} has no label {label}");
            }
        }
    }
}

#[test]
fn counters_are_read_as_rates() {
    for (whose, query) in panel_queries().into_iter().chain(rule_queries()) {
        let read = read(&query);
        for selector in &read.selectors {
            let name = selector
                .name
                .as_deref()
                .expect("a selector names its metric");
            let kind = family(name).expect("a family").kind;
            if matches!(kind, Kind::Counter | Kind::Histogram(_)) {
                assert!(
                    read.under_rate.contains(name),
                    "{whose}: {name} is read without a range"
                );
            }
        }
    }
}

#[test]
fn outcomes_in_matchers_exist() {
    let known = Outcome::ALL.map(Outcome::as_str);
    let mut seen = 0;
    for (whose, query) in panel_queries().into_iter().chain(rule_queries()) {
        for selector in read(&query).selectors {
            let outcomes = selector
                .matchers
                .matchers
                .iter()
                .filter(|matcher| ["outcome", "reason"].contains(&matcher.name.as_str()))
                .flat_map(|matcher| matcher.value.split('|'));
            for outcome in outcomes {
                assert!(known.contains(&outcome), "{whose}: {outcome} is no outcome");
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no matcher was looked at");
}

// The dashboard

#[test]
fn every_panel_says_what_it_shows() {
    let dashboard = dashboard();
    let mut ids = BTreeSet::new();
    for panel in list(&dashboard, "panels") {
        let title = text(panel, "title");
        assert!(ids.insert(panel["id"].as_u64()), "{title}: its id is taken");
        assert!(
            !text(panel, "description").is_empty(),
            "{title}: no description"
        );
        assert!(
            !text(&panel["fieldConfig"]["defaults"], "unit").is_empty(),
            "{title}: no unit"
        );
        assert!(!list(panel, "targets").is_empty(), "{title}: no query");
        assert_eq!(
            text(&panel["datasource"], "uid"),
            "${datasource}",
            "{title}"
        );
        for target in list(panel, "targets") {
            assert_eq!(
                text(&target["datasource"], "uid"),
                "${datasource}",
                "{title}"
            );
        }
    }
}

#[test]
fn every_panel_follows_the_variables() {
    for (title, query) in panel_queries() {
        for selector in read(&query).selectors {
            let matchers: Vec<&str> = selector
                .matchers
                .matchers
                .iter()
                .map(|matcher| matcher.name.as_str())
                .collect();
            let name = selector.name.expect("a selector names its metric");
            for label in ["job", "instance"] {
                assert!(
                    matchers.contains(&label),
                    "{title}: {name} ignores ${label}"
                );
            }
            let by_model = family(&name).expect("a family").labels.contains(&"model");
            assert!(
                !by_model || matchers.contains(&"model"),
                "{title}: {name} ignores $model"
            );
        }
        for window in query.split('[').skip(1) {
            let fits = window.starts_with("$__rate_interval]") || window.starts_with("$window]");
            assert!(fits, "{title}: a fixed range in {query}");
        }
    }
}

#[test]
fn variables_are_read_again_when_the_time_changes() {
    let dashboard = dashboard();
    let variables = list(&dashboard["templating"], "list");
    let names: Vec<&str> = variables
        .iter()
        .map(|variable| text(variable, "name"))
        .collect();
    assert_eq!(names, ["datasource", "job", "instance", "model", "window"]);
    for variable in variables
        .iter()
        .filter(|variable| variable["type"] == "query")
    {
        assert_eq!(variable["refresh"], 2, "{variable}");
        let query = text(&variable["query"], "query");
        let name = query
            .trim_start_matches("label_values(")
            .split(['{', ','])
            .next();
        assert!(family(name.expect("a name")).is_some(), "{query}");
    }
    assert_eq!(variables[0]["current"], serde_json::json!({}));
    assert_eq!(dashboard["editable"], false);
}

#[test]
fn panels_lie_side_by_side_on_the_grid() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    for panel in list(&dashboard, "panels") {
        let at = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
        assert!(
            at("x") + at("w") <= 24,
            "{} is too wide",
            text(panel, "title")
        );
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(
                    taken.insert((x, y)),
                    "{} lies on another",
                    text(panel, "title")
                );
            }
        }
    }
}

// The files

#[test]
fn the_committed_files_are_current() {
    for file in generated().expect("they can be written") {
        let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), file.path);
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == file.text,
            "{} is not what the catalogue says: run `cargo run -p grafana --example generate`",
            file.path
        );
    }
}
