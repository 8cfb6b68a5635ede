//! What a criterion reads of an exchange: a value, or a bound that the value lies above.
//!
//! An exchange that ended before its value was determined is *censored* there. It never leaves the population, for that
//! would reward an engine for giving up on what it is slow at. A test reads it at one of two ends: the **infinite end**
//! takes it as longer than everything, the **value end** as what was seen. What has to be proven decides which: a PASS
//! must hold at the infinite end, a FAIL at the value end.

use measure::{Defined, Nanos, Record};

/// One value of a population, in the unit of the population.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The value, or the bound above which it lies.
    pub observed: f64,
    /// `observed` is only such a bound.
    pub censored: bool,
}

/// How censored values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// As longer than everything.
    Infinite,
    /// As what was seen of them.
    Value,
}

/// A latency that verdicts are about, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantity {
    /// Time to first token.
    Ttft,
    /// Time per output token.
    Tpot,
}

// Observation

impl Observation {
    /// A value that was determined.
    pub fn value(observed: f64) -> Self {
        Self {
            observed,
            censored: false,
        }
    }

    /// A bound.
    pub fn censored(observed: f64) -> Self {
        Self {
            observed,
            censored: true,
        }
    }

    /// As a number, at one of the ends.
    pub fn at(self, ending: Ending) -> f64 {
        match ending {
            Ending::Infinite if self.censored => f64::INFINITY,
            Ending::Infinite | Ending::Value => self.observed,
        }
    }

    /// What a record has of a quantity; `None` where it can't have one.
    pub fn of(defined: Defined<f64>) -> Option<Self> {
        match defined {
            Defined::Value(value) => Some(Self::value(value)),
            Defined::Censored(bound) => Some(Self::censored(bound)),
            Defined::NotApplicable => None,
        }
    }
}

/// All of them at one end.
pub(crate) fn at_end(observations: &[Observation], ending: Ending) -> Vec<f64> {
    observations.iter().map(|one| one.at(ending)).collect()
}

// Quantity

impl Quantity {
    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
        }
    }

    /// What one record has of it, in seconds.
    pub fn of(self, record: &Record) -> Option<Observation> {
        Observation::of(match self {
            Self::Ttft => record.ttft().map(Nanos::as_secs_f64),
            Self::Tpot => record.tpot(),
        })
    }

    /// The population of a criterion: the records that have it or were cut before they had it, in the order given, which
    /// has to be that of arrival. Exchanges whose stamps a slow client set are no evidence about an engine and left out.
    pub fn population<'a>(self, records: impl IntoIterator<Item = &'a Record>) -> Vec<Observation> {
        records
            .into_iter()
            .filter(|record| !record.flags.client_limited)
            .filter_map(|record| self.of(record))
            .collect()
    }
}
