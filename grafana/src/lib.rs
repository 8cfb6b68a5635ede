//! Grafana dashboard and Prometheus rules, generated from the metric catalogue.
//!
//! `cargo run -p grafana --example generate` writes `grafana/dashboards/` and `grafana/rules/`; a test fails when
//! they are not current. Every query takes its names from [`exporter::catalogue`], so that a renamed family can't leave an
//! empty panel behind, and reads native and classic histograms alike.
//!
//! What a quantile may rest on is part of its query: below [`exporter::query::P50_LEAST`], [`exporter::query::P95_LEAST`]
//! or [`exporter::query::P99_LEAST`] observations in the window it is left out.

mod dashboard;
mod generated;
mod panel;
mod rules;

pub use dashboard::dashboard;
pub use generated::{Error, Generated, generated};
pub use rules::{Alert, Group, Record, Rule, Rules, rules};
