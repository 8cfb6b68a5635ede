//! `/v1/responses`: what the corpus of answers doesn't show.

use crate::*;

const RESPONSES: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::Responses, 200)
};

fn ended(kind: &str, response: &str) -> Answer {
    let last = format!(r#"{{"type":"{kind}","response":{response}}}"#);
    stream(
        RESPONSES,
        &[
            r#"{"type":"response.output_text.delta","delta":"a"}"#,
            &last,
        ],
    )
    .1
}

#[test]
fn the_status_says_how_it_ended() {
    use FinishState::{Aborted, Complete, Errored};
    for (kind, status, state, terminator) in [
        (
            "completed",
            "incomplete",
            Complete,
            Terminator::ResponseCompleted,
        ),
        (
            "incomplete",
            "incomplete",
            Complete,
            Terminator::ResponseIncomplete,
        ),
        (
            "completed",
            "cancelled",
            Aborted,
            Terminator::ResponseCompleted,
        ),
        (
            "completed",
            "failed",
            Errored,
            Terminator::ResponseCompleted,
        ),
        ("failed", "failed", Errored, Terminator::ResponseFailed),
        ("failed", "", Errored, Terminator::ResponseFailed),
    ] {
        let answer = ended(
            &format!("response.{kind}"),
            &format!(r#"{{"status":"{status}"}}"#),
        );
        assert_eq!(
            (answer.state, answer.terminator),
            (state, Some(terminator)),
            "{kind} {status}"
        );
        let reasons: Vec<_> = answer.finish_reasons.iter().map(Option::as_deref).collect();
        assert_eq!(
            reasons,
            if status.is_empty() {
                vec![]
            } else {
                vec![Some(status)]
            }
        );
    }
}

#[test]
fn an_error_has_one_of_three_places() {
    let told = r#"{"status":"failed","error":{"code":"x","message":"told"}}"#;
    assert_eq!(
        ended("response.failed", told).error.as_deref(),
        Some("told")
    );
    assert_eq!(
        ended("response.failed", "{}").error.as_deref(),
        Some("response.failed")
    );
    for data in [
        r#"{"type":"error","code":"x","message":"told"}"#,
        r#"{"type":"error","error":{"message":"told"}}"#,
        r#"{"error":"told"}"#,
    ] {
        let (_, answer) = stream(RESPONSES, &[data]);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (FinishState::Errored, Some("told")),
            "{data}"
        );
    }
}

#[test]
fn only_deltas_and_named_calls_show_something() {
    for (data, expected) in [
        (
            r#"{"delta":"a","type":"response.output_text.delta"}"#,
            (true, true),
        ),
        (
            r#"{"type":"response.refusal.delta","delta":"a"}"#,
            (true, true),
        ),
        (
            r#"{"type":"response.reasoning_summary_text.delta","delta":"a"}"#,
            (true, false),
        ),
        (
            r#"{"type":"response.output_text.delta","delta":""}"#,
            (false, false),
        ),
        (
            r#"{"type":"response.output_text.done","delta":"a"}"#,
            (false, false),
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"custom_tool_call","name":"f"}}"#,
            (true, true),
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":""}}"#,
            (false, false),
        ),
        (
            r#"{"type":"response.output_item.added","item":{"type":"message","name":"f"}}"#,
            (false, false),
        ),
        (
            r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"f"}}"#,
            (false, false),
        ),
    ] {
        let (events, answer) = stream(RESPONSES, &[data]);
        assert_eq!((events[0].visible, events[0].answer), expected, "{data}");
        assert_eq!(events[0].tokens != Tokens::None, expected.0, "{data}");
        assert_eq!(answer.state, FinishState::Cut);
    }
}

#[test]
fn bodies() {
    let context = AnswerContext {
        content_type: Some("application/json"),
        ..RESPONSES
    };
    let of = |body: &str| read(context, body, TransportEnd::Clean).1;
    let failed = of(
        r#"{"id":"r","object":"response","status":"failed","error":{"message":"told"},"usage":null}"#,
    );
    assert_eq!(
        (failed.state, failed.error.as_deref()),
        (FinishState::Errored, Some("told"))
    );
    assert_eq!((failed.terminator, failed.output_tokens), (None, None));
    let refused = of(r#"{"object":"error","message":"told"}"#);
    assert_eq!(
        (refused.state, refused.error.as_deref()),
        (FinishState::Errored, Some("told"))
    );
    let half = of(r#"{"status":"completed","usage":{"output_tokens":3}"#);
    assert_eq!((half.state, half.output_tokens), (FinishState::Cut, None));
    assert_eq!(half.anomalies, [(Anomaly::BadJson, 1)]);
    assert_eq!(of("[]").state, FinishState::Cut);
}
