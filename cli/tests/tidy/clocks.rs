//! Who reads a clock.
//!
//! One monotonic clock, read as a socket's read or write returns: everything else is handed a stamp. A read anywhere else
//! would put the scheduler, a queue or a slow client into a figure. Tests are free, within clippy's bans.

use crate::finding::Finding;
use crate::lexer::{Token, reads as token_reads};
use crate::tree::Tree;

/// Files that may read a clock, and why.
const READERS: &[(&str, &str)] = &[
    ("upstream/src/clock.rs", "is the clock"),
    ("upstream/src/stamped.rs", "the engine's socket"),
    (
        "upstream/src/edge.rs",
        "the socket below TLS, on either side",
    ),
    ("proxy/src/accepted.rs", "the client's socket"),
    (
        "proxy/src/tls.rs",
        "the date, which certificates are valid by; no stamp is held against it",
    ),
    (
        "upstream/src/observer.rs",
        "an end that no read brings: a client that left, a limit that ran out",
    ),
    (
        "upstream/src/pump.rs",
        "how long a connection has been idle, before it is used again",
    ),
    (
        "proxy/src/lib.rs",
        "how long connections have been idle, looked through once a second",
    ),
    (
        "probe/src/watch.rs",
        "when the engine was asked for its load, which no exchange's read dates",
    ),
    (
        "replay/src/runner.rs",
        "when a request is due, and when it is sent: the arrival of what no socket brought",
    ),
    (
        "rig/src/clock.rs",
        "a known load's schedule, and the clock that simulator and proxy share in it",
    ),
];

/// Clock reads outside the files that may, and files that may but don't.
pub(crate) fn reads(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.sources().filter(|source| !source.is_tests()) {
        let tokens = source.production_tokens();
        let lines: Vec<usize> = (0..tokens.len())
            .filter(|at| is_read(&tokens, *at))
            .map(|at| tokens[at].line)
            .collect();
        if READERS.iter().any(|(path, _)| *path == source.path) {
            if lines.is_empty() {
                let message =
                    "reads no clock any more: take it off the list in cli/tests/tidy/clocks.rs";
                findings.push(Finding::new(&source.path, 0, message));
            }
            continue;
        }
        for line in lines {
            let message = "reads a clock: take a stamp as an argument, or stand in cli/tests/tidy/clocks.rs with a reason";
            findings.push(Finding::new(&source.path, line, message));
        }
    }
    findings
}

/// `X::now`, `x.now(`, `x.elapsed(`, and the one function that hands a reading on, at the word itself.
fn is_read(tokens: &[Token], at: usize) -> bool {
    let before = |sign: &str, distance: usize| at >= distance && tokens[at - distance].text == sign;
    let of_a_path = before(":", 1) && before(":", 2);
    let of_a_value = before(".", 1) && token_reads(tokens, at + 1, &["("]);
    match tokens[at].text.as_str() {
        "now" | "elapsed" => of_a_path || of_a_value,
        "stamp_now" => token_reads(tokens, at + 1, &["("]) && !before("fn", 1),
        _ => false,
    }
}

#[test]
fn a_read_is_found_in_every_spelling() {
    for read in [
        "Instant::now()",
        "std::time::SystemTime::now()",
        "clock.now()",
        "a.map(Instant::now)",
        "t.elapsed()",
    ] {
        let found = reads(&Tree::of(
            "wire/src/a.rs",
            &format!("//! D\nfn a() {{\n    log!({read});\n}}\n"),
        ));
        assert_eq!(
            found.iter().map(|one| one.line).collect::<Vec<_>>(),
            [3],
            "{read}"
        );
    }
}

#[test]
fn a_stamp_called_now_is_no_read() {
    let text = "//! D\nfn a(now: u64) -> u64 {\n    self.now = now;\n    // clock.now()\n    at.now + now + Burst { at: now }.at\n}\n";
    assert_eq!(reads(&Tree::of("wire/src/a.rs", text)), []);
    let tests = "//! D\n#[cfg(test)]\nmod tests {\n    fn a() { Instant::now(); }\n}\n";
    assert_eq!(reads(&Tree::of("wire/src/a.rs", tests)), []);
}

#[test]
fn an_exception_that_is_not_needed_is_a_finding() {
    assert_eq!(
        reads(&Tree::of("upstream/src/clock.rs", "//! D\n")).len(),
        1
    );
}
