//! TGI's own routes: what the corpus of answers doesn't show.

use crate::*;

const TGI: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::GenerateStream, 200)
};

const WHOLE: AnswerContext<'static> = AnswerContext {
    content_type: Some("application/json"),
    ..AnswerContext::new(Endpoint::Generate, 200)
};

#[test]
fn an_empty_text_ends_it_too() {
    let (events, answer) = stream(
        TGI,
        &[r#"{"index":1,"token":{"id":2,"text":"</s>","special":true},"generated_text":""}"#],
    );
    assert_eq!(
        (events[0].tokens, events[0].visible),
        (Tokens::Exactly(1), false)
    );
    assert_eq!(
        (answer.state, answer.terminator),
        (FinishState::Complete, Some(Terminator::Eof))
    );
}

#[test]
fn events_without_numbers_list_an_id_each() {
    let (_, answer) = stream(
        TGI,
        &[r#"{"token":{"text":"a"}}"#, r#"{"token":{"text":"b"}}"#],
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(2), CountSource::TokenIds)
    );
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
}

#[test]
fn an_error_after_the_end_is_one() {
    let (_, answer) = stream(
        TGI,
        &[
            r#"{"token":{},"generated_text":"a"}"#,
            r#"{"error":"told","error_type":"x"}"#,
        ],
    );
    assert_eq!(
        (answer.state, answer.terminator, answer.error.as_deref()),
        (FinishState::Errored, None, Some("told"))
    );
}

#[test]
fn bodies() {
    let counted = AnswerContext {
        generated_tokens: Some(3),
        prompt_tokens: Some(17),
        ..WHOLE
    };
    let details = r#"{"generated_text":"a","details":{"finish_reason":"length","generated_tokens":2,"tokens":[{"id":1}]}}"#;
    let list = format!("[{details}]");
    for (context, body, counts, source) in [
        (counted, details, (Some(17), Some(3)), CountSource::Headers),
        (WHOLE, details, (None, Some(2)), CountSource::Usage),
        (
            WHOLE,
            r#"{"generated_text":"a"}"#,
            (None, None),
            CountSource::None,
        ),
        (counted, &list, (Some(17), Some(3)), CountSource::Headers),
    ] {
        let (_, answer) = read(context, body, TransportEnd::Clean);
        assert_eq!(
            (
                (answer.input_tokens, answer.output_tokens),
                answer.output_source
            ),
            (counts, source),
            "{body}"
        );
        assert_eq!(
            (answer.state, answer.terminator),
            (FinishState::Complete, Some(Terminator::Body))
        );
        assert_eq!(answer.finish_reasons.len(), 1);
    }
    let root = AnswerContext {
        endpoint: Endpoint::Root,
        ..counted
    };
    assert_eq!(
        read(root, &list, TransportEnd::Clean).1.output_tokens,
        Some(3)
    );
    // The head of an error counts nothing.
    let (_, failed) = read(counted, r#"{"error":"told"}"#, TransportEnd::Clean);
    assert_eq!(
        (failed.state, failed.output_tokens, failed.finish_reasons),
        (FinishState::Errored, None, vec![])
    );
}
