//! llama.cpp's `/completion`: what the corpus of answers doesn't show.

use crate::*;

const NATIVE: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::Completion, 200)
};

fn piece(index: u32, content: &str, predicted: u64) -> String {
    format!(
        r#"{{"index":{index},"content":"{content}","stop":false,"tokens_predicted":{predicted},"tokens_evaluated":7}}"#
    )
}

fn last(index: u32, predicted: u64) -> String {
    format!(
        r#"{{"index":{index},"content":"","stop":true,"stop_type":"eos","tokens_predicted":{predicted},"tokens_evaluated":7,"timings":{{"cache_n":2}}}}"#
    )
}

#[test]
fn the_end_is_the_end_of_every_prompt() {
    let two = AnswerContext {
        prompts: Some(2),
        ..NATIVE
    };
    let (first, second) = (last(0, 1), last(1, 2));
    let (a, b) = (piece(0, "a", 1), piece(1, "b", 2));
    for (data, state, terminator, input) in [
        (
            &["null", &a, &first, "null", &b, &second][..],
            FinishState::Complete,
            Some(Terminator::Stop),
            Some(14),
        ),
        (&[&a, &first, &b], FinishState::Cut, None, Some(14)),
        // The second prompt has not begun.
        (&[&a, &first], FinishState::Cut, None, None),
    ] {
        let (_, answer) = stream(two, data);
        assert_eq!(
            (answer.state, answer.terminator, answer.input_tokens),
            (state, terminator, input),
            "{data:?}"
        );
    }
    let (events, answer) = stream(two, &["null", &a, &first, "null", &b, &second]);
    assert_eq!(
        tokens(&events)[1..5],
        [
            Tokens::Exactly(1),
            Tokens::None,
            Tokens::None,
            Tokens::Exactly(2)
        ]
    );
    assert_eq!(
        (answer.output_tokens, answer.cached_tokens),
        (Some(3), Some(4))
    );
    assert_eq!(answer.anomalies, []);
}

#[test]
fn answers_of_one_prompt_share_it() {
    let context = AnswerContext {
        n: Some(2),
        ..NATIVE
    };
    let (_, answer) = stream(context, &[&last(0, 1), &last(1, 3)]);
    assert_eq!(
        (answer.input_tokens, answer.output_tokens),
        (Some(7), Some(4))
    );
}

#[test]
fn without_a_counter_on_each_event_text_is_what_is_left() {
    let (events, answer) = stream(
        NATIVE,
        &[
            r#"{"content":"a","stop":false}"#,
            r#"{"content":"","stop":false}"#,
            &last(0, 4),
        ],
    );
    assert_eq!(
        tokens(&events),
        [Tokens::AtLeastOne, Tokens::None, Tokens::None]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_tokens_min),
        (Some(4), 1)
    );
    let (_, cut) = stream(NATIVE, &[&piece(0, "a", 1), r#"{"content":"b"}"#]);
    assert_eq!((cut.output_tokens, cut.output_tokens_min), (None, 2));
}

#[test]
fn a_body_may_be_a_list() {
    let context = AnswerContext {
        content_type: Some("application/json"),
        prompts: Some(2),
        ..NATIVE
    };
    let list = format!("[{},{}]", last(0, 1), last(1, 2));
    let (_, answer) = read(context, &list, TransportEnd::Clean);
    assert_eq!(
        (answer.input_tokens, answer.output_tokens, answer.terminator),
        (Some(14), Some(3), Some(Terminator::Body))
    );
    let many: Vec<String> = (0..200)
        .map(|_| "{\"tokens_predicted\":1}".to_owned())
        .collect();
    let (_, answer) = read(
        context,
        &format!("[{}]", many.join(",")),
        TransportEnd::Clean,
    );
    assert_eq!(answer.finish_reasons.len(), CHOICES);
    assert_eq!(
        (answer.output_tokens, answer.anomalies),
        (None, vec![(Anomaly::TooManyChoices, 1)])
    );
    for (body, state) in [
        ("[]", FinishState::Cut),
        (r#"{"error":{"message":"told"}}"#, FinishState::Errored),
        (r#"[{"tokens_predicted":1}"#, FinishState::Cut),
    ] {
        let (_, answer) = read(context, body, TransportEnd::Clean);
        assert_eq!(
            (answer.state, answer.output_tokens),
            (state, None),
            "{body}"
        );
    }
}
