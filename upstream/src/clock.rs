//! The one monotonic clock of the process.
//!
//! It is read in the two socket wrappers ([`crate::stamped`] here, the accepted socket in `proxy`), and through them for the
//! few ends that no read brings; everything else is handed a stamp. It is tokio's clock, so that paused tests are exact.

use measure::Nanos;
use std::time::Duration;
use tokio::time::Instant;

/// Nanoseconds since it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
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
}
