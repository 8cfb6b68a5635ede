//! Time as the product counts it: nanoseconds of one monotonic clock of one process.

use std::ops::{Add, Sub};

/// An instant (since the process's clock began) or a span, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The beginning of the clock, and the empty span.
    pub const ZERO: Self = Self(0);

    /// A span of milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Seconds, for metrics. Exact to 2⁻⁵³ relative.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a span of 104 days still resolves to 1 ns; metrics are f64 by format"
    )]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span since `earlier`, 0 if it lies ahead.
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        self.since(earlier)
    }
}
