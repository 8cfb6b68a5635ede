//! How fast somebody whom we wait for moves bytes, over the time that we wait for them. Time is an argument.
//!
//! Only waiting counts: who is held up by us, or by the other side, is not slow. A window is a minute of it; bytes of one
//! window buy nothing in the next.

use measure::Nanos;

/// Waiting in which a pace is judged.
const WINDOW: Nanos = Nanos::from_millis(60_000);

/// One direction of one connection or body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Bytes a second that must come; 0 is any.
    least: u64,
    /// Of this window.
    waited: Nanos,
    /// Of this window.
    bytes: u64,
    /// Since when we wait now.
    since: Option<Nanos>,
}

impl Pace {
    /// Of somebody who must move `least` bytes a second; 0 for no limit.
    pub(crate) fn at_least(least: u64) -> Self {
        Self {
            least,
            waited: Nanos::ZERO,
            bytes: 0,
            since: None,
        }
    }

    /// Whether a wait has begun that has not ended.
    pub(crate) fn waits(&self) -> bool {
        self.since.is_some()
    }

    /// There is nothing to move at `now`.
    pub(crate) fn on_wait(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    /// These bytes moved, at `now` if they were waited for; false if that is too slow.
    #[must_use]
    pub(crate) fn on_moved(&mut self, bytes: u64, now: impl FnOnce() -> Nanos) -> bool {
        if let Some(since) = self.since.take() {
            self.waited = Nanos(self.waited.0.saturating_add(now().since(since).0));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.waited < WINDOW {
            return true;
        }
        let wanted = u128::from(self.least) * u128::from(self.waited.0) / 1_000_000_000;
        let fast_enough = u128::from(self.bytes) >= wanted;
        self.waited = Nanos::ZERO;
        self.bytes = 0;
        fast_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves `bytes` after each wait of `ms`, until that is too slow; returns how often.
    fn moves(least: u64, bytes: u64, ms: u64) -> u64 {
        let mut pace = Pace::at_least(least);
        let mut now = Nanos::from_millis(1);
        for count in 0..10_000 {
            pace.on_wait(now);
            now = Nanos(now.0 + Nanos::from_millis(ms).0);
            if !pace.on_moved(bytes, || now) {
                return count;
            }
        }
        10_000
    }

    #[test]
    fn it_is_judged_after_a_minute_of_waiting() {
        assert_eq!(moves(1024, 1023, 1_000), 59);
        assert_eq!(moves(1024, 1024, 1_000), 10_000);
        assert_eq!(moves(0, 1, 59_000), 10_000, "no limit");
    }

    #[test]
    fn what_is_not_waited_for_costs_no_time() {
        let mut pace = Pace::at_least(1024);
        for _ in 0..10_000 {
            assert!(pace.on_moved(1, || Nanos::ZERO));
        }
        assert!(!pace.waits());
    }
}
