//! The one clock of the rig: the simulator, the proxy and the load's schedule read the same, so that what is true can be
//! subtracted from what is reported.

use measure::Nanos;
use tokio::time::Instant;

/// A monotonic clock that all parts of one run share. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OneClock(upstream::Clock);

impl OneClock {
    /// Starts it. One for a run.
    pub(crate) fn start() -> Self {
        Self(upstream::Clock::start())
    }

    /// The time.
    pub(crate) fn stamp(&self) -> Nanos {
        self.0.now()
    }

    /// As the proxy takes it.
    pub(crate) fn for_proxy(&self) -> upstream::Clock {
        self.0
    }

    /// As the simulator takes it.
    pub(crate) fn for_sim(&self) -> sim::Clock {
        let clock = *self;
        sim::Clock::new(move || clock.stamp().0)
    }

    /// The instant of a stamp, for timers.
    pub(crate) fn instant(&self, at: Nanos) -> Instant {
        self.0.instant(at)
    }
}
