//! Concurrency: by the vector, by its definition, and whatever the order of things.

use crate::script::{exactly, identity, ms, stream_facts};
use crate::vector::{Vector, list, whole};
use measure::{End, Exchange, InFlight, InFlightMeans, Nanos};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stay in flight: arrival < end, arrival ≤ first ≤ end; in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Stay {
    arrival: u64,
    first: Option<u64>,
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A first token in the read that also ends it.
    OnlyToken,
    End,
    Arrival,
    FirstToken,
}

/// What a run of stays looked like from within.
struct Played {
    means: Vec<InFlightMeans>,
    /// Milliseconds at each level of concurrency.
    time_at_level: BTreeMap<u32, u64>,
    /// Time-weighted mean over the window, by the running integral.
    mean: Option<f64>,
}

/// All steps in order of time; at one instant ends come first.
fn steps(stays: &[Stay]) -> Vec<(u64, Step, usize)> {
    let mut steps = Vec::new();
    for (index, stay) in stays.iter().enumerate() {
        steps.push((stay.arrival, Step::Arrival, index));
        steps.push((stay.end, Step::End, index));
        if let Some(first) = stay.first {
            let step = if first == stay.end {
                Step::OnlyToken
            } else {
                Step::FirstToken
            };
            steps.push((first, step, index));
        }
    }
    steps.sort_unstable();
    steps
}

fn play(stays: &[Stay]) -> Played {
    let in_flight = Arc::new(InFlight::new());
    let mut exchanges: Vec<Option<Exchange>> = stays.iter().map(|_| None).collect();
    let steps = steps(stays);
    let (mut time_at_level, mut before) = (BTreeMap::new(), steps[0].0);
    let start = in_flight.mark(ms(before));
    for &(at, step, index) in &steps {
        if at > before {
            *time_at_level
                .entry(in_flight.prefill() + in_flight.decode())
                .or_insert(0) += at - before;
        }
        before = at;
        match (step, &mut exchanges[index]) {
            (Step::Arrival, slot) => {
                *slot = Some(Exchange::begin(identity(), ms(at), Arc::clone(&in_flight)));
            }
            (Step::End, Some(exchange)) => exchange.on_end(ms(at), End::Clean),
            (_, Some(exchange)) => exchange.on_read(ms(at), 1, &[exactly(1)]),
            (_, None) => panic!("an exchange arrives first"),
        }
    }
    let end = in_flight.mark(ms(before));
    assert_eq!((in_flight.prefill(), in_flight.decode()), (0, 0));
    let means = exchanges
        .into_iter()
        .flatten()
        .map(|exchange| exchange.finish(None).in_flight)
        .collect();
    Played {
        means,
        time_at_level,
        mean: start.mean_in_flight(&end),
    }
}

fn stays_of(case: &serde_json::Value) -> Vec<Stay> {
    list(&case["requests_ms"])
        .iter()
        .map(|request| Stay {
            arrival: whole(&request["arrival"]),
            first: request["first"].as_u64(),
            end: whole(&request["end"]),
        })
        .collect()
}

/// The smallest level at or below which at least a share `p` of the time was spent.
fn level_at(time_at_level: &BTreeMap<u32, u64>, p: f64) -> Option<f64> {
    let total: u64 = time_at_level.values().sum();
    let mut below = 0;
    time_at_level.iter().find_map(|(&level, &time)| {
        below += time;
        (below as f64 >= p * total as f64).then_some(f64::from(level))
    })
}

#[test]
fn concurrency_is_that_of_the_vector() {
    let vector = Vector::read("16_concurrency");
    for case in vector.cases() {
        let stays = stays_of(case);
        let played = play(&stays);
        let expected = &case["expected"];
        for (means, expected) in played.means.iter().zip(list(&expected["per_request"])) {
            vector.check(expected, "at_arrival", Some(f64::from(means.at_arrival)));
            vector.check(expected, "mean_over_life", means.life);
            vector.check(expected, "mean_over_prefill", means.prefill);
            vector.check(expected, "mean_over_decode", means.decode);
            vector.check(expected, "mean_decoders_during_decode", means.decoders);
        }
        let levels: BTreeMap<String, u64> = played
            .time_at_level
            .iter()
            .map(|(level, time)| (level.to_string(), *time))
            .collect();
        assert_eq!(
            serde_json::json!(levels),
            expected["time_at_level"],
            "{case}"
        );
        vector.check(expected, "time_weighted_mean", played.mean);
        vector.check(expected, "littles_law_lambda_W", played.mean);
        vector.check(
            expected,
            "time_weighted_p50",
            level_at(&played.time_at_level, 0.5),
        );
        vector.check(
            expected,
            "time_weighted_p95",
            level_at(&played.time_at_level, 0.95),
        );
        vector.check(
            expected,
            "max",
            played
                .time_at_level
                .keys()
                .last()
                .map(|level| f64::from(*level)),
        );
        let at_arrival: u32 = played.means.iter().map(|means| means.at_arrival).sum();
        vector.check(
            expected,
            "mean_at_arrival",
            Some(f64::from(at_arrival) / stays.len() as f64),
        );
    }
}

// By the definition

/// Time average over [from, to) of the number of those that are inside their own span, instant by instant.
fn average(spans: &[(u64, u64)], from: u64, to: u64) -> Option<f64> {
    let inside = |at: u64| {
        spans
            .iter()
            .filter(|(start, end)| (*start..*end).contains(&at))
            .count()
    };
    (to > from).then(|| (from..to).map(inside).sum::<usize>() as f64 / (to - from) as f64)
}

fn stays() -> impl Strategy<Value = Vec<Stay>> {
    let stay =
        (0..60_u64, 1..40_u64, prop::option::of(0..=40_u64)).prop_map(|(arrival, life, wait)| {
            Stay {
                arrival,
                first: wait.map(|wait| arrival + wait.min(life)),
                end: arrival + life,
            }
        });
    prop::collection::vec(stay, 1..12)
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        (a, b) => a == b,
    }
}

proptest! {
    #[test]
    fn averages_are_those_of_the_definition(stays in stays()) {
        let lives: Vec<(u64, u64)> = stays.iter().map(|stay| (stay.arrival, stay.end)).collect();
        let decodes: Vec<(u64, u64)> =
            stays.iter().filter_map(|stay| Some((stay.first?, stay.end))).collect();
        for (index, (stay, means)) in stays.iter().zip(play(&stays).means).enumerate() {
            let before = |other: &Stay, at: usize| (other.arrival, at) < (stay.arrival, index) && other.end > stay.arrival;
            let at_arrival = stays.iter().enumerate().filter(|(at, other)| before(other, *at)).count();
            prop_assert_eq!(means.at_arrival as usize, at_arrival);
            let first = stay.first.unwrap_or(stay.end);
            prop_assert!(near(means.life, average(&lives, stay.arrival, stay.end)));
            prop_assert!(near(means.prefill, average(&lives, stay.arrival, first)));
            prop_assert!(near(means.decode, average(&lives, first, stay.end)));
            prop_assert!(near(means.decoders, average(&decodes, first, stay.end)));
        }
    }

    /// Little's law: over a window that begins and ends idle, the mean number in flight is arrival rate times mean stay.
    #[test]
    fn the_mean_in_flight_is_arrival_rate_times_mean_stay(stays in stays()) {
        let start = stays.iter().map(|stay| stay.arrival).min().expect("there is one");
        let end = stays.iter().map(|stay| stay.end).max().expect("there is one");
        let window = (end - start) as f64;
        let rate = stays.len() as f64 / window;
        let stay = stays.iter().map(|stay| stay.end - stay.arrival).sum::<u64>() as f64 / stays.len() as f64;
        prop_assert!(near(play(&stays).mean, Some(rate * stay)));
    }
}

// Whatever the order

#[derive(Debug, Clone, Copy)]
enum Act {
    Begin,
    Token,
    End,
    Finish,
    Drop,
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act, u64)>> {
    let act = prop_oneof![
        Just(Act::Begin),
        Just(Act::Begin),
        Just(Act::Token),
        Just(Act::End),
        Just(Act::Finish),
        Just(Act::Drop)
    ];
    // Stamps in any order, as from tasks that overtake each other.
    prop::collection::vec((0..6_usize, act, 0..100_u64), 0..80)
}

proptest! {
    #[test]
    fn the_count_follows_every_step_and_returns_to_zero(acts in acts()) {
        let in_flight = Arc::new(InFlight::new());
        let mut slots: Vec<Option<Exchange>> = (0..6).map(|_| None).collect();
        let mut open = [(false, false); 6];
        for (who, act, at) in acts {
            match (act, &mut slots[who]) {
                (Act::Begin, slot) => {
                    *slot = Some(Exchange::begin(identity(), ms(at), Arc::clone(&in_flight)));
                    open[who] = (true, false);
                }
                (Act::Token, Some(exchange)) => {
                    exchange.on_read(ms(at), 1, &[exactly(1)]);
                    open[who].1 = open[who].0;
                }
                (Act::End, Some(exchange)) => {
                    exchange.on_end(ms(at), End::ClientGone);
                    open[who] = (false, false);
                }
                (Act::Finish, slot) => {
                    if let Some(exchange) = slot.take() {
                        let means = exchange.finish(None).in_flight;
                        let all = [means.life, means.prefill, means.decode, means.decoders];
                        prop_assert!(all.into_iter().flatten().all(|mean| (1.0..=6.0).contains(&mean)), "{means:?}");
                    }
                    open[who] = (false, false);
                }
                (Act::Drop, slot) => {
                    *slot = None;
                    open[who] = (false, false);
                }
                (_, None) => {}
            }
            let decoding = open.iter().filter(|(_, decoding)| *decoding).count();
            let waiting = open.iter().filter(|(open, _)| *open).count() - decoding;
            prop_assert_eq!((in_flight.prefill() as usize, in_flight.decode() as usize), (waiting, decoding));
        }
        drop(slots);
        prop_assert_eq!((in_flight.prefill(), in_flight.decode()), (0, 0));
    }
}

#[test]
fn a_stamp_that_comes_late_counts_as_the_latest() {
    let in_flight = Arc::new(InFlight::new());
    let mut first = Exchange::begin(identity(), ms(100), Arc::clone(&in_flight));
    let mut second = Exchange::begin(identity(), ms(40), Arc::clone(&in_flight));
    second.on_end(ms(150), End::Clean);
    first.on_end(ms(200), End::Clean);
    let (first, second) = (first.finish(None), second.finish(None));
    assert_eq!(
        (first.in_flight.at_arrival, second.in_flight.at_arrival),
        (0, 1)
    );
    assert_eq!(first.in_flight.life, Some(1.5));
    assert_eq!(
        second.in_flight.life,
        Some(2.0),
        "counted from 100 on, when it became known"
    );
    assert_eq!(
        second.stamps.arrival,
        ms(40),
        "its own stamps are as they are"
    );
}

#[test]
fn many_threads_leave_nobody_behind() {
    let in_flight = Arc::new(InFlight::new());
    let start = in_flight.mark(Nanos::ZERO);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let in_flight = &in_flight;
            scope.spawn(move || {
                for turn in 0..500_u64 {
                    let at = ms(turn);
                    let mut exchange = Exchange::begin(identity(), at, Arc::clone(in_flight));
                    exchange.on_request(stream_facts(), 0);
                    exchange.on_read(at + ms(1), 1, &[exactly(1)]);
                    if (turn + thread) % 3 > 0 {
                        exchange.on_end(at + ms(2), End::Clean);
                    }
                }
            });
        }
    });
    assert_eq!((in_flight.prefill(), in_flight.decode()), (0, 0));
    let mean = start
        .mean_in_flight(&in_flight.mark(ms(501)))
        .expect("time has passed");
    assert!(mean <= 4.0, "no more than one a thread: {mean}");
}
