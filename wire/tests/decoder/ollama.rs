//! Ollama's shape: what the corpus of answers doesn't show.

use crate::*;

const CHAT: AnswerContext<'static> = AnswerContext {
    content_type: Some("application/x-ndjson"),
    ..AnswerContext::new(Endpoint::OllamaChat, 200)
};

fn lines(data: &[&str]) -> (Vec<Event>, Answer) {
    let body: String = data.iter().map(|data| format!("{data}\n")).collect();
    read(CHAT, &body, TransportEnd::Clean)
}

#[test]
fn only_what_is_shown_proves_a_token() {
    for (line, expected) in [
        (r#"{"message":{"content":"a"}}"#, (Tokens::AtLeastOne, true)),
        (r#"{"response":"a"}"#, (Tokens::AtLeastOne, true)),
        (
            r#"{"message":{"content":"","thinking":"a"}}"#,
            (Tokens::AtLeastOne, false),
        ),
        (
            r#"{"message":{"tool_calls":[{"function":{"name":"f"}}]}}"#,
            (Tokens::AtLeastOne, true),
        ),
        (
            r#"{"message":{"content":"","tool_calls":[]}}"#,
            (Tokens::None, false),
        ),
        (r#"{"message":"a","done":false}"#, (Tokens::None, false)),
    ] {
        let (events, answer) = lines(&[line]);
        assert_eq!((events[0].tokens, events[0].answer), expected, "{line}");
        assert_eq!(
            (answer.state, answer.finish_reasons),
            (FinishState::Cut, vec![None])
        );
    }
}

#[test]
fn the_last_line_ends_it_without_its_line_end() {
    let body = "{\"response\":\"a\"}\n{\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}";
    let (events, answer) = read(CHAT, body, TransportEnd::Cut);
    assert_eq!((events.len(), events[1].early), (2, true));
    assert_eq!(
        (answer.state, answer.terminator, answer.output_tokens),
        (FinishState::Complete, Some(Terminator::OllamaDone), Some(2))
    );
}

#[test]
fn an_error_is_a_line() {
    let (_, answer) = lines(&[r#"{"response":"a"}"#, r#"{"error":"told"}"#]);
    assert_eq!(
        (answer.state, answer.error.as_deref(), answer.terminator),
        (FinishState::Errored, Some("told"), None)
    );
}

#[test]
fn what_is_no_object_is_counted() {
    let (events, answer) = lines(&["x", "", "[1]", "{}"]);
    assert_eq!(
        (events.len(), answer.anomalies),
        (1, vec![(Anomaly::BadJson, 2)])
    );
    let long = format!("x\n{}", "y".repeat(LINE_BYTES + 1));
    let (_, answer) = read(CHAT, &long, TransportEnd::Clean);
    assert_eq!(
        answer.anomalies,
        [(Anomaly::OversizeEvent, 1), (Anomaly::BadJson, 1)]
    );
}

#[test]
fn the_head_tells_lines_from_a_body() {
    for (content_type, stream_requested, streamed) in [
        (Some("application/x-ndjson; charset=utf-8"), None, true),
        (Some("application/json; charset=utf-8"), Some(true), false),
        (None, Some(true), true),
        (None, Some(false), false),
    ] {
        let context = AnswerContext {
            content_type,
            stream_requested,
            ..CHAT
        };
        let (events, answer) = read(
            context,
            "{\"response\":\"a\",\"done\":true}\n",
            TransportEnd::Clean,
        );
        assert_eq!(
            (answer.streamed, events.len()),
            (streamed, usize::from(streamed)),
            "{context:?}"
        );
        assert_eq!(answer.state, FinishState::Complete);
    }
}

#[test]
fn llamacpp_answers_this_route_in_another_dialect() {
    let context = AnswerContext {
        content_type: Some("text/event-stream"),
        ..CHAT
    };
    let (events, answer) = stream(context, &[&chat(0, r#"{"content":"a"}"#, ""), "[DONE]"]);
    assert_eq!(events[0].tokens, Tokens::AtLeastOne);
    assert_eq!(answer.terminator, Some(Terminator::Done));
    let context = AnswerContext {
        content_type: Some("application/json"),
        ..CHAT
    };
    let body =
        r#"{"choices":[{"index":0,"finish_reason":"stop"}],"usage":{"completion_tokens":2}}"#;
    let (_, answer) = read(context, body, TransportEnd::Clean);
    assert_eq!(
        (answer.output_tokens, answer.finish_reasons),
        (Some(2), vec![Some("stop".to_owned())])
    );
    let (_, own) = read(
        context,
        r#"{"message":{"content":"a"},"done":true,"eval_count":2}"#,
        TransportEnd::Clean,
    );
    assert_eq!(
        (own.output_tokens, own.terminator),
        (Some(2), Some(Terminator::Body))
    );
}
