//! Requests that ended before their first token stay in the population of TTFT, as lower bounds.

use crate::script::{answer, answered, cut, exactly};
use crate::vector::{Vector, list, number};
use measure::{Defined, End, Nanos, Record};

/// A request whose first token came after `secs`, or that was given up then.
fn request(secs: f64, token: bool) -> Record {
    let at = Nanos(
        u64::try_from(std::time::Duration::from_secs_f64(secs).as_nanos()).expect("it is short"),
    );
    let mut exchange = answered();
    if token {
        exchange.on_read(at, 1, &[exactly(1)]);
    }
    exchange.on_end(at, if token { End::Clean } else { End::ClientGone });
    exchange.finish(Some(if token { answer() } else { cut() }))
}

/// The value of nearest rank, in seconds. Values that are `None` are larger than all.
fn nearest_rank(mut values: Vec<Option<f64>>, p: f64) -> Option<f64> {
    values.sort_by(|a, b| {
        a.unwrap_or(f64::INFINITY)
            .total_cmp(&b.unwrap_or(f64::INFINITY))
    });
    let rank = (1..=values.len()).find(|&rank| rank as f64 >= p * values.len() as f64 - 1e-9);
    values[rank.expect("p is at most 1") - 1]
}

/// Kaplan and Meier's estimate: the first time at which the share that still waits is at most 1 − p.
fn kaplan_meier(times: &[Defined<f64>], p: f64) -> Option<f64> {
    let mut events: Vec<f64> = times.iter().filter_map(|time| time.value()).collect();
    events.sort_by(f64::total_cmp);
    events.dedup();
    let mut waiting = 1.0;
    events.into_iter().find(|&at| {
        let ended = times.iter().filter(|time| time.value() == Some(at)).count();
        let at_risk = times
            .iter()
            .filter(|time| time.observed().is_some_and(|time| time >= at))
            .count();
        waiting *= 1.0 - ended as f64 / at_risk as f64;
        1.0 - waiting >= p - 1e-12
    })
}

#[test]
fn the_quantiles_of_the_vector_follow_from_the_records() {
    let vector = Vector::read("27_censoring");
    for case in vector.cases() {
        let seen = list(&case["event_observed"]).iter().map(|seen| seen == 1);
        let records: Vec<Record> = list(&case["times_s"])
            .iter()
            .zip(seen)
            .map(|(secs, seen)| request(number(secs), seen))
            .collect();
        let times: Vec<Defined<f64>> = records
            .iter()
            .map(|record| record.ttft().map(Nanos::as_secs_f64))
            .collect();
        for (p, expected) in case["expected"].as_object().expect("it has levels") {
            let p: f64 = p.parse().expect("a level is a number");
            let of = |value: &dyn Fn(&Defined<f64>) -> Option<f64>| {
                times.iter().map(value).collect::<Vec<_>>()
            };
            let completed = times
                .iter()
                .filter_map(|time| time.value())
                .map(Some)
                .collect();
            vector.check(expected, "completed_only", nearest_rank(completed, p));
            vector.check(
                expected,
                "best_case_censored_at_value",
                nearest_rank(of(&|time| time.observed()), p),
            );
            vector.check(expected, "km", kaplan_meier(&times, p));
            match nearest_rank(of(&|time| time.value()), p) {
                None => assert_eq!(expected["worst_case_censored_infinite"], "inf"),
                worst => vector.check(expected, "worst_case_censored_infinite", worst),
            }
        }
    }
}

#[test]
fn every_offered_stream_is_in_the_population_whatever_ended_it() {
    for end in End::ALL {
        let mut exchange = answered();
        exchange.on_end(Nanos::from_secs(3), end);
        let record = exchange.finish(Some(cut()));
        assert_eq!(
            record.ttft(),
            Defined::Censored(Nanos::from_secs(3)),
            "{end:?}"
        );
        assert_eq!(record.without_first_token(), Some(record.outcome));
    }
}
