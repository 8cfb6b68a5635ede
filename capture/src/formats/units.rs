//! Nanoseconds, in the units of other tools and back. Nothing else in this module converts a time.

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: f64 = 1e9;

/// Unit of the times in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of a time in this unit. `None` of what is no time: negative, not a number, or of 500 years.
    pub(super) fn nanoseconds(self, time: f64) -> Option<u64> {
        let scale = match self {
            Self::Milliseconds => NS_PER_MS as f64,
            Self::Seconds => NS_PER_S,
        };
        let scaled = (time * scale).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked in the same line"
        )]
        (0.0..9e18).contains(&scaled).then_some(scaled as u64)
    }
}

/// Whole milliseconds, rounded.
pub(super) fn milliseconds(ns: u64) -> u64 {
    ns.saturating_add(NS_PER_MS / 2) / NS_PER_MS
}

/// Seconds, to the microsecond.
pub(super) fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_second_is_half_a_second() {
        assert_eq!(milliseconds(500_000_000), 500);
        assert_eq!(seconds(500_000_000), 0.5);
        assert_eq!(TimeUnit::Milliseconds.nanoseconds(500.0), Some(500_000_000));
        assert_eq!(TimeUnit::Seconds.nanoseconds(0.5), Some(500_000_000));
        assert_eq!(seconds(1_234_567_891), 1.234_568);
        assert_eq!(milliseconds(1_499_999), 1);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for time in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(TimeUnit::Seconds.nanoseconds(time), None);
        }
    }
}
