//! From records to populations and windows.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::vectors::case::Case;
use crate::vectors::{File, own_folder, streams};
use judge::Quantity;
use judge::window::{Stay, Window};
use measure::Record;

fn records() -> Vec<Record> {
    let file = File::read(&own_folder().join("17_stream_metrics.json")).unwrap();
    let cases = file.whole["cases"].as_array().unwrap().iter();
    cases
        .map(|case| streams::record(&Case::of(case)).unwrap())
        .collect()
}

#[test]
fn a_population_keeps_what_was_cut_off_and_leaves_what_has_no_value() {
    let records = records();
    let ttft = Quantity::Ttft.population(&records);
    assert_eq!(ttft.len(), records.len());
    // One of them timed out after 10 s without a token.
    let cut: Vec<f64> = ttft
        .iter()
        .filter(|one| one.censored)
        .map(|one| one.observed)
        .collect();
    assert_eq!(cut, [10.0]);
    // A single burst has no TPOT, unless more was to come.
    let tpot = Quantity::Tpot.population(&records);
    let single = records.iter().filter(|one| one.bursts == 1).count();
    assert_eq!(tpot.len(), records.len() - single);
}

#[test]
fn a_stream_that_a_slow_client_paced_is_no_evidence() {
    let mut records = records();
    let all = Quantity::Ttft.population(&records).len();
    records[0].flags.client_limited = true;
    assert_eq!(Quantity::Ttft.population(&records).len(), all - 1);
}

#[test]
fn a_window_of_records_is_that_of_their_stays() {
    let records = records();
    let stays: Vec<Stay> = records.iter().map(Stay::from).collect();
    let window = Window::of(&stays).unwrap();
    let ends = records.iter().map(|record| record.stamps.end);
    assert_eq!(Some(window.end()), ends.max());
    assert!((window.mean().unwrap() - window.little().unwrap()).abs() < 1e-9);
}
