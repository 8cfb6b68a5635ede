//! What the proxy, and observers that misbehave, add to the delay of an event: by turns with and without.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a benchmark prints its figures"
)]

use rig::paired::{self, Paired};
use std::path::Path;

fn main() -> Result<(), rig::Error> {
    let binary = Path::new(env!("CARGO_BIN_EXE_loadproof"));
    show(
        "three events in lockstep, around the proxy and through it",
        paired::lockstep(binary)?,
    );
    let observed = paired::observers(binary)?;
    show("an event, observers well and bad", observed.delays);
    Ok(())
}

fn show(what: &str, delays: Paired) {
    let Paired {
        without_us,
        with_us,
    } = delays;
    let ratio = |of: Option<f64>| of.map_or_else(|| "?".to_owned(), |ratio| format!("{ratio:.2}"));
    println!(
        "{what}: p50 {:.0?} and {:.0?} µs, × {}",
        without_us.p50,
        with_us.p50,
        ratio(delays.median_ratio())
    );
    println!(
        "{what}: p99 {:.0?} and {:.0?} µs, × {}",
        without_us.p99,
        with_us.p99,
        ratio(delays.p99_ratio())
    );
}
