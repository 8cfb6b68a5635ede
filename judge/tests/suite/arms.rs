//! Dependent intervals, pairs, unpaired arms, replays: what has to hold whatever the data.

use crate::toy_queue::Queue;
use judge::dependence::{QuantileInterval, Target};
use judge::paired::PairedTest;
use judge::quantile::{Level, nearest_rank};
use judge::replicates::Replicates;
use judge::{Decision, Ending, JudgeError, Observation, Standing, unpaired};
use proptest::collection::vec;
use proptest::prelude::*;

fn test_at(margin: f64) -> PairedTest {
    PairedTest {
        level: Level::P95,
        margin,
        alpha: 0.025,
    }
}

fn observation() -> impl Strategy<Value = Observation> {
    (0.001..10.0_f64, 0_u8..10).prop_map(|(observed, cut)| Observation {
        observed,
        censored: cut == 0,
    })
}

proptest! {
    #[test]
    fn an_interval_contains_its_quantile(values in vec(observation(), 20..400), ppm in 500_000_u32..999_000) {
        let level = Level::new(f64::from(ppm) / 1e6).unwrap();
        for ending in [Ending::Infinite, Ending::Value] {
            let interval = QuantileInterval::of(&values, ending, level, 0.95).unwrap().unwrap();
            prop_assert!(interval.bounds.lower <= interval.quantile);
            prop_assert!(interval.quantile <= interval.bounds.upper);
            prop_assert!(interval.design_effect.value() >= 1.0);
            let wider = QuantileInterval::of(&values, ending, level, 0.99).unwrap().unwrap();
            // A lower end at infinity counts as unbounded, which a wider interval can leave again.
            prop_assert!(wider.bounds.lower <= interval.bounds.lower || interval.bounds.lower == f64::NEG_INFINITY);
            prop_assert!(interval.bounds.upper <= wider.bounds.upper);
        }
    }

    #[test]
    fn a_candidate_that_is_the_incumbent_is_never_inferior(values in vec(observation(), 20..400), margin in 1.0..2.0_f64) {
        let paired = test_at(margin).compare(&values, &values).unwrap();
        prop_assert!(paired.is_none_or(|result| result.standing != Standing::Inferior));
        let unpaired = unpaired::compare(&test_at(margin), &values, &values).unwrap();
        prop_assert!(unpaired.is_none_or(|result| result.standing != Standing::Inferior));
    }

    #[test]
    fn a_comparison_does_not_depend_on_the_unit(a in vec(observation(), 20..200), power in -10..10_i32) {
        let b: Vec<Observation> = a.iter().rev().copied().collect();
        // A power of two rounds nothing.
        let unit = f64::from(power).exp2();
        let scaled = |arm: &[Observation]| -> Vec<Observation> {
            arm.iter().map(|one| Observation { observed: one.observed * unit, ..*one }).collect()
        };
        let unit_free = test_at(1.1).compare(&a, &b).unwrap();
        let in_unit = test_at(1.1).compare(&scaled(&a), &scaled(&b)).unwrap();
        let counts = |result: Option<judge::paired::PairedResult>| result.map(|result| (result.standing, result.effective_exceedances > 10.0));
        prop_assert_eq!(counts(unit_free), counts(in_unit));
    }

    #[test]
    fn both_answers_are_never_proven_at_once(values in vec(observation(), 20..400), limit in 0.0..12.0_f64) {
        let tight = Target { level: Level::P95, limit, error: 0.0 };
        let loose = Target { limit: limit + 1.0, ..tight };
        let (tight, loose) = (tight.decide(&values, 0.95).unwrap(), loose.decide(&values, 0.95).unwrap());
        // A larger limit never fails where a smaller one passes.
        prop_assert!(!(tight == Decision::Pass && loose != Decision::Pass));
        prop_assert!(!(loose == Decision::Fail && tight != Decision::Fail));
    }

    #[test]
    fn replays_mirror(k in 1_usize..9, ratios in vec(0.8..1.25_f64, 9)) {
        let a = vec![1.0; k];
        let replays = |margin| Replicates::new(&a, &ratios[..k], margin, 0.05).unwrap();
        let (strict, lax) = (replays(1.0), replays(1.3));
        prop_assert!(!(strict.standing() == Standing::NonInferior && lax.standing() != Standing::NonInferior));
        prop_assert!(lax.sign_flip_p() <= strict.sign_flip_p());
        prop_assert!(lax.sign_flip_p().unwrap() >= lax.least_sign_p());
        prop_assert_eq!(k < 5 && lax.standing() != Standing::NotEnoughData, false);
    }
}

#[test]
fn pairs_show_what_windows_cannot() {
    let queue = Queue {
        start: 5,
        n: 8000,
        utilisation: 0.5,
    };
    let [a, same, slower] = queue.sojourns([1.0, 1.0, 1.3]);
    let compare = |b: &[Observation]| test_at(1.1).compare(&a, b).unwrap().unwrap().standing;
    assert_eq!(compare(&same), Standing::NonInferior);
    assert_eq!(compare(&slower), Standing::Inferior);
    let other = Queue { start: 6, ..queue };
    let [window] = other.sojourns([1.0]);
    let apart = unpaired::compare(&test_at(1.1), &a, &window)
        .unwrap()
        .unwrap();
    assert_eq!(apart.standing, Standing::NotEnoughData);
}

#[test]
fn a_queue_has_a_design_effect_and_independent_values_have_none() {
    let [queue] = Queue {
        start: 1,
        n: 4000,
        utilisation: 0.8,
    }
    .sojourns([1.0]);
    let mut generator = judge::prng::SplitMix64::new(2);
    let independent: Vec<Observation> = (0..4000)
        .map(|_| Observation::value(generator.unit()))
        .collect();
    let effect = |values: &[Observation]| {
        let interval = QuantileInterval::of(values, Ending::Value, Level::P95, 0.95);
        interval.unwrap().unwrap().design_effect.value()
    };
    assert!(effect(&queue) > 8.0, "{}", effect(&queue));
    assert!(effect(&independent) < 2.5, "{}", effect(&independent));
}

#[test]
fn many_early_aborts_prove_no_pass() {
    // A tenth of all clients left at once. What they would have waited is not known: no limit is kept for certain. What
    // they did wait is short: they count against no limit either.
    let values: Vec<Observation> = (0..4000_u32)
        .map(|at| match at % 10 {
            0 => Observation::censored(0.01),
            at => Observation::value(0.1 + f64::from(at) / 100.0),
        })
        .collect();
    for limit in [0.05, 0.15, 10.0] {
        let target = Target {
            level: Level::P95,
            limit,
            error: 0.0,
        };
        // Those who stayed waited up to 0.19.
        let expected = if limit < 0.19 {
            Decision::Fail
        } else {
            Decision::NotEnoughData
        };
        assert_eq!(target.decide(&values, 0.95).unwrap(), expected, "{limit}");
    }
    let test = test_at(1.1);
    let standing = test.compare(&values, &values).unwrap().unwrap().standing;
    assert_eq!(standing, Standing::NotEnoughData);
}

#[test]
fn the_error_of_the_instrument_stands_against_both_answers() {
    let values: Vec<Observation> = (0..4000_u32)
        .map(|at| Observation::value(f64::from(at * 619 % 1000)))
        .collect();
    let decide = |limit, error| {
        Target {
            level: Level::P95,
            limit,
            error,
        }
        .decide(&values, 0.95)
        .unwrap()
    };
    assert_eq!(decide(970.0, 0.0), Decision::Pass);
    assert_eq!(decide(970.0, 50.0), Decision::NotEnoughData);
    assert_eq!(decide(930.0, 0.0), Decision::Fail);
    assert_eq!(decide(930.0, 50.0), Decision::NotEnoughData);
}

#[test]
fn too_few_and_wrong_inputs_are_told_apart() {
    let few = vec![Observation::value(1.0); 19];
    assert_eq!(
        QuantileInterval::of(&few, Ending::Value, Level::P95, 0.95),
        Ok(None)
    );
    assert_eq!(test_at(1.1).compare(&few, &few), Ok(None));
    let wrong = test_at(1.1).compare(&few, &few[1..]).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "arm A has 19 entries and arm B has 18: they belong together one by one"
    );
    let low = QuantileInterval::of(&few, Ending::Value, Level::P05, 0.95);
    assert!(matches!(
        low,
        Err(JudgeError::OutOfRange {
            name: "quantile level",
            ..
        })
    ));
    assert_eq!(nearest_rank(&[], Level::P95), None);
}
