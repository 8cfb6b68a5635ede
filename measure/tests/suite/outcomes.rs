//! The whole matrix: from how it ended, the status and the answer to the outcome.

use crate::script::{answer, answered, cut, exactly, identity, ms, stream_facts};
use measure::{Blame, End, Exchange, Flag, InFlight, Outcome, Record};
use std::sync::Arc;
use wire::{Anomaly, Answer, FinishState, Terminator};

/// An answer in this state, with this mark.
fn stated(state: FinishState, terminator: Option<Terminator>) -> Option<Answer> {
    Some(Answer {
        state,
        terminator,
        ..answer()
    })
}

fn opaque() -> Option<Answer> {
    Some(Answer {
        anomalies: vec![(Anomaly::Opaque, 1)],
        ..cut()
    })
}

/// How far an exchange came before it ended.
#[derive(Debug, Clone)]
struct Came {
    status: Option<u16>,
    token: bool,
    answer: Option<Answer>,
    flag: Option<Flag>,
}

fn came(status: u16, token: bool, answer: Option<Answer>) -> Came {
    Came {
        status: Some(status),
        token,
        answer,
        flag: None,
    }
}

fn finish(came: &Came, end: End) -> Record {
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 0);
    exchange.on_body_sent(ms(1));
    if let Some(status) = came.status {
        exchange.on_response_head(ms(2), status);
    }
    if came.token {
        exchange.on_read(ms(3), 1, &[exactly(1)]);
    }
    if let Some(flag) = came.flag {
        exchange.flag(flag);
    }
    exchange.on_end(ms(4), end);
    exchange.finish(came.answer.clone())
}

/// The ends that are decided by themselves, whatever came before them.
const DECIDED: [(End, &str); 3] = [
    (End::ConnectFailed, "connect_failed"),
    (End::RejectedMalformed, "rejected_malformed"),
    (End::RejectedLimit, "rejected_limit"),
];

/// The other ends, in the order of the columns below.
const COLUMNS: [End; 8] = [
    End::Clean,
    End::Truncated,
    End::Reset,
    End::ClientGone,
    End::SlowClient,
    End::TimeoutTtft,
    End::TimeoutIdle,
    End::Drained,
];

/// What stands in the last four columns wherever neither the status nor the answer decides.
const LIMITS: [&str; 4] = ["slow_client", "timeout_ttft", "timeout_idle", "drained"];

/// Checks a row: outcomes by clean end, truncation, reset and the client's going, and by our own limits.
fn check(row: &str, came: &Came, transport: [&str; 4], limits: [&str; 4]) {
    for (end, expected) in COLUMNS
        .into_iter()
        .zip(transport.into_iter().chain(limits))
        .chain(DECIDED)
    {
        assert_eq!(
            finish(came, end).outcome.as_str(),
            expected,
            "{row}, {end:?}"
        );
    }
}

#[test]
fn before_a_head() {
    let came = Came {
        status: None,
        token: false,
        answer: None,
        flag: None,
    };
    let broke = "upstream_reset";
    check(
        "no head",
        &came,
        [broke, broke, broke, "client_abort_prefill"],
        LIMITS,
    );
}

#[test]
fn with_the_terminal_mark() {
    let row = ["ok", "upstream_truncated", "upstream_reset", "ok"];
    let done = stated(FinishState::Complete, Some(Terminator::Done));
    check(
        "[DONE], tokens",
        &came(200, true, done.clone()),
        row,
        LIMITS,
    );
    check(
        "[DONE], no token",
        &came(200, false, done.clone()),
        row,
        LIMITS,
    );
    check(
        "JSON body",
        &came(
            200,
            false,
            stated(FinishState::Complete, Some(Terminator::Body)),
        ),
        row,
        LIMITS,
    );
    check("accepted", &came(202, true, done), row, LIMITS);
}

#[test]
fn a_client_that_left_with_bytes_owed_to_it_did_not_get_its_answer() {
    let done = stated(FinishState::Complete, Some(Terminator::Done));
    let owed = Came {
        flag: Some(Flag::Undelivered),
        ..came(200, true, done)
    };
    check(
        "owed",
        &owed,
        [
            "ok",
            "upstream_truncated",
            "upstream_reset",
            "client_abort_decode",
        ],
        LIMITS,
    );
}

#[test]
fn without_the_terminal_mark() {
    let row = |gone| ["sse_no_done", "upstream_truncated", "upstream_reset", gone];
    for (name, answer) in [
        (
            "finish reasons only",
            stated(FinishState::Complete, Some(Terminator::Missing)),
        ),
        (
            "complete, no mark at all",
            stated(FinishState::Complete, None),
        ),
        ("cut", stated(FinishState::Cut, None)),
        (
            "a mark seen, yet cut",
            stated(FinishState::Cut, Some(Terminator::Done)),
        ),
    ] {
        check(
            name,
            &came(200, true, answer.clone()),
            row("client_abort_decode"),
            LIMITS,
        );
        check(
            name,
            &came(200, false, answer),
            row("client_abort_prefill"),
            LIMITS,
        );
    }
}

#[test]
fn the_engine_gave_up_and_said_so() {
    let aborted = stated(FinishState::Aborted, Some(Terminator::Done));
    let row = [
        "sse_error_event",
        "upstream_truncated",
        "upstream_reset",
        "client_abort_decode",
    ];
    check("aborted", &came(200, true, aborted), row, LIMITS);
}

#[test]
fn an_error_inside_a_good_status_whatever_follows() {
    for state in [FinishState::Errored, FinishState::Rejected] {
        for terminator in [None, Some(Terminator::Done), Some(Terminator::Missing)] {
            let row = format!("{state:?}, {terminator:?}");
            let came = came(200, true, stated(state, terminator));
            check(&row, &came, ["sse_error_event"; 4], ["sse_error_event"; 4]);
        }
    }
}

#[test]
fn a_status_of_400_or_more_whatever_follows() {
    for (status, outcome) in [
        (400, "upstream_4xx"),
        (404, "upstream_4xx"),
        (428, "upstream_4xx"),
        (429, "upstream_429"),
        (430, "upstream_4xx"),
        (499, "upstream_4xx"),
        (500, "upstream_5xx"),
        (503, "upstream_5xx"),
        (599, "upstream_5xx"),
        (999, "upstream_5xx"),
    ] {
        for answer in [
            None,
            Some(cut()),
            Some(answer()),
            stated(FinishState::Rejected, None),
        ] {
            check(
                &status.to_string(),
                &came(status, false, answer),
                [outcome; 4],
                [outcome; 4],
            );
        }
    }
}

#[test]
fn an_answer_that_was_not_read_is_taken_at_the_transports_word() {
    let row = [
        "ok",
        "upstream_truncated",
        "upstream_reset",
        "client_abort_prefill",
    ];
    check("nobody decoded", &came(200, false, None), row, LIMITS);
    check("compressed", &came(200, false, opaque()), row, LIMITS);
    let panicked = Came {
        flag: Some(Flag::Unobserved),
        ..came(200, false, Some(cut()))
    };
    check("observer failed", &panicked, row, LIMITS);
}

#[test]
fn a_redirect_is_no_answer() {
    let row = [
        "sse_no_done",
        "upstream_truncated",
        "upstream_reset",
        "client_abort_prefill",
    ];
    check("302", &came(302, false, None), row, LIMITS);
    check("302, compressed", &came(302, false, opaque()), row, LIMITS);
}

/// Every combination there is, for what must hold in all of them.
#[test]
fn the_outcome_is_total() {
    let marks = [
        None,
        Some(Terminator::Done),
        Some(Terminator::Body),
        Some(Terminator::Missing),
    ];
    let states = [
        FinishState::Rejected,
        FinishState::Errored,
        FinishState::Aborted,
        FinishState::Complete,
        FinishState::Cut,
    ];
    let mut answers = vec![None, opaque()];
    answers.extend(
        states
            .iter()
            .flat_map(|&state| marks.map(|mark| stated(state, mark))),
    );
    let flags = [
        None,
        Some(Flag::Undelivered),
        Some(Flag::Unobserved),
        Some(Flag::ClientLimited),
    ];
    let mut seen = Vec::new();
    for status in [None, Some(200), Some(302), Some(404), Some(429), Some(503)] {
        for (token, answer) in [true, false]
            .into_iter()
            .flat_map(|token| answers.iter().map(move |answer| (token, answer)))
        {
            for (flag, end) in flags
                .into_iter()
                .flat_map(|flag| End::ALL.map(|end| (flag, end)))
            {
                let came = Came {
                    status,
                    token,
                    answer: answer.clone(),
                    flag,
                };
                let record = finish(&came, end);
                let whole = matches!(end, End::Clean | End::ClientGone) && status == Some(200);
                assert!(whole || record.outcome != Outcome::Ok, "{came:?}, {end:?}");
                assert_eq!(record.e2e().is_censored(), record.outcome != Outcome::Ok);
                seen.push(record.outcome);
            }
        }
    }
    for outcome in Outcome::ALL {
        assert!(seen.contains(&outcome), "{outcome:?} is never reached");
    }
}

#[test]
fn blame_is_of_who_did_it() {
    let of = |end, came: &Came| finish(came, end).outcome.blame();
    let begun = came(200, true, Some(cut()));
    assert_eq!(
        of(End::Clean, &came(200, true, Some(answer()))),
        Blame::Nobody
    );
    assert_eq!(of(End::ClientGone, &begun), Blame::Client);
    assert_eq!(of(End::Truncated, &begun), Blame::Engine);
    assert_eq!(of(End::Drained, &begun), Blame::Us);
    assert_eq!(of(End::Clean, &came(404, false, None)), Blame::Client);
    assert_eq!(of(End::Clean, &came(429, false, None)), Blame::Engine);
}

#[test]
fn labels_are_distinct() {
    let mut labels = Outcome::ALL.map(Outcome::as_str).to_vec();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), Outcome::ALL.len());
}

#[test]
fn an_error_after_tokens_keeps_their_times() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, &[exactly(1)]);
    exchange.on_end(ms(20), End::Clean);
    let record = exchange.finish(stated(FinishState::Errored, Some(Terminator::Done)));
    assert_eq!(record.outcome, Outcome::SseErrorEvent);
    assert_eq!(record.ttft().value(), Some(ms(10)));
    assert!(record.tpot().is_censored());
}

/// One call to the engine, by its status: before the first token, and after it.
fn of_call(code: u32, token: bool) -> Outcome {
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    exchange.on_response_head(ms(2), 200);
    if token {
        exchange.on_read(ms(3), 1, &[exactly(1)]);
    }
    exchange.on_call_status(code);
    exchange.on_call_status(99);
    exchange.on_end(ms(4), End::Clean);
    exchange.finish(Some(answer())).outcome
}

#[test]
fn the_status_of_a_call_says_whose_doing_it_was() {
    for (codes, before, after) in [
        (&[0][..], Outcome::Ok, Outcome::Ok),
        (
            &[1, 4],
            Outcome::ClientAbortPrefill,
            Outcome::ClientAbortDecode,
        ),
        (&[8], Outcome::Upstream429, Outcome::SseErrorEvent),
        (
            &[3, 5, 6, 7, 9, 11, 12, 16],
            Outcome::Upstream4xx,
            Outcome::SseErrorEvent,
        ),
        (
            &[2, 10, 13, 14, 15, 17, u32::MAX],
            Outcome::Upstream5xx,
            Outcome::SseErrorEvent,
        ),
    ] {
        for code in codes {
            assert_eq!(of_call(*code, false), before, "{code}");
            assert_eq!(of_call(*code, true), after, "{code}");
        }
    }
}
