//! The verdict: total, monotone, and with its reasons.

use judge::Decision;
use judge::fidelity::ScheduleLag;
use judge::holm;
use judge::sample_size::TimeToAnswer;
use judge::validity::{PairFacts, RunFacts, RunFault};
use judge::verdict::{Finding, Judgement, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        Just(Decision::Pass),
        Just(Decision::Fail),
        Just(Decision::NotEnoughData)
    ]
}

fn finding() -> impl Strategy<Value = Finding> {
    (decision(), any::<bool>()).prop_map(|(decision, advisory)| {
        let finding = Finding::gating("one", decision);
        if advisory {
            finding.advisory()
        } else {
            finding
        }
    })
}

proptest! {
    #[test]
    fn every_input_has_its_one_verdict(findings in vec(finding(), 0..8), invalid in any::<bool>()) {
        let faults = if invalid { vec![RunFault::IncumbentSaturated] } else { Vec::new() };
        let judgement = Judgement::of(faults, &findings);
        let gating = |decision| findings.iter().any(|one| one.role == judge::verdict::Role::Gating && one.decision == decision);
        let expected = match (invalid, gating(Decision::Fail), gating(Decision::NotEnoughData), gating(Decision::Pass)) {
            (true, ..) => Verdict::InvalidRun,
            (false, true, ..) => Verdict::MustNotReplace,
            (false, false, true, _) | (false, false, false, false) => Verdict::NotEnoughData,
            (false, false, false, true) => Verdict::MayReplace,
        };
        prop_assert_eq!(judgement.verdict, expected);
        prop_assert!(judgement.to_string().starts_with(expected.as_str()));
        prop_assert!(judgement.time_to_answer().is_none() || expected == Verdict::NotEnoughData);
    }

    #[test]
    fn one_more_criterion_never_makes_a_verdict_kinder(findings in vec(finding(), 1..8), more in decision()) {
        prop_assume!(findings.iter().any(|one| one.role == judge::verdict::Role::Gating));
        let kindness = |findings: &[Finding]| match Judgement::of(Vec::new(), findings).verdict {
            Verdict::MayReplace => 2,
            Verdict::NotEnoughData => 1,
            Verdict::MustNotReplace | Verdict::InvalidRun => 0,
        };
        let mut with_more = findings.clone();
        with_more.push(Finding::gating("more", more));
        prop_assert!(kindness(&with_more) <= kindness(&findings));
    }

    #[test]
    fn adjusted_p_values_are_larger_and_keep_their_order(p in vec(0.0..1.0_f64, 1..12)) {
        let adjusted = holm::adjusted(&p);
        for (one, one_adjusted) in p.iter().zip(&adjusted) {
            prop_assert!(one <= one_adjusted && *one_adjusted <= 1.0);
            for (other, other_adjusted) in p.iter().zip(&adjusted) {
                prop_assert!(one > other || one_adjusted <= other_adjusted);
            }
        }
    }
}

#[test]
fn a_verdict_says_what_is_missing() {
    let more = |requests, hours| TimeToAnswer::More {
        requests,
        hours: Some(hours),
    };
    let open =
        |name: &str, missing| Finding::gating(name, Decision::NotEnoughData).missing(Some(missing));
    let findings = [
        open("p95_ttft", more(400, 0.5)),
        open("error_rate", more(9000, 11.2)),
        Finding::gating("p95_tpot", Decision::Pass),
    ];
    let judgement = Judgement::of(Vec::new(), &findings);
    assert_eq!(judgement.time_to_answer(), Some(more(9000, 11.2)));
    assert_eq!(
        judgement.to_string(),
        "NOT ENOUGH DATA: p95_ttft (about 400 more requests, 1 more hours at the present rate); \
         error_rate (about 9000 more requests, 12 more hours at the present rate)"
    );
    let hopeless = [
        open("p95_ttft", more(400, 0.5)),
        open("accuracy", TimeToAnswer::Hopeless),
    ];
    let judgement = Judgement::of(Vec::new(), &hopeless);
    assert_eq!(judgement.time_to_answer(), Some(TimeToAnswer::Hopeless));
    let failed = Judgement::of(Vec::new(), &[Finding::gating("accuracy", Decision::Fail)]);
    assert_eq!(failed.to_string(), "MUST NOT REPLACE: accuracy");
    // What a decided criterion once lacked is not shown.
    assert_eq!(
        Finding::gating("a", Decision::Pass)
            .missing(Some(more(1, 1.0)))
            .missing,
        None
    );
}

#[test]
fn each_fault_of_a_run_is_found_alone() {
    assert_eq!(RunFacts::default().faults(), []);
    let lag = ScheduleLag {
        p50: 0.0,
        p99: 0.03,
        max: 0.03,
        late_share: 0.1,
        limit: 0.025,
        rate_ratio: 1.0,
    };
    let all = RunFacts {
        lag: Some(lag),
        incumbent_saturated: true,
        never_settled: true,
        not_calibrated: true,
        dropped: 3,
        pairs: Some(PairFacts {
            sent: 100,
            one_sided: 3,
        }),
        rates: Some((10.0, 10.3)),
        hit_rates: Some((0.40, 0.37)),
        mix_undefined: true,
        differs_in: vec!["precision".to_owned()],
    };
    assert_eq!(all.faults().len(), 10);
    let fine = RunFacts {
        lag: Some(ScheduleLag { p99: 0.02, ..lag }),
        pairs: Some(PairFacts {
            sent: 100,
            one_sided: 2,
        }),
        rates: Some((10.0, 10.1)),
        hit_rates: Some((0.40, 0.41)),
        ..RunFacts::default()
    };
    assert_eq!(fine.faults(), []);
    assert_eq!(
        RunFault::Dropped(3).to_string(),
        "3 records were dropped in the windows used"
    );
}
