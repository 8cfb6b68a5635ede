//! Concurrency of a whole window: how long it was at each level.
//!
//! The concurrency around one exchange is `measure`'s and stands in its record; this is the other view, over time. An
//! exchange is in flight in \[arrival, end). The window is from the first arrival to the last end, so it begins and ends
//! idle, and there the time-weighted mean is λ·W exactly (Little, "A proof for the queuing formula L = λW", 1961).

use crate::quantile::Level;
use measure::{Nanos, Record};
use std::collections::BTreeMap;

/// When an exchange was in flight, and how many were when it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// It came.
    pub arrival: Nanos,
    /// It was over.
    pub end: Nanos,
    /// In flight when it came, itself excluded.
    pub at_arrival: u32,
}

/// The levels of concurrency of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    start: Nanos,
    end: Nanos,
    /// Nanoseconds at each level that occurred.
    time_at_level: BTreeMap<u64, u128>,
    exchanges: u64,
    arrivals_seen: u64,
    time_in_flight: u128,
}

impl From<&Record> for Stay {
    fn from(record: &Record) -> Self {
        Self {
            arrival: record.stamps.arrival,
            end: record.stamps.end,
            at_arrival: record.in_flight.at_arrival,
        }
    }
}

impl Window {
    /// The window of some stays, in any order. `None` of none.
    pub fn of(stays: &[Stay]) -> Option<Self> {
        let start = stays.iter().map(|stay| stay.arrival).min()?;
        let end = stays.iter().map(|stay| stay.end).max()?;
        let mut steps: BTreeMap<Nanos, i64> = BTreeMap::new();
        for stay in stays {
            *steps.entry(stay.arrival).or_default() += 1;
            *steps.entry(stay.end).or_default() -= 1;
        }
        let mut time_at_level: BTreeMap<u64, u128> = BTreeMap::new();
        let (mut level, mut before) = (0_i64, start);
        for (at, step) in steps {
            let span = u128::from(at.since(before).0);
            if span > 0 {
                *time_at_level.entry(level.unsigned_abs()).or_default() += span;
            }
            level += step;
            before = at;
        }
        let lives = stays
            .iter()
            .map(|stay| u128::from(stay.end.since(stay.arrival).0));
        Some(Self {
            start,
            end,
            time_at_level,
            exchanges: stays.len() as u64,
            arrivals_seen: stays.iter().map(|stay| u64::from(stay.at_arrival)).sum(),
            time_in_flight: lives.sum(),
        })
    }

    /// First arrival.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Last end.
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Time at each level of concurrency that occurred, ascending.
    pub fn time_at_level(&self) -> impl Iterator<Item = (u64, Nanos)> {
        self.time_at_level
            .iter()
            .map(|(level, nanos)| (*level, Nanos(u64::try_from(*nanos).unwrap_or(u64::MAX))))
    }

    /// Time-weighted mean. `None` over an empty window.
    pub fn mean(&self) -> Option<f64> {
        let weighted = self.time_at_level.iter();
        let weighted: u128 = weighted
            .map(|(level, nanos)| u128::from(*level) * nanos)
            .sum();
        self.per_span(weighted)
    }

    /// λ·W: exchanges over the window's length, times their mean time in flight. Equal to [`Self::mean`].
    pub fn little(&self) -> Option<f64> {
        let lambda = self.per_span(u128::from(self.exchanges))?;
        Some(lambda * (self.time_in_flight as f64 / self.exchanges as f64))
    }

    /// The smallest level at or below which at least a share p of the time was spent. `None` over an empty window.
    pub fn quantile(&self, level: Level) -> Option<u64> {
        let total: u128 = self.time_at_level.values().sum();
        let mut below = 0;
        self.time_at_level.iter().find_map(|(concurrency, nanos)| {
            below += nanos;
            level.is_reached(below, total).then_some(*concurrency)
        })
    }

    /// The highest level.
    pub fn max(&self) -> u64 {
        self.time_at_level.keys().next_back().copied().unwrap_or(0)
    }

    /// Mean of what the exchanges found in flight when they came.
    pub fn mean_at_arrival(&self) -> f64 {
        self.arrivals_seen as f64 / self.exchanges as f64
    }

    fn per_span(&self, sum: u128) -> Option<f64> {
        let span = self.end.since(self.start).0;
        (span > 0).then(|| sum as f64 / span as f64)
    }
}
