//! Waiting for another process to come round to something.

use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(50);
const TRIES: u32 = 2400;

/// Asks until there is an answer, for two minutes at most; then the test fails, saying what did not happen.
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    for _ in 0..TRIES {
        if let Some(answer) = ask() {
            return answer;
        }
        pause();
    }
    panic!("{what}: not within {:?}", PAUSE * TRIES);
}

#[expect(
    clippy::disallowed_methods,
    reason = "another process has no event that this one could wait for"
)]
fn pause() {
    std::thread::sleep(PAUSE);
}
