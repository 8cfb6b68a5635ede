//! `/v1/messages`: what the corpus of answers doesn't show.

use crate::*;

const MESSAGES: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::Messages, 200)
};

const START: &str = r#"{"type":"message_start","message":{"id":"i","model":"m","usage":{"input_tokens":9,"cache_read_input_tokens":3,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn delta(delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)
}

fn last(usage: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#)
}

#[test]
fn the_total_is_in_the_last_usage() {
    let counts = |answer: &Answer| {
        (
            answer.input_tokens,
            answer.output_tokens,
            answer.cached_tokens,
        )
    };
    for (usage, expected) in [
        (r#"{"output_tokens":4}"#, (Some(12), Some(4), Some(3))),
        (
            r#"{"output_tokens":4,"input_tokens":2,"cache_read_input_tokens":5,"cache_creation_input_tokens":6}"#,
            (Some(13), Some(4), Some(5)),
        ),
        (
            r#"{"output_tokens":4,"input_tokens":2,"cache_creation_input_tokens":null}"#,
            (Some(2), Some(4), Some(3)),
        ),
        (r#"{"input_tokens":2}"#, (Some(2), None, Some(3))),
    ] {
        let (_, answer) = stream(MESSAGES, &[START, &last(usage), STOP]);
        assert_eq!(counts(&answer), expected, "{usage}");
        assert_eq!(answer.terminator, Some(Terminator::MessageStop));
    }
    let (_, answer) = stream(MESSAGES, &[START]);
    assert_eq!(counts(&answer), (Some(12), None, Some(3)));
}

#[test]
fn only_what_is_shown_proves_a_token() {
    for (data, tokens) in [
        (
            delta(r#"{"type":"text_delta","text":"a"}"#),
            Tokens::AtLeastOne,
        ),
        (delta(r#"{"type":"text_delta","text":""}"#), Tokens::None),
        (
            delta(r#"{"type":"thinking_delta","thinking":"a"}"#),
            Tokens::AtLeastOne,
        ),
        (
            delta(r#"{"type":"input_json_delta","partial_json":"{"}"#),
            Tokens::AtLeastOne,
        ),
        (
            delta(r#"{"type":"signature_delta","signature":"a"}"#),
            Tokens::None,
        ),
        (
            r#"{"type":"content_block_start","content_block":{"type":"text","text":""}}"#
                .to_owned(),
            Tokens::None,
        ),
        (
            r#"{"content_block":{"name":"f","type":"tool_use"},"type":"content_block_start"}"#
                .to_owned(),
            Tokens::AtLeastOne,
        ),
        (
            r#"{"type":"ping","delta":{"text":"a"}}"#.to_owned(),
            Tokens::None,
        ),
    ] {
        let (events, answer) = stream(MESSAGES, &[&data]);
        assert_eq!(events[0].tokens, tokens, "{data}");
        assert_eq!(
            (answer.state, answer.finish_reasons),
            (FinishState::Cut, vec![None])
        );
    }
}

#[test]
fn thinking_is_no_answer() {
    let (events, _) = stream(
        MESSAGES,
        &[&delta(r#"{"thinking":"a"}"#), &delta(r#"{"text":"a"}"#)],
    );
    assert_eq!(
        events.iter().map(|event| event.answer).collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn errors_of_bodies() {
    for (status, body, state, message) in [
        (
            400,
            r#"{"type":"error","error":{"type":"x","message":"told"}}"#,
            FinishState::Rejected,
            Some("told"),
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"told","type":"x"}}"#,
            FinishState::Rejected,
            Some("told"),
        ),
        (
            200,
            r#"{"error":"told"}"#,
            FinishState::Errored,
            Some("told"),
        ),
        (
            200,
            r#"{"detail":"told"}"#,
            FinishState::Errored,
            Some("told"),
        ),
        (502, "<html>", FinishState::Rejected, None),
        (200, "null", FinishState::Cut, None),
    ] {
        let context = AnswerContext {
            content_type: Some("application/json"),
            ..AnswerContext::new(Endpoint::Messages, status)
        };
        let (_, answer) = read(context, body, TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.error.as_deref()),
            (state, message),
            "{body}"
        );
        assert_eq!(
            (answer.finish_reasons, answer.terminator),
            (vec![], None),
            "{body}"
        );
    }
}
