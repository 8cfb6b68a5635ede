//! How many exchanges there are at once: now, at each arrival, and on average over a span of time.
//!
//! One running integral serves all: with N(t) the number in flight, I(t) = ∫ N dt, and the average over any span
//! \[a, b) is (I(b) − I(a)) / (b − a). It is kept in exchange·nanoseconds of 128 bits, so that it never wraps; a second
//! one counts only those in their decode. An exchange keeps the integral's value at its arrival and at its first token
//! ([`Mark`]) and needs nothing else, however many others come and go.
//!
//! An exchange is in flight in \[arrival, end), half-open. Whoever reports an end and an arrival of one instant reports
//! the end first, if it is to be so counted.
//!
//! Stamps from different tasks may come slightly out of order. Time does not go back here: a stamp before the latest one
//! counts as the latest one (clamped forward), in the counts as in the spans, so that an average never leaves the range
//! of what was counted. The error is at most the delay between stamping and reporting, a few microseconds.
//!
//! The lock is held for a few additions, three times an exchange (arrival, first token, end), never per token. The gauges
//! are read without it.

use crate::Nanos;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The exchanges in flight at one engine.
#[derive(Debug, Default)]
pub struct InFlight {
    integral: Mutex<Integral>,
    prefill: AtomicU32,
    decode: AtomicU32,
}

/// A point of the running integral. Two of them span an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    at: Nanos,
    open_nanos: u128,
    decoding_nanos: u128,
}

/// Exchanges in flight around one of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InFlightMeans {
    /// In flight when it arrived, itself excluded.
    pub at_arrival: u32,
    /// Time average over its life, itself included. `None` over an empty span.
    pub life: Option<f64>,
    /// Time average from arrival to first token (to the end, if none came).
    pub prefill: Option<f64>,
    /// Time average from first token to the end.
    pub decode: Option<f64>,
    /// The same, counting only exchanges in their own decode.
    pub decoders: Option<f64>,
}

#[derive(Debug, Default)]
struct Integral {
    at: Nanos,
    open: u32,
    decoding: u32,
    open_nanos: u128,
    decoding_nanos: u128,
}

/// One exchange's stay. It leaves once: when told, else when dropped.
#[derive(Debug)]
pub(crate) struct Presence {
    in_flight: Option<Arc<InFlight>>,
    at_arrival: u32,
    arrival: Mark,
    first_token: Option<Mark>,
}

// InFlight

impl InFlight {
    /// Nobody in flight.
    pub fn new() -> Self {
        Self::default()
    }

    /// Exchanges that have had no token yet. Read on its own: a first token between two reads is seen by one of them.
    pub fn prefill(&self) -> u32 {
        self.prefill.load(Relaxed)
    }

    /// Exchanges past their first token.
    pub fn decode(&self) -> u32 {
        self.decode.load(Relaxed)
    }

    /// The integral up to `now`, to average from or to.
    pub fn mark(&self, now: Nanos) -> Mark {
        self.step(now, |_| {})
    }

    /// Advances to `now`, applies `change` there, and sets the gauges to what it left.
    fn step(&self, now: Nanos, change: impl FnOnce(&mut Integral)) -> Mark {
        let mut integral = self.integral.lock();
        let mark = integral.advance(now);
        change(&mut integral);
        debug_assert!(
            integral.decoding <= integral.open,
            "only what is in flight can decode"
        );
        self.prefill
            .store(integral.open.saturating_sub(integral.decoding), Relaxed);
        self.decode.store(integral.decoding, Relaxed);
        mark
    }
}

impl Integral {
    fn advance(&mut self, now: Nanos) -> Mark {
        let span = u128::from(now.since(self.at).0);
        self.open_nanos += span * u128::from(self.open);
        self.decoding_nanos += span * u128::from(self.decoding);
        self.at = self.at.max(now);
        Mark {
            at: self.at,
            open_nanos: self.open_nanos,
            decoding_nanos: self.decoding_nanos,
        }
    }
}

// Mark

impl Mark {
    /// Time-weighted mean number in flight from here to `later`. `None` over an empty span.
    pub fn mean_in_flight(&self, later: &Self) -> Option<f64> {
        mean(
            later.open_nanos.saturating_sub(self.open_nanos),
            later.at.since(self.at),
        )
    }

    /// The same, counting only those past their first token.
    pub fn mean_decoding(&self, later: &Self) -> Option<f64> {
        mean(
            later.decoding_nanos.saturating_sub(self.decoding_nanos),
            later.at.since(self.at),
        )
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a mean is rounded to 2⁻⁵³ relative, like every f64"
)]
fn mean(exchange_nanos: u128, span: Nanos) -> Option<f64> {
    (span > Nanos::ZERO).then(|| exchange_nanos as f64 / span.0 as f64)
}

// Presence

impl Presence {
    pub(crate) fn at_arrival(&self) -> u32 {
        self.at_arrival
    }

    pub(crate) fn enter(in_flight: Arc<InFlight>, arrival: Nanos) -> Self {
        let mut at_arrival = 0;
        let arrival = in_flight.step(arrival, |integral| {
            at_arrival = integral.open;
            integral.open = integral.open.saturating_add(1);
        });
        Self {
            in_flight: Some(in_flight),
            at_arrival,
            arrival,
            first_token: None,
        }
    }

    /// From prefill to decode, once.
    pub(crate) fn first_token(&mut self, now: Nanos) {
        debug_assert!(self.first_token.is_none(), "there is one first token");
        let Some(in_flight) = &self.in_flight else {
            return;
        };
        self.first_token = Some(in_flight.step(now, |integral| {
            integral.decoding = integral.decoding.saturating_add(1);
        }));
    }

    /// Leaves, and says what was around it. A second call finds nobody to leave and yields what is known without.
    pub(crate) fn leave(&mut self, now: Nanos) -> InFlightMeans {
        let mut means = InFlightMeans {
            at_arrival: self.at_arrival,
            ..InFlightMeans::default()
        };
        let Some(end) = self.step_out(now) else {
            return means;
        };
        let prefill_end = self.first_token.unwrap_or(end);
        means.life = self.arrival.mean_in_flight(&end);
        means.prefill = self.arrival.mean_in_flight(&prefill_end);
        means.decode = prefill_end.mean_in_flight(&end);
        means.decoders = prefill_end.mean_decoding(&end);
        means
    }

    fn step_out(&mut self, now: Nanos) -> Option<Mark> {
        let in_flight = self.in_flight.take()?;
        let decoded = u32::from(self.first_token.is_some());
        Some(in_flight.step(now, |integral| {
            debug_assert!(integral.open > 0, "what leaves was in flight");
            integral.open = integral.open.saturating_sub(1);
            integral.decoding = integral.decoding.saturating_sub(decoded);
        }))
    }
}

impl Drop for Presence {
    /// Nobody said when it ended: the latest instant that anybody reported is the best that is known.
    fn drop(&mut self) {
        self.step_out(Nanos::ZERO);
    }
}
