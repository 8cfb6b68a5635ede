//! What is not understood, and what is too much.

use crate::*;

#[test]
fn bodies_in_an_unknown_coding_are_left_alone() {
    for (encoding, opaque) in [
        ("zstd", true),
        ("gzip, gzip", true),
        ("identity", false),
        ("", false),
        ("identity, br", true),
        ("Identity", false),
    ] {
        for context in [STREAM, BODY] {
            let context = AnswerContext {
                content_encoding: Some(encoding),
                ..context
            };
            let (events, answer) = read(context, "data: {}\n\n", TransportEnd::Clean);
            assert_eq!(
                answer.anomalies.contains(&(Anomaly::Opaque, 1)),
                opaque,
                "{encoding}"
            );
            assert!(!opaque || events.is_empty(), "{encoding}");
        }
    }
}

#[test]
fn where_decoding_stopped_only_the_transport_tells_the_end() {
    let long = "x".repeat(LINE_BYTES);
    let text = format!(
        ": c\n\ndata: {}\n\ndata: {long}\n\ndata: [DONE]\n\n",
        chat(0, r#"{"content":"a"}"#, &usage(1))
    );
    for (end, state) in [
        (TransportEnd::Clean, FinishState::Complete),
        (TransportEnd::Cut, FinishState::Cut),
    ] {
        let (events, answer) = read(STREAM, &text, end);
        assert_eq!(events.len(), 1);
        assert_eq!((answer.state, answer.terminator), (state, None));
        assert_eq!(
            (
                answer.output_tokens,
                answer.input_tokens,
                answer.output_tokens_min
            ),
            (None, None, 1)
        );
        assert_eq!(answer.anomalies, [(Anomaly::OversizeEvent, 1)]);
        assert_eq!(answer.comments, 1);
    }
}

/// A stream that broke off behind a choice that had finished and an event too long to read was called whole.
#[test]
fn choices_that_finished_before_decoding_stopped_need_not_be_all() {
    let text = format!(
        "data: {}\n\ndata: {}\n\n",
        finished(0, "stop"),
        "x".repeat(LINE_BYTES)
    );
    let (_, cut) = read(STREAM, &text, TransportEnd::Cut);
    assert_eq!((cut.state, cut.terminator), (FinishState::Cut, None));
    let (_, whole) = read(STREAM, &text, TransportEnd::Clean);
    assert_eq!(
        (whole.state, whole.terminator),
        (FinishState::Complete, None)
    );
}

#[test]
fn a_body_has_a_limit() {
    let padded = |size: usize| format!("{}{}", r#"{"choices":[]}"#, " ".repeat(size - 14));
    let fits = body(&padded(WHOLE_BODY_BYTES));
    assert_eq!(
        (fits.state, fits.anomalies),
        (FinishState::Complete, vec![])
    );
    let above = body(&padded(WHOLE_BODY_BYTES + 1));
    assert_eq!(above.anomalies, [(Anomaly::OversizeEvent, 1)]);
    assert_eq!(
        (above.state, above.terminator),
        (FinishState::Complete, None)
    );
}

#[test]
fn what_is_no_json_is_counted() {
    let (_, answer) = stream(
        STREAM,
        &[
            "plain",
            "",
            "null",
            r#"{"a":"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a"}}]"#,
        ],
    );
    assert_eq!(answer.anomalies, [(Anomaly::BadJson, 3)]);
    assert_eq!((answer.events, answer.token_events), (5, 0));
    let (_, answer) = read(STREAM, "data: {\"a\":", TransportEnd::Cut);
    assert_eq!(
        (answer.anomalies, answer.events),
        (vec![(Anomaly::BadJson, 1)], 0)
    );
}

#[test]
fn choices_have_a_limit() {
    let many: Vec<String> = (0..=u32::try_from(CHOICES).unwrap())
        .map(|index| chat(index, r#"{"content":"a"}"#, ""))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (events, answer) = stream(STREAM, &many);
    // The last one's state is not kept, but its token is seen.
    assert!(
        events
            .iter()
            .all(|event| event.tokens == Tokens::AtLeastOne)
    );
    assert_eq!(answer.finish_reasons.len(), CHOICES);
    assert_eq!(answer.anomalies, [(Anomaly::TooManyChoices, 1)]);
    let (_, within) = stream(STREAM, &many[..CHOICES]);
    assert_eq!(within.anomalies, []);
}

#[test]
fn choices_of_one_chunk_have_the_same_limit() {
    let chunk = |choices: usize| {
        let choices: Vec<String> = (0..choices)
            .map(|index| format!(r#"{{"index":{index},"text":"a"}}"#))
            .collect();
        format!(r#"{{"choices":[{}]}}"#, choices.join(","))
    };
    assert_eq!(stream(COMPLETIONS, &[&chunk(CHOICES)]).1.anomalies, []);
    let (_, above) = stream(COMPLETIONS, &[&chunk(CHOICES + 1)]);
    assert_eq!(above.anomalies, [(Anomaly::TooManyChoices, 1)]);
}

#[test]
fn choices_above_the_limit_may_not_have_finished() {
    let many: Vec<String> = (0..=u32::try_from(CHOICES).unwrap())
        .map(|index| finished(index, "stop"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(
        stream(STREAM, &many[..CHOICES]).1.state,
        FinishState::Complete
    );
    assert_eq!(stream(STREAM, &many).1.state, FinishState::Cut);
}

#[test]
fn texts_have_a_limit() {
    let long = "é".repeat(TEXT_BYTES);
    let (_, answer) = stream(
        STREAM,
        &[&format!(
            r#"{{"id":"{long}","model":"{long}","error":"{long}"}}"#
        )],
    );
    let cut = Some("é".repeat(TEXT_BYTES / 2));
    assert_eq!(
        (answer.model, answer.response_id, answer.error),
        (cut.clone(), cut.clone(), cut)
    );
}

#[test]
fn the_first_name_that_is_not_empty_is_kept() {
    let (_, answer) = stream(
        STREAM,
        &[
            r#"{"id":"","model":null}"#,
            r#"{"id":"a","model":"m"}"#,
            r#"{"id":"b","model":"n"}"#,
        ],
    );
    assert_eq!(
        (answer.response_id.as_deref(), answer.model.as_deref()),
        (Some("a"), Some("m"))
    );
}
