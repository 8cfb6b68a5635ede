//! Both sides of a run as records, from a queue whose truth is known, to a verdict.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::toy_queue::Queue;
use crate::vectors::case::Case;
use crate::vectors::{File, own_folder, streams};
use judge::comparison::{Arm, Comparison, Sides, Terms};
use judge::prng::SplitMix64;
use judge::validity::{PairFacts, RunFacts, RunFault};
use judge::verdict::Verdict;
use judge::{Decision, Quantity};
use measure::{Nanos, Outcome, Record};
use std::time::Duration;

/// Mean service time, in seconds.
const SERVICE: f64 = 0.1;

/// Mean time between arrivals, in seconds.
const GAP: f64 = 0.2;

/// A streamed answer of ten tokens.
fn template() -> Record {
    let file = File::read(&own_folder().join("17_stream_metrics.json")).unwrap();
    let cases = file.whole["cases"].as_array().unwrap().iter();
    let mut records = cases.map(|case| streams::record(&Case::of(case)).unwrap());
    let mut record = records
        .find(|one| one.outcome == Outcome::Ok && one.tpot().value().is_some())
        .unwrap();
    record.input_tokens = Some(500);
    record.output_tokens = Some(11);
    record.first_burst_tokens = 1;
    record.cached_tokens = None;
    record
}

/// Records whose TTFT is a queue's sojourn time, at arrivals every `gap` seconds, with a TPOT of `tpot` ± 5 %.
fn served(sojourns: &[judge::Observation], gap: f64, tpot: f64) -> Vec<Record> {
    let (template, mut noise) = (template(), SplitMix64::new(5));
    let nanos = |seconds: f64| {
        Nanos(
            Duration::from_secs_f64(seconds)
                .as_nanos()
                .try_into()
                .unwrap(),
        )
    };
    let records = sojourns.iter().enumerate().map(|(number, sojourn)| {
        let mut record = template.clone();
        let arrival = gap * (number + 1) as f64;
        let first = arrival + SERVICE * sojourn.observed;
        let last = first + 10.0 * tpot * (0.95 + 0.1 * noise.unit());
        record.identity.id = number as u64;
        record.stamps.arrival = nanos(arrival);
        record.stamps.body_sent = Some(nanos(arrival));
        record.stamps.first_token = Some(nanos(first));
        record.stamps.first_answer = Some(nanos(first));
        record.stamps.last_token = Some(nanos(last));
        record.stamps.end = nanos(last);
        record
    });
    records.collect()
}

fn queue(n: usize) -> Queue {
    Queue {
        start: 21,
        n,
        utilisation: SERVICE / GAP,
    }
}

fn borrowed(records: &[Record]) -> Vec<&Record> {
    records.iter().collect()
}

fn paired(a: &[Record], b: &[Record], terms: &Terms, known: RunFacts) -> Comparison {
    let (a, b) = (borrowed(a), borrowed(b));
    let arm = |records| Arm {
        records,
        replicas: 1,
    };
    Comparison::of(Sides::Paired(arm(&a), arm(&b)), terms, known).unwrap()
}

/// Two candidates' worth of records: the factor on the service time of each.
fn sides(n: usize, candidate: f64, tpot: f64) -> (Vec<Record>, Vec<Record>) {
    let [a, b] = queue(n).sojourns([1.0, candidate]);
    (served(&a, GAP, 0.01), served(&b, GAP, tpot))
}

#[test]
fn an_equal_candidate_may_replace_once_there_are_enough_requests() {
    let (a, b) = sides(9_000, 1.0, 0.01);
    let terms = Terms {
        ttft: Some(1.0),
        tpot: Some(0.05),
        ..Terms::default()
    };
    let enough = paired(&a, &b, &terms, RunFacts::default());
    assert_eq!(
        enough.judgement.verdict,
        Verdict::MayReplace,
        "{}",
        enough.judgement
    );
    let names: Vec<_> = enough
        .findings
        .iter()
        .map(|one| one.criterion.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "p95 TTFT",
            "p95 TPOT",
            "error_rate",
            "throughput",
            "p99 TTFT",
            "p99 TPOT"
        ]
    );
    let figures = enough.candidate;
    assert!((figures.rate.unwrap() * GAP - 1.0).abs() < 1e-6);
    assert_eq!((figures.ok, figures.bad), (figures.requests, 0));
    assert_eq!(figures.input_p50, Some(500.0));

    let few = paired(&a[..300], &b[..300], &terms, RunFacts::default());
    assert_eq!(few.judgement.verdict, Verdict::NotEnoughData);
    let missing = few.judgement.time_to_answer().unwrap().to_string();
    assert!(missing.contains("more requests"), "{missing}");
}

#[test]
fn a_slower_candidate_must_not_replace_and_the_criterion_is_named() {
    let (a, b) = sides(9_000, 1.3, 0.01);
    let slower = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert_eq!(slower.judgement.verdict, Verdict::MustNotReplace);
    assert_eq!(slower.judgement.failed, ["p95 TTFT"]);

    let (a, b) = sides(9_000, 1.0, 0.013);
    let slower = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert_eq!(slower.judgement.failed, ["p95 TPOT"]);
}

#[test]
fn a_target_that_the_incumbent_misses_too_is_missed() {
    let (a, b) = sides(9_000, 1.0, 0.01);
    let terms = Terms {
        ttft: Some(0.12),
        ..Terms::default()
    };
    let missed = paired(&a, &b, &terms, RunFacts::default());
    assert_eq!(missed.judgement.failed, ["p95 TTFT"]);
}

#[test]
fn failures_of_the_candidate_count_and_those_of_clients_do_not() {
    let (a, mut b) = sides(9_000, 1.0, 0.01);
    for record in b.iter_mut().step_by(20) {
        record.outcome = Outcome::ClientAbortDecode;
    }
    let aborted = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert_eq!(aborted.candidate.bad, 0);
    for record in b.iter_mut().step_by(20) {
        record.outcome = Outcome::Upstream5xx;
        record.stamps.first_token = None;
    }
    let failing = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert!(failing.judgement.failed.contains(&"error_rate".to_owned()));
    assert!(failing.judgement.failed.contains(&"throughput".to_owned()));
    assert_eq!(
        failing.candidate.bad,
        failing.candidate.requests.div_ceil(20)
    );
}

#[test]
fn what_is_not_like_for_like_is_no_evidence() {
    let (a, b) = sides(9_000, 1.0, 0.01);
    let facts = RunFacts {
        pairs: Some(PairFacts {
            sent: 9_500,
            one_sided: 500,
        }),
        ..RunFacts::default()
    };
    let one_sided = paired(&a, &b, &Terms::default(), facts);
    assert_eq!(one_sided.judgement.verdict, Verdict::InvalidRun);

    let [sojourns] = queue(9_000).sojourns([1.0]);
    let thinner = served(&sojourns, 1.05 * GAP, 0.01);
    let rates = paired(&a, &thinner, &Terms::default(), RunFacts::default());
    assert!(matches!(
        rates.judgement.faults[..],
        [RunFault::LoadParity(_)]
    ));

    let (mut a, mut b) = (a, b);
    for (number, (a, b)) in a.iter_mut().zip(&mut b).enumerate() {
        a.cached_tokens = Some(400);
        b.cached_tokens = Some(if number % 2 == 0 { 400 } else { 350 });
    }
    let cached = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert!(matches!(
        cached.judgement.faults[..],
        [RunFault::PrefixParity(_)]
    ));
}

#[test]
fn sides_with_requests_of_their_own_need_like_mixes() {
    let [a] = queue(9_000).sojourns([1.0]);
    let [b] = Queue {
        start: 22,
        ..queue(9_000)
    }
    .sojourns([1.0]);
    let (a, mut b) = (served(&a, GAP, 0.01), served(&b, GAP, 0.01));
    let compare = |a: &[Record], b: &[Record]| {
        let (a, b) = (borrowed(a), borrowed(b));
        let arm = |records| Arm {
            records,
            replicas: 1,
        };
        let sides = Sides::Unpaired(arm(&a), arm(&b));
        Comparison::of(sides, &Terms::default(), RunFacts::default()).unwrap()
    };
    let alike = compare(&a, &b);
    assert!(alike.judgement.faults.is_empty(), "{}", alike.judgement);
    assert_ne!(alike.judgement.verdict, Verdict::MustNotReplace);
    for record in b.iter_mut().step_by(5) {
        record.input_tokens = Some(5_000);
    }
    let other = compare(&a, &b).judgement.to_string();
    assert!(other.contains("mix of input lengths"), "{other}");
    for record in &mut b {
        record.input_tokens = Some(5_000);
    }
    assert!(matches!(
        compare(&a, &b).judgement.faults[..],
        [RunFault::Mix]
    ));
}

#[test]
fn a_warm_up_is_cut_off_both_sides_of_a_pair() {
    let (mut a, b) = sides(9_000, 1.0, 0.01);
    for record in &mut a[..50] {
        let late = record.stamps.first_token.unwrap().0 + 20_000_000_000;
        record.stamps.first_token = Some(Nanos(late));
        record.stamps.last_token = Some(Nanos(late + 100_000_000));
        record.stamps.end = Nanos(late + 100_000_000);
    }
    let cut = paired(&a, &b, &Terms::default(), RunFacts::default());
    assert_eq!(cut.incumbent.requests, cut.candidate.requests);
    assert!(
        (8_800..8_951).contains(&cut.incumbent.requests),
        "{}",
        cut.incumbent.requests
    );
    assert!(cut.incumbent.ttft.unwrap().p99 < 10.0);
    let ttft = cut
        .latencies
        .iter()
        .find(|row| row.quantity == Quantity::Ttft)
        .unwrap();
    assert_ne!(Decision::from(ttft.found.relative), Decision::Fail);
}

#[test]
fn nothing_is_not_enough_and_halves_are_refused() {
    let nothing = paired(&[], &[], &Terms::default(), RunFacts::default());
    assert_eq!(nothing.judgement.verdict, Verdict::NotEnoughData);
    let (a, b) = sides(50, 1.0, 0.01);
    let (a, b) = (borrowed(&a), borrowed(&b));
    let arm = |records| Arm {
        records,
        replicas: 1,
    };
    let halves = Sides::Paired(arm(&a), arm(&b[..49]));
    let refused = Comparison::of(halves, &Terms::default(), RunFacts::default()).unwrap_err();
    assert!(
        refused.to_string().contains("the candidate has 49"),
        "{refused}"
    );
}
