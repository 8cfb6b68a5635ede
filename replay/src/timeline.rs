//! A schedule while it is played: which request is due next, given how the ones before it ended.
//!
//! Sans-IO: whoever plays it waits until [`Timeline::due`], sends what [`Timeline::take`] gives, and says of each request
//! when its answer ended. Each request is given out exactly once.

use crate::schedule::{Kind, Schedule, Start};
use measure::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Its number in the schedule.
    pub request: usize,
    /// When it was to be sent, after the start of the run.
    pub planned: Nanos,
}

/// A schedule on its way.
#[derive(Debug)]
pub struct Timeline {
    /// By time, then by number.
    due: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// What follows the end of a request, and how long after.
    followers: HashMap<usize, Vec<(usize, Nanos)>>,
    /// What waits for a place.
    waiting: VecDeque<usize>,
    left: usize,
}

impl Timeline {
    /// At its start.
    pub fn new(schedule: &Schedule) -> Self {
        let mut timeline = Self {
            due: BinaryHeap::new(),
            followers: HashMap::new(),
            waiting: VecDeque::new(),
            left: schedule.starts().len(),
        };
        for (number, start) in schedule.starts().iter().enumerate() {
            match *start {
                Start::At(at) => timeline.due.push(Reverse((at, number))),
                Start::After { request, think } => timeline
                    .followers
                    .entry(request)
                    .or_default()
                    .push((number, think)),
                Start::WhenFree => timeline.waiting.push_back(number),
            }
        }
        if let Kind::Closed { places } = schedule.kind() {
            for number in timeline.waiting.drain(..places.min(timeline.waiting.len())) {
                timeline.due.push(Reverse((Nanos::ZERO, number)));
            }
        }
        timeline
    }

    /// When the next request is due, if that is known already.
    pub fn due(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// The next request that is due by `now`.
    pub fn take(&mut self, now: Nanos) -> Option<Due> {
        self.due().filter(|at| *at <= now)?;
        let Reverse((planned, request)) = self.due.pop()?;
        self.left = self.left.saturating_sub(1);
        Some(Due { request, planned })
    }

    /// The answer to a request ended, one way or another, at `now`.
    pub fn on_end(&mut self, request: usize, now: Nanos) {
        for (number, think) in self.followers.remove(&request).unwrap_or_default() {
            self.due
                .push(Reverse((Nanos(now.0.saturating_add(think.0)), number)));
        }
        if let Some(number) = self.waiting.pop_front() {
            self.due.push(Reverse((now, number)));
        }
    }

    /// Requests that were not given out yet.
    pub fn left(&self) -> usize {
        self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Recorded;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn numbers(timeline: &mut Timeline, now: Nanos) -> Vec<(usize, Nanos)> {
        std::iter::from_fn(|| timeline.take(now))
            .map(|due| (due.request, due.planned))
            .collect()
    }

    #[test]
    fn a_later_turn_waits_for_the_answer_before_it() {
        let turn = |arrival, end| Recorded {
            arrival: ms(arrival),
            end: ms(end),
            session: Some(1),
        };
        let schedule = Schedule::recorded(&[turn(0, 100), turn(400, 500)]);
        let mut timeline = Timeline::new(&schedule);
        assert_eq!(numbers(&mut timeline, ms(1_000)), [(0, ms(0))]);
        assert_eq!((timeline.due(), timeline.left()), (None, 1));
        // This run's answer took longer: 300 ms of thought begin then.
        timeline.on_end(0, ms(900));
        assert_eq!(timeline.due(), Some(ms(1_200)));
        assert_eq!(numbers(&mut timeline, ms(1_199)), []);
        assert_eq!(numbers(&mut timeline, ms(1_300)), [(1, ms(1_200))]);
        assert_eq!(timeline.left(), 0);
    }

    #[test]
    fn a_closed_loop_keeps_its_places_taken() {
        let mut timeline = Timeline::new(&Schedule::closed(5, 2));
        assert_eq!(numbers(&mut timeline, ms(0)), [(0, ms(0)), (1, ms(0))]);
        timeline.on_end(1, ms(10));
        assert_eq!(numbers(&mut timeline, ms(20)), [(2, ms(10))]);
        timeline.on_end(0, ms(30));
        timeline.on_end(2, ms(40));
        assert_eq!(numbers(&mut timeline, ms(40)), [(3, ms(30)), (4, ms(40))]);
        timeline.on_end(3, ms(50));
        assert_eq!((timeline.due(), timeline.left()), (None, 0));
    }

    proptest! {
        #[test]
        fn each_request_is_given_out_once_and_never_early(
            requests in prop::collection::vec((0..1_000_u64, 0..1_000_u64, prop::option::of(0..3_u64)), 1..40),
            takes in prop::collection::vec(0..500_u64, 40)
        ) {
            let mut requests: Vec<_> = requests
                .into_iter()
                .map(|(arrival, took, session)| Recorded { arrival: ms(arrival), end: ms(arrival + took), session })
                .collect();
            requests.sort_by_key(|request| request.arrival);
            let mut timeline = Timeline::new(&Schedule::recorded(&requests));
            let (mut now, mut given) = (ms(0), vec![0; requests.len()]);
            while let Some(due) = timeline.due() {
                now = now.max(due);
                let taken = timeline.take(now).unwrap();
                prop_assert!(taken.planned <= now);
                given[taken.request] += 1;
                now = Nanos(now.0 + ms(takes[taken.request]).0);
                timeline.on_end(taken.request, now);
            }
            prop_assert_eq!(given, vec![1; requests.len()]);
            prop_assert_eq!(timeline.left(), 0);
        }
    }
}
