//! The clock that everything here is told in: nanoseconds, monotonic, whoever runs the simulator provides it.
//!
//! A truth is worth something only on the clock of the one who is checked against it, so there is no clock of our own.

use std::fmt;
use std::sync::Arc;

/// A monotonic clock in nanoseconds. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that is read by `read`, which must never go back.
    pub fn new(read: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The machine's `CLOCK_MONOTONIC`, the same in all its processes, so that a client in another process can subtract.
    pub fn machine() -> Self {
        Self::new(|| {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
        })
    }

    /// The time, in nanoseconds.
    pub fn stamp(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Clock").field(&self.stamp()).finish()
    }
}
