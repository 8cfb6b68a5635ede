//! How an answer ended, and what an error says.

use crate::*;

#[test]
fn the_end_by_its_marks() {
    let text = chat(0, r#"{"content":"a"}"#, "");
    let (stop, open) = (finished(0, "stop"), chat(1, "{}", ""));
    for (data, state, terminator) in [
        (
            &[text.as_str(), &stop, "[DONE]"][..],
            FinishState::Complete,
            Some(Terminator::Done),
        ),
        (
            &[&text, &stop],
            FinishState::Complete,
            Some(Terminator::Missing),
        ),
        (&[&text, &stop, &open], FinishState::Cut, None),
        (
            &[&text, "[DONE]"],
            FinishState::Complete,
            Some(Terminator::Done),
        ),
        (&[&text], FinishState::Cut, None),
        (&[], FinishState::Cut, None),
        (&[&finished(0, ""), &text], FinishState::Cut, None),
        (
            &[&finished(0, "abort"), "[DONE]"],
            FinishState::Aborted,
            Some(Terminator::Done),
        ),
        (&[&finished(0, "timed_out")], FinishState::Aborted, None),
        (
            &[&finished(0, "stop"), &finished(1, "cancelled")],
            FinishState::Aborted,
            None,
        ),
        (
            &[&finished(0, "error"), "[DONE]"],
            FinishState::Errored,
            Some(Terminator::Done),
        ),
        (
            &[r#"{"error":"x"}"#, "[DONE]"],
            FinishState::Errored,
            Some(Terminator::Done),
        ),
    ] {
        for end in [TransportEnd::Clean, TransportEnd::Cut] {
            let body: String = data
                .iter()
                .map(|data| format!("data: {data}\n\n"))
                .collect();
            let (_, answer) = read(STREAM, &body, end);
            assert_eq!(
                (answer.state, answer.terminator),
                (state, terminator),
                "{data:?} {end:?}"
            );
        }
    }
}

#[test]
fn finish_reasons_are_listed_by_index() {
    let (_, answer) = stream(
        STREAM,
        &[
            &finished(2, "length"),
            &chat(1, "{}", ""),
            &finished(0, "a\\u0062c"),
        ],
    );
    let reasons: Vec<_> = answer.finish_reasons.iter().map(Option::as_deref).collect();
    assert_eq!(reasons, [Some("abc"), None, Some("length")]);
}

#[test]
fn an_error_says_its_message() {
    for (data, message) in [
        (
            r#"{"error": {"message": "caf\u00e9", "code": 500}}"#,
            Some("café"),
        ),
        (r#"{"error":"text"}"#, Some("text")),
        (r#"{"error":"text","error_type":"x"}"#, Some("text")),
        (r#"{"message":"flat","object":"error"}"#, Some("flat")),
        (
            r#"{"type":"error","error":{"type":"x","message":"nested"}}"#,
            Some("nested"),
        ),
        (r#"{"detail":"Not Found"}"#, Some("Not Found")),
        (r#"{"detail":[{"msg":"Field required"}]}"#, None),
        (r#"{"error":{"code":500}}"#, None),
        (r#"{"error":{"message":null}}"#, None),
    ] {
        let (events, answer) = stream(STREAM, &[data]);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, message),
            "{data}"
        );
        assert_eq!(tokens(&events), [Tokens::None]);
        let whole = body(data);
        assert_eq!(
            (whole.state, whole.error.as_deref()),
            (FinishState::Errored, message),
            "{data}"
        );
        assert_eq!(
            (whole.terminator, whole.finish_reasons),
            (None, vec![]),
            "{data}"
        );
    }
}

#[test]
fn the_first_message_is_kept() {
    let (_, answer) = stream(
        STREAM,
        &[
            r#"{"error":{"code":1}}"#,
            r#"{"error":"a"}"#,
            r#"{"error":"b"}"#,
        ],
    );
    assert_eq!(answer.error.as_deref(), Some("a"));
}

#[test]
fn what_is_no_error() {
    for data in [
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"error":null}"#,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"error":""}"#,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"detail":"low","message":"hi"}"#,
    ] {
        let (_, answer) = stream(STREAM, &[data]);
        assert_eq!(
            (answer.state, answer.error),
            (FinishState::Complete, None),
            "{data}"
        );
    }
}

#[test]
fn an_error_line_is_an_error() {
    for (line, message) in [
        (
            r#"error: {"code":500,"message":"full","type":"server_error"}"#,
            "full",
        ),
        (r#"error: {"error":{"message":"full"}}"#, "full"),
        ("error: full", "full"),
        ("error:full", "full"),
    ] {
        let (events, answer) = read(STREAM, &format!("{line}\n\n"), TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, Some(message)),
            "{line}"
        );
        assert_eq!(tokens(&events), [Tokens::None], "{line}");
    }
}

#[test]
fn a_refused_request_is_rejected() {
    let refused = AnswerContext {
        status: 429,
        stream_requested: Some(true),
        ..BODY
    };
    for (body, message) in [
        (r#"{"error":{"message":"busy"}}"#, Some("busy")),
        (r#"{"message":"no route"}"#, Some("no route")),
        (r#"{"detail":"Not Found"}"#, Some("Not Found")),
        ("<html>", None),
        ("", None),
    ] {
        let (_, answer) = read(refused, body, TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.terminator),
            (FinishState::Rejected, None),
            "{body}"
        );
        assert_eq!(answer.error.as_deref(), message, "{body}");
    }
    let as_events = AnswerContext {
        status: 500,
        ..STREAM
    };
    let (_, answer) = stream(as_events, &[r#"{"error":"early"}"#]);
    assert_eq!(
        (answer.state, answer.error.as_deref()),
        (FinishState::Rejected, Some("early"))
    );
}

#[test]
fn an_error_line_may_say_nothing() {
    let (events, answer) = read(STREAM, "error:\n\n", TransportEnd::Clean);
    assert_eq!(
        (events.len(), answer.state, answer.error),
        (1, FinishState::Errored, None)
    );
    let (events, answer) = read(STREAM, "error\n\n", TransportEnd::Clean);
    assert_eq!((events.len(), answer.state), (0, FinishState::Cut));
}
