//! The one monotonic clock of the process.
//!
//! `now()` is called in the two socket wrappers only ([`crate::stamped`] here, the accepted socket in `proxy`); everything
//! else is handed a stamp. It is tokio's clock, so that paused tests are exact.

use measure::Nanos;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// Nanoseconds since it was made, and one wall-clock anchor to label them with.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
    anchor: SystemTime,
}

impl Clock {
    /// Starts the clock. One per process: stamps of two clocks must never be subtracted.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that the ban points to"
    )]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
            anchor: SystemTime::now(),
        }
    }

    /// Time since the clock was started, counted from 1 ns so that 0 can mean "never" in a stamp's cell.
    pub fn now(&self) -> Nanos {
        Nanos(
            u64::try_from(self.origin.elapsed().as_nanos())
                .unwrap_or(u64::MAX)
                .saturating_add(1),
        )
    }

    /// The instant of a stamp, for timers.
    pub fn instant(&self, at: Nanos) -> Instant {
        self.origin + Duration::from_nanos(at.0)
    }

    /// Wall-clock time of a stamp, by the anchor: a label, never a basis for a difference.
    pub fn wall(&self, at: Nanos) -> SystemTime {
        self.anchor + Duration::from_nanos(at.0)
    }
}
