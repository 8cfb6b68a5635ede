//! Criteria from arms to findings: equal arms may replace, slow ones may not, and too little says how much is missing.

use crate::toy_queue::Queue;
use judge::accuracy::PairedAccuracy;
use judge::criterion::{Arms, LatencyRule, accuracy, error_rate, throughput};
use judge::paired::PairedTest;
use judge::quantile::Level;
use judge::replicates::Replicates;
use judge::sample_size::TimeToAnswer;
use judge::verdict::{Judgement, Verdict};
use judge::{Decision, Observation, Standing};

fn rule(limit: Option<f64>) -> LatencyRule {
    LatencyRule {
        test: PairedTest {
            level: Level::P95,
            margin: 1.1,
            alpha: 0.025,
        },
        limit,
        error: 0.0,
    }
}

const QUEUE: Queue = Queue {
    start: 9,
    n: 8000,
    utilisation: 0.5,
};

#[test]
fn equal_arms_may_replace_and_slow_ones_must_not() {
    let [a, same, slower] = QUEUE.sojourns([1.0, 1.0, 1.4]);
    let verdict = |b: &[Observation], limit| {
        let latency = rule(limit)
            .judge("p95_ttft", Arms::Paired(&a, b), 2.0)
            .unwrap();
        let good = vec![false; b.len()];
        let (_, errors) = error_rate(&good, &good, 0.005, 2.0).unwrap();
        let slice = PairedAccuracy::new(3000, 30, 40).unwrap();
        let findings = [
            latency.finding,
            errors,
            accuracy(&slice, 3000, 0.02),
            throughput(false, 8000, 8000),
        ];
        Judgement::of(Vec::new(), &findings)
    };
    assert_eq!(verdict(&same, None).verdict, Verdict::MayReplace);
    assert_eq!(verdict(&same, Some(50.0)).verdict, Verdict::MayReplace);
    // As good as the incumbent, and both miss the target.
    assert_eq!(verdict(&same, Some(0.5)).failed, ["p95_ttft"]);
    // Far within the target, and worse than the incumbent.
    assert_eq!(verdict(&slower, Some(50.0)).failed, ["p95_ttft"]);
}

#[test]
fn too_few_say_how_many_are_missing_and_those_do() {
    let few = Queue { n: 600, ..QUEUE };
    let [a, b] = few.sojourns([1.0, 1.0]);
    let latency = rule(None)
        .judge("p95_ttft", Arms::Paired(&a, &b), 2.0)
        .unwrap();
    assert_eq!(latency.relative, Standing::NotEnoughData);
    let Some(TimeToAnswer::More { requests, hours }) = latency.finding.missing else {
        unreachable!("the guard is not reached: {latency:?}");
    };
    assert!(requests > 0 && hours == Some(requests as f64 / 7200.0));
    let nothing = rule(Some(1.0))
        .judge("p95_ttft", Arms::Paired(&[], &[]), 2.0)
        .unwrap();
    assert_eq!(nothing.finding.decision, Decision::NotEnoughData);
    assert_eq!(nothing.interval, None);
    assert!(matches!(
        nothing.finding.missing,
        Some(TimeToAnswer::More {
            requests: 180..,
            ..
        })
    ));
}

#[test]
fn a_coarse_ruler_decides_nothing_relative() {
    let [a, b] = QUEUE.sojourns([1.0, 1.0]);
    let coarse = LatencyRule {
        error: 1.0,
        ..rule(None)
    };
    for arms in [Arms::Paired(&a, &b), Arms::Unpaired(&a, &b)] {
        let latency = coarse.judge("p95_ttft", arms, 2.0).unwrap();
        assert_eq!(latency.relative, Standing::NotEnoughData);
    }
}

#[test]
fn replays_decide_by_their_number() {
    let [b] = QUEUE.sojourns([1.0]);
    let replays = |k: usize| Replicates::new(&vec![0.2; k], &vec![0.201; k], 1.1, 0.05).unwrap();
    let judge = |k| {
        rule(None)
            .judge("p95_ttft", Arms::Replays(&replays(k), &b), 2.0)
            .unwrap()
    };
    assert_eq!(judge(5).relative, Standing::NonInferior);
    assert_eq!(judge(4).relative, Standing::NotEnoughData);
}

#[test]
fn errors_in_bursts_weigh_less_than_errors_alone() {
    let good = vec![false; 4000];
    let alone: Vec<bool> = (0..4000).map(|at| at % 100 == 0).collect();
    let burst: Vec<bool> = (0..4000).map(|at| (1000..1040).contains(&at)).collect();
    let judge = |b: &[bool]| error_rate(&good, b, 0.005, 2.0).unwrap();
    let (spread, spread_finding) = judge(&alone);
    let (dense, dense_finding) = judge(&burst);
    assert_eq!(spread_finding.decision, Decision::Fail);
    assert_eq!(dense_finding.decision, Decision::NotEnoughData);
    assert!((spread.difference - dense.difference).abs() < 1e-12);
    assert_eq!(dense_finding.missing, Some(TimeToAnswer::Hopeless));
    assert!(error_rate(&good, &[], 0.005, 2.0).is_err());
}

#[test]
fn throughput_is_what_was_offered() {
    assert_eq!(throughput(false, 990, 1000).decision, Decision::Pass);
    assert_eq!(throughput(false, 989, 1000).decision, Decision::Fail);
    assert_eq!(throughput(true, 1000, 1000).decision, Decision::Fail);
    assert_eq!(throughput(false, 0, 0).decision, Decision::NotEnoughData);
}
