//! Prefix reuse, rates, fidelity and the search for a rate, beyond the vectors.

use judge::Decision;
use judge::fidelity::{Arrivals, Lengths, ScheduleLag, spearman};
use judge::prefix::{BlockIds, Hashing, Key, Mac, PrefixCache, Row};
use judge::prng::SplitMix64;
use judge::rate_scaling::{Thinning, spread_grid, superpose, upsample, warp};
use judge::rate_search::{RateRange, RateSearch, SearchEnd, SearchStep};
use proptest::collection::vec;
use proptest::prelude::*;

fn hashing(key: u8) -> Hashing {
    Hashing {
        mac: Mac::Blake3Keyed,
        key: Key::new([key; 32]),
        block_tokens: 3,
        include_partial: true,
    }
}

/// Ascending times from gaps.
fn ascending(gaps: &[f64]) -> Vec<f64> {
    let mut now = 0.0;
    gaps.iter()
        .map(|gap| {
            now += gap;
            now
        })
        .collect()
}

proptest! {
    #[test]
    fn ids_are_those_of_prefixes_whatever_the_key(prompts in vec(vec(0_u32..3, 0..12), 1..20)) {
        let ids_under = |key| {
            let mut ids = BlockIds::default();
            prompts.iter().map(|prompt| ids.of(&hashing(key).hashes(prompt))).collect::<Vec<_>>()
        };
        let ids = ids_under(1);
        prop_assert_eq!(&ids, &ids_under(2));
        for (one, one_ids) in prompts.iter().zip(&ids) {
            for (other, other_ids) in prompts.iter().zip(&ids) {
                for block in 0..one_ids.len().min(other_ids.len()) {
                    let until = |prompt: &[u32]| prompt.len().min((block + 1) * 3);
                    let same = one[..until(one)] == other[..until(other)];
                    prop_assert_eq!(same, one_ids[block] == other_ids[block]);
                }
            }
        }
    }

    #[test]
    fn a_larger_cache_reuses_no_less(prompts in vec(vec(0_u32..2, 1..15), 1..40), small in 0_usize..10, more in 0_usize..10) {
        let mut ids = BlockIds::default();
        let blocks: Vec<Vec<u64>> = prompts.iter().map(|prompt| ids.of(&hashing(1).hashes(prompt))).collect();
        let cached = |capacity| {
            let rows = prompts.iter().zip(&blocks).map(|(prompt, blocks)| Row { blocks, input_tokens: prompt.len() as u64 });
            PrefixCache::new(3, capacity).serve(rows)
        };
        let (less, more, all) = (cached(Some(small)), cached(Some(small + more)), cached(None));
        for ((less, more), all) in less.cached_tokens.iter().zip(&more.cached_tokens).zip(&all.cached_tokens) {
            prop_assert!(less <= more && more <= all);
        }
        prop_assert!(all.token_hit_rate().unwrap() <= 1.0);
    }

    #[test]
    fn scaling_keeps_what_it_says(gaps in vec(0.0..3.0_f64, 1..50), k in 1_u32..5, start in any::<u64>()) {
        let times = ascending(&gaps);
        let end = times.last().unwrap() + 1.0;
        let more = upsample(&times, k, end, &mut SplitMix64::new(start));
        prop_assert_eq!(more.len(), times.len() * k as usize);
        prop_assert!(more.is_sorted() && times.iter().all(|time| more.contains(time)));
        prop_assert!(more.iter().all(|time| times[0] <= *time && *time <= end));
        let both = superpose(&times, 1.5, end).unwrap();
        prop_assert!(both.is_sorted() && both.len() == 2 * times.len());
        let warped = warp(&warp(&times, 4.0).unwrap(), 0.25).unwrap();
        prop_assert_eq!(warped, times);
    }

    #[test]
    fn a_grid_is_spread_within_itself(counts in vec(1_usize..6, 2..10)) {
        let times: Vec<f64> = counts.iter().enumerate().flat_map(|(at, count)| vec![at as f64 * 3.0; *count]).collect();
        let spread = spread_grid(&times);
        prop_assert!(spread.is_sorted());
        prop_assert!(times.iter().zip(&spread).all(|(time, spread)| *time < *spread && *spread < time + 3.0));
        prop_assert_eq!(Arrivals::new(&spread, 100.0).distinct_ratio(), Some(1.0));
    }

    #[test]
    fn whole_conversations_stay_and_more_with_more(ids in vec("[a-z]{1,6}", 1..50), keep in 0.0..1.0_f64) {
        let keeps = |keep, id: &str| Thinning { key: b"key", keep }.keeps(id.as_bytes());
        for id in &ids {
            prop_assert!(!keeps(keep, id) || keeps((keep + 1.0) / 2.0, id));
            prop_assert!(!keeps(0.0, id) && keeps(1.0, id));
        }
    }

    #[test]
    fn a_distribution_is_like_itself(a in vec(0.0..100.0_f64, 1..60), b in vec(0.0..100.0_f64, 1..60)) {
        let mut shuffled = a.clone();
        shuffled.reverse();
        let same = Lengths::compare(&a, &shuffled).unwrap();
        prop_assert_eq!((same.ks, same.wasserstein, same.energy), (0.0, 0.0, 0.0));
        let (one, other) = (Lengths::compare(&a, &b).unwrap(), Lengths::compare(&b, &a).unwrap());
        prop_assert!((one.ks - other.ks).abs() < 1e-12 && (one.wasserstein - other.wasserstein).abs() < 1e-9);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        prop_assert!(one.wasserstein >= (mean(&a) - mean(&b)).abs() - 1e-9);
    }

    #[test]
    fn ranks_correlate_with_themselves(values in vec(0.0..100.0_f64, 2..40)) {
        let turned: Vec<f64> = values.iter().map(|value| -value).collect();
        let with = |other: &[f64]| spearman(&values, other).unwrap();
        if let Some(same) = with(&values) {
            prop_assert!((same - 1.0).abs() < 1e-9);
            prop_assert!((with(&turned).unwrap() + 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_search_ends_at_a_rate_that_passed(passes in 0.5..20.0_f64, grey in 0.0..5.0_f64, hi in 1.1..16.0_f64, max_steps in 2_usize..20) {
        let mut search = RateSearch::new(RateRange { lo: 1.0, hi, relative_tolerance: 0.05, max_steps }).unwrap();
        let found = loop {
            match search.next_step() {
                SearchStep::Done(found) => break found,
                SearchStep::Run(rate) => search.record(
                    if rate <= passes { Decision::Pass } else if rate > passes + grey { Decision::Fail } else { Decision::NotEnoughData }
                ),
            }
        };
        prop_assert!(search.steps().len() <= max_steps.max(2));
        prop_assert_eq!(found.rate.is_none(), found.reason == SearchEnd::LowestDoesNotPass);
        if let Some(rate) = found.rate {
            prop_assert!(search.steps().contains(&(rate, Decision::Pass)));
        }
        if found.reason == SearchEnd::Converged {
            let (lo, hi) = found.bracket.unwrap();
            prop_assert!((hi - lo) / lo <= 0.05 && lo <= passes && hi > passes);
        }
    }
}

#[test]
fn a_late_tail_is_not_hidden_by_a_prompt_median() {
    let planned: Vec<f64> = (0..200).map(f64::from).collect();
    let with_late = |count: usize| -> Vec<f64> {
        planned
            .iter()
            .enumerate()
            .map(|(at, time)| {
                if at > 0 && at <= count {
                    time + 0.2
                } else {
                    *time
                }
            })
            .collect()
    };
    let valid = |actual: &[f64]| ScheduleLag::of(&planned, actual, 0.5).unwrap().is_valid();
    assert!(valid(&planned) && valid(&with_late(2)));
    assert!(!valid(&with_late(3)));
    let slower: Vec<f64> = planned.iter().map(|time| time * 1.02).collect();
    assert!(!valid(&slower));
    assert!(ScheduleLag::of(&[1.0], &[1.0], 0.5).unwrap().is_valid());
}

#[test]
fn only_whole_blocks_are_hashed_where_that_is_asked_for() {
    let whole = Hashing {
        include_partial: false,
        ..hashing(1)
    };
    assert_eq!(whole.hashes(&[1, 2, 3, 4]).len(), 1);
    assert_eq!(hashing(1).hashes(&[1, 2, 3, 4]).len(), 2);
    assert_eq!(
        format!("{whole:?}").matches("Key(…)").count(),
        1,
        "a key is never printed"
    );
}
