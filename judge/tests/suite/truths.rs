//! Closed forms against other forms of themselves, and windows against their definition.

use judge::Observation;
use judge::censoring::CensoredQuantile;
use judge::cost::Replica;
use judge::fluidity::{Deadlines, Fluidity};
use judge::omission::one_sender;
use judge::quantile::Level;
use judge::queueing::{Md1, Mm1, Mmc};
use judge::rate_scaling::{superpose, warp};
use judge::sample_size::{for_half_width, for_paired_accuracy};
use judge::saturation::{Saturation, Trend};
use judge::warm_up::WarmUp;
use judge::window::{Stay, Window};
use measure::Nanos;
use proptest::collection::vec;
use proptest::prelude::*;

/// Erlang's sum, whose signs alternate: right only for a few service times.
fn erlang_sum(rho: f64, x: f64) -> f64 {
    let mut sum = 0.0;
    let mut i = 0.0;
    let mut factorial = 1.0;
    while i <= x {
        let u = rho * (i - x);
        sum += u.powf(i) / factorial * (-u).exp();
        i += 1.0;
        factorial *= i;
    }
    (1.0 - rho) * sum
}

proptest! {
    #[test]
    fn a_constant_server_is_erlangs_near_and_a_distribution_far(rho in 0.05..0.95_f64, x in 0.0..8.0_f64) {
        let queue = Md1::new(rho, 1.0).unwrap();
        prop_assert!((queue.wait_at_most(x) - erlang_sum(rho, x)).abs() < 1e-9);
        let far: Vec<f64> = (0..60_u32).map(|k| queue.wait_at_most(f64::from(k))).collect();
        prop_assert!(far.is_sorted() && far.iter().all(|share| (0.0..=1.0).contains(share)));
        let p = 0.99;
        let at = queue.wait_quantile(p);
        prop_assert!(at == 0.0 || (queue.wait_at_most(at) - p).abs() < 1e-9);
    }

    #[test]
    fn one_of_several_servers_is_one_server(arrivals in 0.05..0.95_f64) {
        let (one, several) = (Mm1::new(arrivals, 1.0).unwrap(), Mmc::new(1, arrivals, 1.0).unwrap());
        prop_assert!((several.erlang_c() - arrivals).abs() < 1e-12);
        prop_assert!((several.mean_wait() + 1.0 - one.mean_sojourn()).abs() < 1e-9);
        prop_assert!(Mmc::new(200, 150.0 * arrivals, 1.0).unwrap().erlang_c() < 1.0);
    }

    #[test]
    fn what_is_cut_off_lies_between_its_ends(values in vec((0.1..10.0_f64, any::<bool>()), 1..60), ppm in 1_u32..1_000_000) {
        let observations: Vec<Observation> = values.iter().map(|(observed, censored)| Observation { observed: *observed, censored: *censored }).collect();
        let quantile = CensoredQuantile::of(&observations, Level::new(f64::from(ppm) / 1e6).unwrap()).unwrap();
        prop_assert!(quantile.best_case <= quantile.worst_case);
        prop_assert!(quantile.kaplan_meier.is_none_or(|km| quantile.best_case <= km && km <= quantile.worst_case));
        prop_assert!(quantile.completed_only.is_none_or(|only| only <= quantile.worst_case));
    }

    #[test]
    fn little_holds_over_a_window(stays in vec((0_u64..1000, 1_u64..300), 1..40)) {
        let stays: Vec<Stay> = stays.iter().map(|(arrival, life)| Stay {
            arrival: Nanos(*arrival),
            end: Nanos(arrival + life),
            at_arrival: 0,
        }).collect();
        let window = Window::of(&stays).unwrap();
        let (mean, little) = (window.mean().unwrap(), window.little().unwrap());
        prop_assert!((mean - little).abs() < 1e-9 * mean);
        prop_assert!(window.quantile(Level::P50) <= window.quantile(Level::P95));
        prop_assert_eq!(window.quantile(Level::P100), Some(window.max()));
        let spent: u64 = window.time_at_level().map(|(_, time)| time.0).sum();
        prop_assert_eq!(spent, window.end().since(window.start()).0);
    }

    #[test]
    fn fluidity_is_a_share(times in vec(0.0..500.0_f64, 1..40), first in 1.0..300.0_f64, between in 1.0..50.0_f64) {
        let deadlines = Deadlines { first, between };
        let fluidity = Fluidity::of(&times, deadlines);
        prop_assert!((0.0..=1.0).contains(&fluidity.index().unwrap()));
        let patient = Fluidity::of(&times, Deadlines { first: 1e6, ..deadlines });
        prop_assert_eq!(patient.missed, 0);
    }

    #[test]
    fn a_sender_that_waits_is_late_by_what_it_hides(service in vec(0.0..100.0_f64, 1..50), interval in 1.0..50.0_f64) {
        for sent in one_sender(&service, interval) {
            prop_assert!(sent.lag >= 0.0);
            prop_assert!((sent.response - sent.lag - sent.service).abs() < 1e-6);
        }
    }
}

#[test]
fn a_queue_that_grows_for_ever_has_no_closed_form() {
    assert!(Mm1::new(1.0, 1.0).is_err());
    assert!(Mmc::new(0, 1.0, 1.0).is_err());
    assert_eq!(
        Md1::new(2.0, 1.0).unwrap_err().to_string(),
        "utilisation is 2: give a number below 1: at 1 the queue grows for ever"
    );
}

#[test]
fn fault_76_what_is_no_number_is_refused_and_nothing_is_reported_of_it() {
    let level = Level::new(0.99).unwrap();
    let replica = |sustainable_tok_s| Replica {
        sustainable_tok_s,
        target_utilisation: 0.5,
        gpus: 2,
    };
    assert_eq!(replica(100.0).fleet_for(120.0).unwrap().gpus, 6);
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
        let refusals = [
            warp(&[1.0], odd).err(),
            superpose(&[1.0], 0.0, odd).err(),
            for_half_width(level, odd, 0.95).err(),
            for_half_width(level, 0.01, odd).err(),
            for_paired_accuracy(odd, 0.01, 0.05, 0.8).err(),
            for_paired_accuracy(0.1, odd, 0.05, 0.8).err(),
            replica(odd).fleet_for(1.0).err(),
            replica(1.0).fleet_for(odd).err(),
            Level::new(odd).err(),
        ];
        for (place, refusal) in refusals.into_iter().enumerate() {
            let said = refusal
                .unwrap_or_else(|| panic!("{place} takes {odd}"))
                .to_string();
            assert!(said.contains(&format!(" is {odd}: give ")), "{said}");
        }
    }
}

#[test]
fn a_line_without_scatter_is_told_from_none() {
    let rising: Vec<f64> = (1..=20).map(f64::from).collect();
    assert!(Trend::of(&rising).unwrap().rising);
    let constant = Trend::of(&[3.0; 20]).unwrap();
    assert_eq!((constant.t, constant.rising), (0.0, false));
    // 20 batches of 5; one more value is left out.
    let values: Vec<f64> = (0..101).map(f64::from).collect();
    let one = Saturation::of(&values, &[1.0; 101]).unwrap();
    assert!(one.in_flight.rising && !one.ttft.rising && !one.saturated());
    assert_eq!(Saturation::of(&values[..19], &values[..19]), None);
}

#[test]
fn a_run_that_never_settles_says_so() {
    let falling: Vec<f64> = (0..200).map(|at| 1000.0 - f64::from(at)).collect();
    assert!(!WarmUp::of(&falling).stationary);
    let settled: Vec<f64> = (0..200)
        .map(|at| if at < 20 { 1000.0 } else { f64::from(at % 7) })
        .collect();
    let warm_up = WarmUp::of(&settled);
    assert_eq!((warm_up.values(), warm_up.stationary), (20, true));
    assert!(!WarmUp::of(&[]).stationary);
}
