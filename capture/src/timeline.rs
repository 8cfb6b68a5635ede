//! One time line for the rows of many processes.
//!
//! Gaps between arrivals of one process come from its monotonic clock. Processes have no clock in common but the wall's, so
//! each is put on it once, by the first row that is met of it. A row whose wall clock is then more than a second away from
//! where it would stand begins a new process: one was started anew, or its wall clock was set.

use std::collections::HashMap;

use crate::{About, Row};

/// How far the two clocks of a process may drift apart.
const APART_NS: i64 = 1_000_000_000;

/// Where the monotonic clock of each process stands on the wall's.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Wall clock less monotonic clock, ns, by capture and pod.
    zeros: HashMap<(String, String), i64>,
}

impl Timeline {
    /// When a row arrived: ns after 1970-01-01 UTC.
    pub fn at_ns(&mut self, about: &About, row: &Row) -> i64 {
        let arrival = i64::try_from(row.arrival_ns).unwrap_or(i64::MAX);
        let own = row.wall_us.saturating_mul(1000).saturating_sub(arrival);
        let zero = self
            .zeros
            .entry((about.capture.clone(), about.pod.clone()))
            .or_insert(own);
        if zero.abs_diff(own) > APART_NS.unsigned_abs() {
            *zero = own;
        }
        zero.saturating_add(arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::about;

    fn row(arrival_ns: u64, wall_us: i64) -> Row {
        Row {
            arrival_ns,
            wall_us,
            ..Row::default()
        }
    }

    #[test]
    fn gaps_are_of_the_monotonic_clock_until_a_process_starts_anew() {
        let mut timeline = Timeline::default();
        let mut at = |arrival, wall| timeline.at_ns(&about(), &row(arrival, wall));
        let first = at(5_000_000_000, 1_700_000_000_000_000);
        assert_eq!(first, 1_700_000_000_000_000_000);
        // The wall clock says 3 ms more; the monotonic one is believed.
        assert_eq!(
            at(6_000_000_000, 1_700_000_001_003_000) - first,
            1_000_000_000
        );
        // Started anew: the monotonic clock is back near its zero.
        assert_eq!(
            at(1_000_000, 1_700_000_100_000_000) - first,
            100_000_000_000
        );
    }

    #[test]
    fn pods_have_clocks_of_their_own() {
        let mut timeline = Timeline::default();
        let other = About {
            pod: "b".to_owned(),
            ..about()
        };
        let first = timeline.at_ns(&about(), &row(9_000_000_000, 1_000_000));
        assert_eq!(
            timeline.at_ns(&other, &row(50, 1_250_000)) - first,
            250_000_000
        );
    }
}
