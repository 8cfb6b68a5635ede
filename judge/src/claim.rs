//! A public number beside a measured one: whose load produced it, does it hold together, and how far did it move?
//!
//! A public number is a hypothesis. It is never part of a like-for-like comparison: a claim has this type of its own, which
//! nothing that judges takes.

use std::fmt;

/// Relative difference of a condition above which it is another one.
const DIVERGENT: f64 = 0.25;
/// By how much a stated throughput may exceed what its own figures allow.
const ROUNDING: f64 = 1.02;
/// Relative difference above which stated figures contradict each other: published ones are rounded.
const CONTRADICTION: f64 = 0.05;

/// Conditions that a figure depends on. `None` is unstated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Prompt tokens.
    pub input_len: Option<f64>,
    /// Generated tokens.
    pub output_len: Option<f64>,
    /// Batch size.
    pub batch_size: Option<f64>,
    /// Precision, as a name.
    pub precision: Option<String>,
    /// Requests at once.
    pub concurrency: Option<f64>,
}

/// Which of the [`Conditions`], in the order of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Prompt tokens.
    InputLen,
    /// Generated tokens.
    OutputLen,
    /// Batch size.
    BatchSize,
    /// Precision.
    Precision,
    /// Requests at once.
    Concurrency,
}

/// A published figure with what is said about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Claim {
    /// Its conditions.
    pub conditions: Conditions,
    /// What kind of figure it is: "mean", "p95", "up to".
    pub statistic: Option<String>,
    /// Output tokens per second.
    pub tok_s: Option<f64>,
    /// Requests per second.
    pub req_s: Option<f64>,
    /// Time to first token.
    pub ttft_ms: Option<f64>,
    /// Time per output token.
    pub tpot_ms: Option<f64>,
    /// End to end.
    pub e2e_ms: Option<f64>,
}

/// How a claim's conditions relate to measured ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label {
    /// Some are unstated: the figure bounds a favourable configuration, and predicts nothing.
    UpperBound(Vec<Condition>),
    /// All are stated, some are others.
    DifferentConditions(Vec<Condition>),
    /// All are stated and near.
    Comparable,
}

/// Does a claim agree with itself? `None` where an ingredient is not stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Consistency {
    /// Most output tokens per second at the stated TPOT: n·1000/TPOT, n the concurrency, else the batch size.
    pub tok_s_cap: Option<f64>,
    /// The stated throughput is within that.
    pub tok_s: Option<bool>,
    /// e2e is TTFT + (N − 1)·TPOT.
    pub e2e: Option<bool>,
    /// Requests per second times output tokens are the throughput.
    pub req_s: Option<bool>,
}

/// What has become of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// No run exists yet.
    Hypothesis,
    /// There was a run, which did not measure it.
    NotRemeasured,
    /// It lies in the measured interval.
    Confirmed,
    /// It does not.
    Moved,
}

// Condition

impl Condition {
    /// All, in the order of a report.
    pub const ALL: [Self; 5] = [
        Self::InputLen,
        Self::OutputLen,
        Self::BatchSize,
        Self::Precision,
        Self::Concurrency,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputLen => "input_len",
            Self::OutputLen => "output_len",
            Self::BatchSize => "batch_size",
            Self::Precision => "precision",
            Self::Concurrency => "concurrency",
        }
    }
}

// Conditions

impl Conditions {
    /// Those that are not stated.
    pub fn unstated(&self) -> Vec<Condition> {
        let stated = |condition: &Condition| match condition {
            Condition::Precision => self.precision.is_some(),
            other => self.number(*other).is_some(),
        };
        let unstated = Condition::ALL.into_iter().filter(|one| !stated(one));
        unstated.collect()
    }

    /// Those that are stated on both sides and differ: a number by more than a quarter, precision at all.
    pub fn divergent(&self, measured: &Self) -> Vec<Condition> {
        let diverges = |condition: &Condition| match condition {
            Condition::Precision => self.same_precision(measured).is_some_and(|same| !same),
            other => self
                .number(*other)
                .zip(measured.number(*other))
                .is_some_and(|(claimed, measured)| (measured / claimed - 1.0).abs() > DIVERGENT),
        };
        Condition::ALL.into_iter().filter(diverges).collect()
    }

    /// How near one condition is to the measured one: min(m/c, c/m); 1 or 0 for precision. `None` if unstated.
    pub fn resemblance(&self, measured: &Self, condition: Condition) -> Option<f64> {
        if condition == Condition::Precision {
            let same = self.same_precision(measured)?;
            return Some(f64::from(u8::from(same)));
        }
        let (claimed, measured) = (self.number(condition)?, measured.number(condition)?);
        Some((measured / claimed).min(claimed / measured))
    }

    /// How they relate to measured ones.
    pub fn label(&self, measured: &Self) -> Label {
        let (unstated, divergent) = (self.unstated(), self.divergent(measured));
        if !unstated.is_empty() {
            Label::UpperBound(unstated)
        } else if !divergent.is_empty() {
            Label::DifferentConditions(divergent)
        } else {
            Label::Comparable
        }
    }

    fn number(&self, condition: Condition) -> Option<f64> {
        match condition {
            Condition::InputLen => self.input_len,
            Condition::OutputLen => self.output_len,
            Condition::BatchSize => self.batch_size,
            Condition::Concurrency => self.concurrency,
            Condition::Precision => None,
        }
    }

    fn same_precision(&self, measured: &Self) -> Option<bool> {
        let (claimed, measured) = (self.precision.as_ref()?, measured.precision.as_ref()?);
        Some(claimed.to_lowercase() == measured.to_lowercase())
    }
}

// Claim

impl Claim {
    /// The figure is no quantile: absent, a mean, a peak, "up to". Not decision-grade for a latency-bound service.
    pub fn warns_of_statistic(&self) -> bool {
        self.statistic.as_ref().is_none_or(|statistic| {
            let statistic = statistic.trim().to_lowercase();
            matches!(statistic.as_str(), "mean" | "peak" | "up to")
        })
    }

    /// Whether it agrees with itself.
    pub fn consistency(&self) -> Consistency {
        let at_once = self.conditions.concurrency.or(self.conditions.batch_size);
        let tok_s_cap = at_once
            .zip(self.tpot_ms)
            .map(|(at_once, tpot_ms)| at_once * 1000.0 / tpot_ms);
        let near = |claimed: f64, computed: f64| (claimed / computed - 1.0).abs() <= CONTRADICTION;
        let e2e = || {
            let tokens = self.conditions.output_len?;
            let computed = self.ttft_ms? + (tokens - 1.0) * self.tpot_ms?;
            Some(near(self.e2e_ms?, computed))
        };
        let req_s = || {
            let tok_s = self.req_s? * self.conditions.output_len?;
            Some(near(tok_s, self.tok_s?))
        };
        Consistency {
            tok_s_cap,
            tok_s: self
                .tok_s
                .zip(tok_s_cap)
                .map(|(tok_s, cap)| tok_s <= ROUNDING * cap),
            e2e: e2e(),
            req_s: req_s(),
        }
    }
}

/// measured/claimed − 1.
pub fn moved_by(claimed: f64, measured: f64) -> f64 {
    measured / claimed - 1.0
}

// Status

impl Status {
    /// After a run: `measured` is the interval of the same figure, if it was measured. Its ends count as within.
    pub fn after_run(claimed: f64, measured: Option<crate::interval::Interval>) -> Self {
        match measured {
            None => Self::NotRemeasured,
            Some(interval) if interval.contains(claimed) => Self::Confirmed,
            Some(_) => Self::Moved,
        }
    }

    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hypothesis => "HYPOTHESIS",
            Self::NotRemeasured => "NOT RE-MEASURED",
            Self::Confirmed => "CONFIRMED",
            Self::Moved => "MOVED",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |conditions: &[Condition]| {
            let names: Vec<&str> = conditions.iter().map(|one| one.as_str()).collect();
            names.join(", ")
        };
        match self {
            Self::UpperBound(unstated) => write!(
                out,
                "UPPER BOUND, NOT A PREDICTION (unstated: {})",
                list(unstated)
            ),
            Self::DifferentConditions(divergent) => {
                write!(out, "DIFFERENT CONDITIONS ({})", list(divergent))
            }
            Self::Comparable => out.write_str("COMPARABLE"),
        }
    }
}
