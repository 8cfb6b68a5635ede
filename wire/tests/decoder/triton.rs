//! Triton's `generate` and `generate_stream`: what the corpus of answers doesn't show.

use crate::*;
use wire::Accumulation;

const TRITON: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::TritonGenerateStream, 200)
};

fn text(text: &str) -> String {
    format!(r#"{{"model_name":"m","text_output":"{text}"}}"#)
}

fn counted(text: &str, count: u64) -> String {
    format!(r#"{{"num_input_tokens":5,"num_output_tokens":{count},"text_output":"{text}"}}"#)
}

fn of(context: AnswerContext<'_>, data: &[String]) -> (Vec<Tokens>, Answer) {
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let (events, answer) = stream(context, &data);
    (tokens(&events), answer)
}

#[test]
fn a_repeated_text_proves_nothing_until_texts_are_known_to_be_new() {
    let (tokens, _) = of(TRITON, &["a", "b", "b", "c", "d", "d"].map(text));
    let (one, none) = (Tokens::AtLeastOne, Tokens::None);
    assert_eq!(tokens, [one, one, none, one, one, one]);
    let (tokens, _) = of(TRITON, &["a", "ab", "ab", "abc", "abcd", "abcd"].map(text));
    assert_eq!(tokens, [one, one, none, one, one, none]);
}

#[test]
fn counts_are_what_the_model_makes_them() {
    let data = [counted("a", 1), counted("b", 2), counted("", 2)];
    let exactly = Tokens::Exactly;
    for (mode, tokens, total) in [
        (
            Some(Accumulation::Delta),
            [exactly(1), exactly(2), exactly(2)],
            Some(5),
        ),
        (
            Some(Accumulation::Cumulative),
            [exactly(1), exactly(1), Tokens::None],
            Some(2),
        ),
        (
            None,
            [Tokens::AtLeastOne, Tokens::AtLeastOne, Tokens::None],
            None,
        ),
    ] {
        let context = AnswerContext {
            num_output_tokens: mode,
            ..TRITON
        };
        let (found, answer) = of(context, &data);
        assert_eq!(
            (found.as_slice(), answer.output_tokens),
            (&tokens[..], total),
            "{mode:?}"
        );
        assert_eq!(answer.input_tokens, Some(5));
    }
    // A lone count is the total, whatever it is.
    let (_, lone) = of(TRITON, &data[..1]);
    assert_eq!(
        (lone.output_tokens, lone.output_source),
        (Some(1), CountSource::Counter)
    );
}

#[test]
fn a_count_that_is_missing_once_leaves_no_total() {
    let data = [counted("a", 1), text("b"), counted("c", 4)];
    let total = |mode: Option<Accumulation>, data: &[String]| {
        let context = AnswerContext {
            num_output_tokens: mode,
            ..TRITON
        };
        of(context, data).1.output_tokens
    };
    assert_eq!(total(Some(Accumulation::Delta), &data), None);
    assert_eq!(total(Some(Accumulation::Cumulative), &data), Some(4));
    assert_eq!(total(Some(Accumulation::Cumulative), &data[..2]), None);
    assert_eq!(total(None, &data[..2]), None);
}

#[test]
fn only_a_clean_end_after_an_event_is_one() {
    for (body, end, state, terminator) in [
        (
            "data: {}\n\n",
            TransportEnd::Clean,
            FinishState::Complete,
            Some(Terminator::Eof),
        ),
        ("data: {}\n\n", TransportEnd::Cut, FinishState::Cut, None),
        (": ping\n\n", TransportEnd::Clean, FinishState::Cut, None),
        (
            "data: {\"error\":\"told\"}\n\n",
            TransportEnd::Clean,
            FinishState::Errored,
            None,
        ),
        (
            "data: {\"finish_reason\":\"cancelled\"}\n\n",
            TransportEnd::Clean,
            FinishState::Aborted,
            None,
        ),
    ] {
        let (_, answer) = read(TRITON, body, end);
        assert_eq!(
            (answer.state, answer.terminator),
            (state, terminator),
            "{body} {end:?}"
        );
    }
}

#[test]
fn a_reason_that_is_none_is_none() {
    let of = |reasons: &[&str]| {
        let data: Vec<String> = reasons
            .iter()
            .map(|reason| format!(r#"{{"finish_reason":"{reason}"}}"#))
            .collect();
        of(TRITON, &data).1.finish_reasons
    };
    assert_eq!(of(&["None", "None"]), [None]);
    assert_eq!(of(&["None", "length"]), [Some("length".to_owned())]);
    assert_eq!(of(&[]), []);
}
