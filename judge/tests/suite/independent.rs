//! Independent values: ranks, shares, sizes, repeated looks.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use judge::quantile::{Level, Sorted};
use judge::sample_size::{Gap, ShareQuestion, TimeToAnswer, for_exceedances};
use judge::sequential::SequentialTest;
use judge::share::{Share, most_exceedances, newcombe};
use judge::{Decision, confidence_sequence, early_stopping, rank_interval};
use proptest::collection::vec;
use proptest::prelude::*;

fn level() -> impl Strategy<Value = Level> {
    (1_u32..1_000_000).prop_map(|ppm| Level::new(f64::from(ppm) / 1e6).unwrap())
}

proptest! {
    #[test]
    fn nearest_rank_is_the_smallest_value_that_covers_its_share(values in vec(-1e6..1e6_f64, 1..200), level in level()) {
        let sorted = Sorted::new(values);
        let quantile = sorted.quantile(level).unwrap();
        let share = |at_most: u64| at_most as f64 / sorted.len() as f64;
        prop_assert!(share(sorted.at_most(quantile)) >= level.p() - 1e-12);
        let below = sorted.as_slice().iter().filter(|value| **value < quantile).count();
        prop_assert!(share(below as u64) < level.p());
        prop_assert!(sorted.min() <= Some(quantile) && Some(quantile) <= sorted.max());
        prop_assert!(sorted.quantile_floor(level) >= Some(quantile));
        let linear = sorted.quantile_linear(level).unwrap();
        prop_assert!(sorted.min().unwrap() <= linear && linear <= sorted.max().unwrap());
    }

    #[test]
    fn ranks_cover_and_surround(n in 1_u64..3000, level in level(), confidence in 0.5..0.999_f64) {
        let ranks = rank_interval::two_sided(n, level, confidence).unwrap();
        prop_assert!(ranks.coverage.is_none_or(|coverage| coverage >= confidence - 1e-9));
        prop_assert!(ranks.lower.is_none_or(|rank| rank <= level.rank(n)));
        prop_assert!(ranks.upper.is_none_or(|rank| rank >= level.rank(n)));
        let upper = rank_interval::upper_bound(n, level, confidence).unwrap();
        prop_assert_eq!(upper.is_some(), n >= rank_interval::least_for_upper_bound(level, confidence).unwrap());
        let both = ranks.lower.is_some() && ranks.upper.is_some();
        prop_assert_eq!(both, n >= rank_interval::least_for_two_sided(level, confidence).unwrap());
        // Early stopping is never less careful than Wilks's bound.
        let estimate = early_stopping::estimate(n, level, confidence).unwrap();
        prop_assert!(estimate.is_none_or(|estimate| Some(estimate.rank) >= upper));
    }

    #[test]
    fn bounds_of_a_share_surround_it_and_narrow(part in 0_u32..200, rest in 1_u32..2000, scale in 2_u32..20) {
        let of = |part: u32, rest: u32| Share::new(f64::from(part), f64::from(part + rest)).unwrap();
        let (small, large) = (of(part, rest), of(part * scale, rest * scale));
        for bounds in [small.clopper_pearson(0.95), small.wilson(0.95)] {
            prop_assert!(bounds.contains(small.value()));
        }
        prop_assert!(large.upper(0.95) <= small.upper(0.95) + 1e-12);
        prop_assert!(large.lower(0.95) >= small.lower(0.95) - 1e-12);
        let effective = large.effective(f64::from(scale));
        prop_assert!((effective.upper(0.95) - small.upper(0.95)).abs() < 1e-9);
        let difference = newcombe(small, large, 0.95);
        prop_assert!(difference.contains(small.value() - large.value()));
        prop_assert!(!(small.p_value_at_least(0.1) < 0.05 && small.p_value_at_most(0.1) < 0.05));
    }

    #[test]
    fn the_most_exceedances_pass_and_one_more_does_not(n in 1_u64..3000, p0 in 0.001..0.5_f64) {
        let p_value = |k: u64| Share::new(k as f64, n as f64).unwrap().p_value_at_least(p0);
        let most = most_exceedances(n, p0, 0.05).unwrap();
        prop_assert!(most.is_none_or(|most| p_value(most) <= 0.05));
        let next = most.map_or(0, |most| most + 1);
        prop_assert!(next > n || p_value(next) > 0.05);
    }

    #[test]
    fn a_size_is_enough_and_one_less_is_not(limit in 0.01..0.2_f64, part in 0.1..0.8_f64) {
        let question = ShareQuestion { limit, truth: limit * part, alpha: 0.05, power: 0.8 };
        let size = question.size().unwrap();
        prop_assert!(size.power >= 0.8);
        let before = most_exceedances(size.requests - 1, limit, 0.05).unwrap();
        let power = |n: u64, k: u64| Share::new(k as f64, n as f64).unwrap().p_value_at_least(question.truth);
        prop_assert!(before.is_none_or(|k| power(size.requests - 1, k) < 0.8));
        for n in size.requests..size.requests + 300 {
            let allowed = most_exceedances(n, limit, 0.05).unwrap().unwrap();
            prop_assert!(power(n, allowed) >= 0.8, "{n}");
        }
    }

    #[test]
    fn what_a_guard_lacks_is_what_it_needs(n in 1_u64..5000, effect in 1.0..100.0_f64) {
        let gap = Gap::Guard { design_effect: effect, level: Level::P95 };
        let TimeToAnswer::More { requests, hours } = gap.time_to_answer(n, 2.0) else {
            return Err(TestCaseError::fail("a guard is never hopeless"));
        };
        let enough = |n: u64| n as f64 * 0.05 / effect >= 10.0 - 1e-6;
        prop_assert!(enough(n + requests));
        prop_assert!(requests == 0 || !enough(n + requests - 2));
        prop_assert_eq!(n + requests, for_exceedances(Level::P95, effect).max(n));
        prop_assert_eq!(hours, Some(requests as f64 / 7200.0));
    }

    #[test]
    fn repeated_looks_never_prove_both(over in 0.0..500.0_f64, within in 0.0..5000.0_f64, p0 in 0.01..0.5_f64) {
        let test = SequentialTest::new(p0, 0.05).unwrap();
        let evidence = test.look(over, over + within).unwrap();
        prop_assert!(evidence.log_e_pass.min(evidence.log_e_fail) < 20.0_f64.ln());
        // One look alone may decide earlier, never the other way.
        let once = Share::new(over, over + within.max(1e-9)).unwrap().decide(p0);
        prop_assert!(evidence.decision == Decision::NotEnoughData || once == evidence.decision);
    }

    #[test]
    fn what_holds_at_all_times_is_wider_than_what_holds_once(n in 100_u64..20_000) {
        let ranks = confidence_sequence::one_quantile(Level::P95, n, 1000.0, 0.025).unwrap();
        let once = rank_interval::two_sided(n, Level::P95, 0.95).unwrap();
        prop_assert!(ranks.lower_rank <= once.lower);
        prop_assert!(ranks.upper_rank.is_none_or(|rank| Some(rank) >= once.upper));
        let radius = confidence_sequence::all_quantiles(n as f64, 100.0, 0.05).unwrap();
        prop_assert!(radius > confidence_sequence::one_look(n as f64, 0.05));
    }
}

#[test]
fn none_of_many_is_within_wilsons_interval() {
    // 0 of 195: the lower end came out as 3e-18, above the share itself.
    for n in 1..500 {
        let of = |part| Share::new(part, f64::from(n)).unwrap().wilson(0.95);
        assert_eq!((of(0.0).lower, of(f64::from(n)).upper), (0.0, 1.0), "{n}");
    }
}

#[test]
fn the_constants_of_the_bound_for_all_quantiles() {
    for (alpha, expected) in [
        (0.1, 7.622_974),
        (0.05, 8.122_719),
        (0.025, 8.622_649),
        (0.01, 9.283_544),
    ] {
        let constant = confidence_sequence::constant(alpha).unwrap();
        assert!((constant - expected).abs() < 1e-6, "{alpha}: {constant}");
    }
}

#[test]
fn more_data_do_not_mend_an_estimate_that_misses() {
    let gap = Gap::Statistic {
        t: 0.5,
        critical: 2.1,
    };
    assert_eq!(gap.time_to_answer(100, 1.0), TimeToAnswer::Hopeless);
    let without_traffic = Gap::Statistic {
        t: -1.0,
        critical: 2.0,
    }
    .time_to_answer(100, 0.0);
    assert_eq!(
        without_traffic,
        TimeToAnswer::More {
            requests: 300,
            hours: None
        }
    );
    assert_eq!(without_traffic.to_string(), "about 300 more requests");
    assert_eq!(
        without_traffic.and(TimeToAnswer::Hopeless),
        TimeToAnswer::Hopeless
    );
}

#[test]
fn a_share_believed_to_miss_needs_no_size() {
    let question = ShareQuestion {
        limit: 0.05,
        truth: 0.05,
        alpha: 0.05,
        power: 0.8,
    };
    assert_eq!(
        question.size().unwrap_err().to_string(),
        "share believed to be true is 0.05: give a number from 0 to below the limit"
    );
}
