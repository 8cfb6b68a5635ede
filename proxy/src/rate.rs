//! A rate of events, held by one stamp (the generic cell rate algorithm of ITU-T I.371): so many a second, and as many at
//! once. Time is an argument.

use measure::Nanos;

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// How fast something may happen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    /// What one event takes of a second.
    step: u64,
    /// When all that has happened would have been due, at the rate.
    due: u64,
}

impl Rate {
    /// `most` events a second; 0 is as 1.
    pub(crate) fn per_second(most: u32) -> Self {
        Self {
            step: SECOND / u64::from(most.max(1)),
            due: 0,
        }
    }

    /// One more at `now`; false if that is too many.
    #[must_use]
    pub(crate) fn admit(&mut self, now: Nanos) -> bool {
        let due = self.due.max(now.0).saturating_add(self.step);
        let fits = due <= now.0.saturating_add(SECOND);
        if fits {
            self.due = due;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seconds_worth_at_once_then_at_the_rate() {
        let mut rate = Rate::per_second(100);
        let second = Nanos::from_millis(1_000);
        let admitted = |rate: &mut Rate, now| (0..1_000).filter(|_| rate.admit(now)).count();
        assert_eq!(admitted(&mut rate, second), 100);
        assert_eq!(admitted(&mut rate, second), 0);
        assert_eq!(admitted(&mut rate, Nanos::from_millis(1_500)), 50);
        assert_eq!(
            admitted(&mut rate, Nanos::from_millis(60_000)),
            100,
            "what was not used is not kept"
        );
    }
}
