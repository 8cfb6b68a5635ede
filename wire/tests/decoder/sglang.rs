//! SGLang's `/generate`: what the corpus of answers doesn't show.

use crate::*;
use wire::Accumulation;

const GENERATE: AnswerContext<'static> = AnswerContext {
    content_type: Some("text/event-stream"),
    ..AnswerContext::new(Endpoint::Generate, 200)
};

fn piece(text: &str, ids: usize, completion: u64) -> String {
    let ids = vec!["4"; ids].join(",");
    format!(
        r#"{{"text":"{text}","output_ids":[{ids}],"meta_info":{{"id":"g","finish_reason":null,"prompt_tokens":6,"completion_tokens":{completion}}}}}"#
    )
}

fn visible(context: AnswerContext<'_>, data: &[String]) -> Vec<bool> {
    let data: Vec<&str> = data.iter().map(String::as_str).collect();
    let (events, _) = stream(context, &data);
    events.iter().map(|event| event.visible).collect()
}

#[test]
fn the_ids_tell_what_the_text_is() {
    // A token whose text is held back, and a text that is the same as the one before.
    let so_far = [piece("a", 1, 1), piece("a", 2, 2), piece("aa", 3, 3)];
    assert_eq!(visible(GENERATE, &so_far), [true, false, true]);
    let new = [piece("a", 1, 1), piece("a", 1, 2), piece("", 1, 3)];
    assert_eq!(visible(GENERATE, &new), [true, true, false]);
}

#[test]
fn what_is_stated_holds() {
    let same = [piece("a", 1, 1), piece("a", 1, 2)];
    for (mode, second) in [
        (Accumulation::Delta, true),
        (Accumulation::Cumulative, false),
    ] {
        let context = AnswerContext {
            text_mode: Some(mode),
            ..GENERATE
        };
        assert_eq!(visible(context, &same), [true, second]);
    }
}

#[test]
fn the_counter_decides() {
    let (events, answer) = stream(
        GENERATE,
        &[
            &piece("", 1, 1),
            &piece("a", 3, 3),
            &piece("ab", 3, 3),
            &piece("abc", 2, 2),
        ],
    );
    assert_eq!(
        tokens(&events),
        [
            Tokens::Exactly(1),
            Tokens::Exactly(2),
            Tokens::None,
            Tokens::None
        ]
    );
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(3), CountSource::Counter)
    );
    assert_eq!(answer.anomalies, [(Anomaly::CounterWentBack, 1)]);
    // All choices have ended is no end mark here.
    assert_eq!((answer.state, answer.terminator), (FinishState::Cut, None));
}

#[test]
fn a_reason_is_a_type() {
    let of = |reason: &str| {
        let data = format!(
            r#"{{"text":"a","meta_info":{{"finish_reason":{reason},"completion_tokens":1}}}}"#
        );
        let (_, answer) = stream(GENERATE, &[&data, "[DONE]"]);
        (answer.finish_reasons[0].clone(), answer.state)
    };
    assert_eq!(
        of(r#"{"type":"abort","message":"x"}"#),
        (Some("abort".to_owned()), FinishState::Aborted)
    );
    assert_eq!(
        of(r#""length""#),
        (Some("length".to_owned()), FinishState::Complete)
    );
    assert_eq!(of("null"), (None, FinishState::Complete));
}

#[test]
fn a_batch_is_a_list() {
    let context = AnswerContext {
        content_type: Some("application/json"),
        prompts: Some(2),
        ..GENERATE
    };
    let body = format!("[{},{}]", piece("a", 1, 1), piece("b", 2, 2));
    let (_, answer) = read(context, &body, TransportEnd::Clean);
    assert_eq!(
        (answer.input_tokens, answer.output_tokens, answer.terminator),
        (Some(12), Some(3), Some(Terminator::Body))
    );
    let (_, failed) = read(
        context,
        r#"{"error":{"message":"told"}}"#,
        TransportEnd::Clean,
    );
    assert_eq!(
        (failed.state, failed.error.as_deref(), failed.finish_reasons),
        (FinishState::Errored, Some("told"), vec![])
    );
}
