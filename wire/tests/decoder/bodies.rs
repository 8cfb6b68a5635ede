//! Answers that are one JSON body, and how the head tells them from a stream.

use crate::*;

#[test]
fn a_body_is_an_answer_without_events() {
    let text = r#"{"id":"x","model":"m","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"},{"index":1,"finish_reason":"length"}],
        "usage":{"prompt_tokens":8,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":2}}}"#;
    let (events, answer) = read(BODY, text, TransportEnd::Clean);
    assert_eq!(events, []);
    let expected = Answer {
        streamed: false,
        events: 0,
        comments: 0,
        token_events: 0,
        visible_events: 0,
        input_tokens: Some(8),
        output_tokens: Some(3),
        output_tokens_min: 0,
        output_source: CountSource::Usage,
        cached_tokens: Some(0),
        reasoning_tokens: Some(2),
        engine_times: EngineTimes::default(),
        finish_reasons: vec![Some("stop".to_owned()), Some("length".to_owned())],
        state: FinishState::Complete,
        terminator: Some(Terminator::Body),
        error: None,
        model: Some("m".to_owned()),
        response_id: Some("x".to_owned()),
        anomalies: vec![],
    };
    assert_eq!(answer, expected);
}

#[test]
fn a_body_without_usage_may_list_its_tokens() {
    let text = r#"{"choices":[{"index":0,"token_ids":[1,2]},{"index":1,"token_ids":[3]}],"prompt_token_ids":[1,2,3,4]}"#;
    let answer = body(text);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::TokenIds)
    );
    assert_eq!(
        (answer.input_tokens, answer.output_tokens_min),
        (Some(4), 0)
    );
}

#[test]
fn a_body_of_llamacpp_with_two_choices_has_no_total() {
    let of = |choices: &str| {
        format!(
            r#"{{"choices":[{choices}],"usage":{{"prompt_tokens":8,"completion_tokens":2,"prompt_tokens_details":{{"cached_tokens":4}}}},"timings":{{"predicted_n":2}}}}"#
        )
    };
    let two = body(&of(r#"{"index":0},{"index":1}"#));
    assert_eq!(
        (two.output_tokens, two.output_source, two.input_tokens),
        (None, CountSource::None, Some(8))
    );
    assert_eq!(two.cached_tokens, Some(4));
    assert_eq!(body(&of(r#"{"index":0}"#)).output_tokens, Some(2));
}

#[test]
fn half_a_body_is_cut() {
    let (_, answer) = read(
        BODY,
        r#"{"choices":[{"index":0,"finish_reason":"stop"}"#,
        TransportEnd::Cut,
    );
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
    assert_eq!(answer.anomalies, [(Anomaly::BadJson, 1)]);
    let (_, answer) = read(BODY, "", TransportEnd::Clean);
    assert_eq!((answer.state, answer.anomalies), (FinishState::Cut, vec![]));
    let (_, answer) = read(BODY, "null", TransportEnd::Clean);
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
}

#[test]
fn a_body_where_a_stream_was_asked_for() {
    let context = AnswerContext {
        stream_requested: Some(true),
        ..BODY
    };
    let (events, answer) = read(
        context,
        r#"{"choices":[],"usage":{"completion_tokens":1}}"#,
        TransportEnd::Clean,
    );
    assert_eq!(events, []);
    assert_eq!((answer.output_tokens, answer.streamed), (Some(1), false));
    assert_eq!(answer.anomalies, [(Anomaly::BodyOnStream, 1)]);
}

#[test]
fn the_head_tells_a_stream_from_a_body() {
    for (content_type, stream_requested, status, streamed) in [
        (Some("text/event-stream; charset=utf-8"), None, 200, true),
        (Some("Text/Event-Stream"), Some(false), 500, true),
        (
            Some("application/json; charset=utf-8"),
            Some(true),
            200,
            false,
        ),
        (Some("application/problem+json"), Some(true), 200, false),
        (None, Some(true), 200, true),
        (None, Some(false), 200, false),
        (None, None, 200, false),
        (Some("text/plain"), Some(true), 200, true),
        (Some("text/plain"), Some(true), 404, false),
    ] {
        let context = AnswerContext {
            content_type,
            stream_requested,
            status,
            ..STREAM
        };
        let (_, answer) = read(context, "", TransportEnd::Clean);
        assert_eq!(answer.streamed, streamed, "{context:?}");
    }
}
