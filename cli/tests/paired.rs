//! What must not slow a stream does not, by turns with it and without. The bounds are wide: the machine is shared, and what
//! they are to find is far beyond them. `make bench` prints the figures.

use rig::paired;
use std::path::Path;

const BINARY: &str = env!("CARGO_BIN_EXE_loadproof");

#[test]
fn fault_20_no_event_waits_for_the_next_nor_for_an_acknowledgement() {
    let delays = paired::lockstep(Path::new(BINARY)).unwrap();
    assert_eq!((delays.without_us.n, delays.with_us.n), (600, 600));
    // A delayed acknowledgement takes 40 ms, some hundred times what the way around takes.
    assert!(delays.median_ratio().unwrap() < 25.0, "{delays:?}");
}

#[test]
fn fault_53_observers_that_are_dead_slow_or_endless_slow_no_stream() {
    let observed = paired::observers(Path::new(BINARY)).unwrap();
    let delays = observed.delays;
    assert_eq!((delays.without_us.n, delays.with_us.n), (1920, 1920));
    // Each bad turn met one at least, and the last of them may not be over.
    assert!(observed.bad_answers >= 6, "{observed:?}");
    assert!(observed.bad_counted >= 5, "{observed:?}");
    // Whoever waits for an observer waits for as long as the turn takes, some thousand times what an event takes.
    assert!(delays.median_ratio().unwrap() < 20.0, "{observed:?}");
    assert!(delays.p99_ratio().unwrap() < 50.0, "{observed:?}");
}
