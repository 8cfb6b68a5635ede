//! When each request of a replay is to be sent.
//!
//! A recorded load is *partly open* (Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale", NSDI
//! 2006): sessions begin by the clock, whatever became of the others; a later turn comes its think time after the answer
//! before it, which is this run's answer. A closed loop looks faster at the same mean load, and a Poisson process is rarely
//! what a load was like, so both are for comparison only, and [`Kind::like_recorded`] says so.
//!
//! Pure: times count from the start of the run, and nothing here waits.

use judge::JudgeError;
use judge::fidelity::Arrivals;
use judge::prng::SplitMix64;
use judge::rate_scaling::spread_grid;
use measure::Nanos;
use std::collections::HashMap;
use std::time::Duration;

/// Below this share of distinct arrival times a recording was made on a grid.
const DISTINCT_LEAST: f64 = 0.9;

/// What of a recorded request its time in a replay follows from. In the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// When it arrived.
    pub arrival: Nanos,
    /// When its answer ended.
    pub end: Nanos,
    /// Whose it is, if that is known.
    pub session: Option<u64>,
}

/// When a request is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// So long after the start of the run.
    At(Nanos),
    /// So long after the end of the answer to request number `request`.
    After {
        /// The turn before.
        request: usize,
        /// The think time.
        think: Nanos,
    },
    /// As soon as a place is free.
    WhenFree,
}

/// Where a schedule comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The recorded times.
    Recorded {
        /// They lay on a grid, and were spread over its cells: the cell, in seconds.
        grid: Option<f64>,
    },
    /// Arrivals at random, at this many a second.
    Poisson {
        /// Requests a second.
        rate: f64,
    },
    /// So many at once, each place taken again as soon as it is free.
    Closed {
        /// Requests open at once.
        places: usize,
    },
}

/// When each request of a replay is to be sent: one start for each, in the order of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    kind: Kind,
    starts: Vec<Start>,
}

impl Kind {
    /// The load is as it was recorded, so that its quantiles speak for the recorded load.
    pub fn like_recorded(self) -> bool {
        matches!(self, Self::Recorded { .. })
    }
}

impl Schedule {
    /// The recorded times, from the first arrival on. Of a session, a turn that was sent while the one before was still being
    /// answered goes by the clock.
    pub fn recorded(requests: &[Recorded]) -> Self {
        let (times, grid) = times(requests);
        let mut last = HashMap::new();
        let mut starts = Vec::with_capacity(requests.len());
        for (number, (request, &at)) in requests.iter().zip(&times).enumerate() {
            let before = request
                .session
                .and_then(|session| last.insert(session, number));
            let think = before.and_then(|before| {
                let ended = requests.get(before)?.end;
                (request.arrival >= ended).then(|| (before, request.arrival.since(ended)))
            });
            starts.push(match think {
                Some((request, think)) => Start::After { request, think },
                None => Start::At(at),
            });
        }
        Self {
            kind: Kind::Recorded { grid },
            starts,
        }
    }

    /// As many requests, at random times.
    ///
    /// # Errors
    /// If `rate` is not above 0.
    pub fn poisson(
        requests: usize,
        rate: f64,
        generator: &mut SplitMix64,
    ) -> Result<Self, JudgeError> {
        if !(rate > 0.0 && rate.is_finite()) {
            return Err(JudgeError::OutOfRange {
                name: "rate",
                value: rate,
                wanted: "a number of requests a second above 0",
            });
        }
        let mut at = 0.0;
        let starts = (0..requests).map(|_| {
            let start = Start::At(nanos(at));
            at -= (1.0 - generator.unit()).ln() / rate;
            start
        });
        Ok(Self {
            starts: starts.collect(),
            kind: Kind::Poisson { rate },
        })
    }

    /// As many requests, `places` of them at once.
    pub fn closed(requests: usize, places: usize) -> Self {
        Self {
            kind: Kind::Closed { places },
            starts: vec![Start::WhenFree; requests],
        }
    }

    /// Where it comes from.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The start of each request.
    pub fn starts(&self) -> &[Start] {
        &self.starts
    }

    /// When the last request that goes by the clock is sent: the run takes at least so long.
    pub fn span(&self) -> Nanos {
        let by_clock = self.starts.iter().filter_map(|start| match start {
            Start::At(at) => Some(*at),
            Start::After { .. } | Start::WhenFree => None,
        });
        by_clock.max().unwrap_or(Nanos::ZERO)
    }
}

/// Seconds as nanoseconds: 0 for what is no time, the end of all times for what is longer.
pub(crate) fn nanos(seconds: f64) -> Nanos {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    Nanos(u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX))
}

/// Arrivals after the first, spread where they lie on a grid; and that grid.
fn times(requests: &[Recorded]) -> (Vec<Nanos>, Option<f64>) {
    let first = requests.first().map_or(Nanos::ZERO, |first| first.arrival);
    let exact: Vec<Nanos> = requests
        .iter()
        .map(|request| request.arrival.since(first))
        .collect();
    let seconds: Vec<f64> = exact.iter().map(|at| at.as_secs_f64()).collect();
    let end = seconds.last().copied().unwrap_or(0.0);
    let distinct = Arrivals::new(&seconds, end).distinct_ratio();
    if distinct.is_none_or(|ratio| ratio >= DISTINCT_LEAST) {
        return (exact, None);
    }
    let spread = spread_grid(&seconds).into_iter().map(nanos).collect();
    let steps = seconds.windows(2).map(|pair| match pair {
        [a, b] => b - a,
        _ => 0.0,
    });
    let grid = steps.filter(|step| *step > 0.0).min_by(f64::total_cmp);
    (spread, grid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recorded(arrival_ms: u64, end_ms: u64, session: Option<u64>) -> Recorded {
        Recorded {
            arrival: Nanos::from_millis(arrival_ms),
            end: Nanos::from_millis(end_ms),
            session,
        }
    }

    #[test]
    fn first_turns_go_by_the_clock_and_later_ones_by_their_think_time() {
        let schedule = Schedule::recorded(&[
            recorded(1_000, 1_400, Some(7)),
            recorded(1_100, 1_200, None),
            recorded(2_000, 2_500, Some(7)),
            // Sent while turn 2 was being answered.
            recorded(2_300, 2_600, Some(7)),
        ]);
        let ms = Nanos::from_millis;
        assert_eq!(
            schedule.starts(),
            [
                Start::At(ms(0)),
                Start::At(ms(100)),
                Start::After {
                    request: 0,
                    think: ms(600)
                },
                Start::At(ms(1_300)),
            ]
        );
        assert_eq!(schedule.span(), ms(1_300));
        assert_eq!(schedule.kind(), Kind::Recorded { grid: None });
        assert!(schedule.kind().like_recorded());
    }

    #[test]
    fn arrivals_on_a_grid_are_spread_and_it_is_said() {
        let on_grid: Vec<_> = (0..40_u64)
            .map(|number| recorded(3_000 * (number / 10), 0, None))
            .collect();
        let schedule = Schedule::recorded(&on_grid);
        assert_eq!(schedule.kind(), Kind::Recorded { grid: Some(3.0) });
        // Ten in each cell, in the middles of its tenths.
        let first = schedule.starts().iter().take(3);
        let first: Vec<_> = first.copied().collect();
        let ms = Nanos::from_millis;
        assert_eq!(
            first,
            [Start::At(ms(150)), Start::At(ms(450)), Start::At(ms(750))]
        );
    }

    #[test]
    fn a_random_schedule_has_its_rate_and_is_labelled() {
        let schedule = Schedule::poisson(20_000, 50.0, &mut SplitMix64::new(3)).unwrap();
        let rate = 20_000.0 / schedule.span().as_secs_f64();
        assert!((rate / 50.0 - 1.0).abs() < 0.03, "{rate}");
        assert!(!schedule.kind().like_recorded());
        assert!(!Schedule::closed(3, 2).kind().like_recorded());
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = Schedule::poisson(1, rate, &mut SplitMix64::new(3)).unwrap_err();
            assert!(refused.to_string().contains("rate is"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn every_request_has_one_start_that_can_come(
            requests in prop::collection::vec((0..1_000_000_u64, 0..1_000_000_u64, prop::option::of(0..4_u64)), 0..60)
        ) {
            let mut requests: Vec<_> = requests
                .into_iter()
                .map(|(arrival, took, session)| recorded(arrival, arrival + took, session))
                .collect();
            requests.sort_by_key(|request| request.arrival);
            let schedule = Schedule::recorded(&requests);
            prop_assert_eq!(schedule.starts().len(), requests.len());
            for (number, start) in schedule.starts().iter().enumerate() {
                if let Start::After { request, .. } = start {
                    prop_assert!(*request < number);
                    prop_assert_eq!(requests[*request].session, requests[number].session);
                }
            }
        }
    }
}
