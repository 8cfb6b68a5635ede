//! One thing by turns under two conditions, so that whatever the machine does meanwhile is on both sides.
//!
//! * [`lockstep`]: an engine that writes an event only when the one before has reached the client. Around the proxy, and
//!   through it: whoever holds an event back for the next one never gets on, and whoever waits for an acknowledgement
//!   (Nagle's algorithm, up to 40 ms a token) is slower by two orders of magnitude.
//! * [`observers`]: streams through the proxy while all that watches is well, and while it is not: scrapers of our metrics
//!   that are silent, slow, or never read; metrics of the engine's that are refused, silent, or without end.
//!
//! Both are read from `loadproof proxy` in a process of its own. Delays are in microseconds; what is to be looked at is
//! their ratio.

mod front;
mod lockstep;
mod observers;
mod scrapers;

pub use lockstep::lockstep;
pub use observers::{Observed, observers};

use crate::calibrate::report::Spread;
use serde::Serialize;

/// Delays under two conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// Without what is looked into.
    pub without_us: Spread,
    /// With it.
    pub with_us: Spread,
}

impl Paired {
    /// Of delays in nanoseconds; `None` if either has none.
    fn of(without: Vec<i64>, with: Vec<i64>) -> Option<Self> {
        Some(Self {
            without_us: Spread::of(without)?,
            with_us: Spread::of(with)?,
        })
    }

    /// How many times as long the median is with it; `None` where one rests on too few.
    pub fn median_ratio(&self) -> Option<f64> {
        Some(self.with_us.p50? / self.without_us.p50?)
    }

    /// The same of the 99th percentile.
    pub fn p99_ratio(&self) -> Option<f64> {
        Some(self.with_us.p99? / self.without_us.p99?)
    }
}
