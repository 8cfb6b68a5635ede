//! Every metric family, declared once: name, unit, type, labels, bucket edges, stability, help.
//!
//! The exposition, METRICS.md, the dashboards and the rules all take their names from here, so that a renamed family is a
//! compile error or a failing test and never an empty panel.
//!
//! Invariants: base units (seconds, tokens); a name holds neither prefix nor unit nor `_total`; no label value is a client's
//! free text. A series is absent where nothing was observed: absence is never written as 0 (see [`Family::absent`]).

mod edges;
mod families;

pub use edges::{
    ARRIVALS, CONNECT, DIFFERENCE, DURATION, GAP, INPUT_TOKENS, OUTPUT_TOKENS, OWN_DELAY, TPOT,
    TTFT, UPLOAD,
};
pub use families::*;

use prometheus_client::metrics::MetricType;

/// What every name begins with.
pub const PREFIX: &str = "loadproof";

/// Label: the model, from the configuration or the engine's own list, else `other`.
pub const MODEL: &str = "model";
/// Label: range of prompt tokens.
pub const INPUT_LEN: &str = "input_len";
/// Label: range of generated tokens.
pub const OUTPUT_LEN: &str = "output_len";
/// Label: range of the number of exchanges in flight at arrival.
pub const CONCURRENCY: &str = "concurrency";
/// Label: how an exchange ended.
pub const OUTCOME: &str = "outcome";
/// Label: `ok`, or whose doing the failure is: `client`, `engine`, `us`.
pub const OUTCOME_CLASS: &str = "outcome_class";
/// Label: the generating route.
pub const ENDPOINT: &str = "endpoint";
/// Label: what a route serves that is not measured.
pub const ROUTE: &str = "route";
/// Label: why.
pub const REASON: &str = "reason";
/// Label: what kind of thing.
pub const KIND: &str = "kind";
/// Label: how something went.
pub const RESULT: &str = "result";
/// Label: which quantity is compared.
pub const QUANTITY: &str = "quantity";
/// Label: whether our figure is the longer or the shorter one.
pub const OURS: &str = "ours";
/// Label of every series where the engine has several ports: which of them.
pub const ENGINE_PORT: &str = "engine_port";
/// Label: where a token count comes from.
pub const SOURCE: &str = "source";

/// One metric family.
#[derive(Debug)]
pub struct Family {
    /// Name without prefix, unit and type suffix.
    pub name: &'static str,
    /// Base unit; it is part of the exported name.
    pub unit: Option<Unit>,
    /// Counter, gauge, histogram.
    pub kind: Kind,
    /// Label names, in the order in which they are written.
    pub labels: &'static [&'static str],
    /// Whether the name may still change.
    pub stability: Stability,
    /// What is counted or measured; one line.
    pub help: &'static str,
    /// When a series isn't there, and what that means; one line.
    pub absent: &'static str,
}

/// Base unit of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Tokens.
    Tokens,
}

/// Type of a family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only rises; begins at 0 with the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Constant 1; the labels are the value.
    Info,
    /// Distribution.
    Histogram(Buckets),
}

/// How a distribution is bucketed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buckets {
    /// Classic edges: inclusive upper bounds, ascending.
    pub edges: &'static [f64],
    /// What the configuration adds to them.
    pub added: Added,
    /// Which forms are exported.
    pub form: Form,
}

/// Edges that the configuration adds to a family's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// None.
    Nothing,
    /// The targets for the time to the first token.
    TtftTargets,
    /// The targets for the time per output token.
    TpotTargets,
    /// The targets for the whole request.
    E2eTargets,
}

/// Forms of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Classic buckets alone: for quantities that may be 0.
    Classic,
    /// Classic buckets, and a native histogram where the scraper takes protobuf.
    ClassicAndNative,
}

/// How much a name may be relied upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stability {
    /// Kept, or renamed with both names exported for one minor version.
    Stable,
    /// May change with any version.
    Experimental,
}

impl Family {
    /// The name as written in an exposition and in PromQL, without `_bucket`, `_sum`, `_count`.
    pub fn full_name(&self) -> String {
        let unit = self
            .unit
            .map_or(String::new(), |unit| format!("_{}", unit.as_str()));
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram(_) => "",
        };
        format!("{PREFIX}_{}{unit}{suffix}", self.name)
    }

    /// The histogram's buckets; `None` for the other types.
    pub fn buckets(&self) -> Option<&Buckets> {
        match &self.kind {
            Kind::Histogram(buckets) => Some(buckets),
            Kind::Counter | Kind::Gauge | Kind::Info => None,
        }
    }

    /// The type as the encoder spells it.
    pub(crate) fn metric_type(&self) -> MetricType {
        match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Info => MetricType::Info,
            Kind::Histogram(_) => MetricType::Histogram,
        }
    }
}

impl Unit {
    /// The unit as it stands in the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Tokens => "tokens",
        }
    }

    /// The unit as the encoder takes it.
    pub(crate) fn registered(self) -> prometheus_client::registry::Unit {
        match self {
            Self::Seconds => prometheus_client::registry::Unit::Seconds,
            Self::Tokens => prometheus_client::registry::Unit::Other("tokens".to_owned()),
        }
    }
}

impl Kind {
    /// The type's name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
            Self::Histogram(_) => "histogram",
        }
    }
}

impl Stability {
    /// The level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Experimental => "experimental",
        }
    }
}

#[cfg(test)]
mod tests;
