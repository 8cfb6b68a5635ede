//! The gRPC services: what the corpus of answers doesn't show.

#![expect(
    clippy::expect_used,
    reason = "what goes wrong in a helper fails the test"
)]

use crate::*;

const fn grpc(endpoint: Endpoint) -> AnswerContext<'static> {
    AnswerContext {
        content_type: Some("application/grpc+proto"),
        ..AnswerContext::new(endpoint, 200)
    }
}

/// A length that fits one byte of any of the encodings here.
fn length(bytes: &[u8]) -> u8 {
    assert!(bytes.len() < 0x80);
    u8::try_from(bytes.len()).expect("it is short")
}

/// A field with a number.
fn number(field: u8, value: u8) -> Vec<u8> {
    assert!(field < 16 && value < 0x80);
    vec![field << 3, value]
}

/// A field with a text or a message.
fn bytes(field: u8, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    assert!(field < 16);
    [&[field << 3 | 2, length(value)], value].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, length(message)], message].concat()
}

/// The answer of these messages, whole and byte by byte.
fn of(context: AnswerContext<'_>, messages: &[Vec<u8>]) -> (Vec<Event>, Answer) {
    let body: Vec<u8> = messages
        .iter()
        .flat_map(|message| framed(message))
        .collect();
    let read = |size: usize| {
        let (mut decoder, mut events) = (Decoder::new(context), Vec::new());
        body.chunks(size)
            .for_each(|bytes| decoder.push(bytes, &mut events));
        let answer = decoder.finish(TransportEnd::Clean, &mut events);
        (events, answer)
    };
    let whole = read(body.len().max(1));
    assert_eq!(read(1), whole);
    whole
}

#[test]
fn sglang_has_numbers_of_its_own() {
    let chunk = |index, ids: &[u8], so_far| {
        let part = [
            bytes(1, ids),
            number(2, 7),
            number(3, so_far),
            number(4, 3),
            number(8, index),
            number(9, 1),
        ];
        [bytes(1, "r"), bytes(2, part.concat())].concat()
    };
    let complete = |index, total| {
        let part = [
            bytes(1, [1, 2]),
            bytes(2, "stop"),
            number(3, 7),
            number(4, total),
            number(11, index),
            number(12, 2),
        ];
        [bytes(1, "r"), bytes(3, part.concat())].concat()
    };
    let context = AnswerContext {
        n: Some(2),
        ..grpc(Endpoint::SglangGrpc)
    };
    let parts = [chunk(0, &[5], 1), chunk(1, &[5, 6], 2), complete(0, 1)];
    let (events, cut) = of(context, &parts);
    assert_eq!(
        tokens(&events),
        [Tokens::Exactly(1), Tokens::Exactly(2), Tokens::None]
    );
    assert_eq!((cut.state, cut.terminator), (FinishState::Cut, None));
    let (_, whole) = of(context, &[&parts[..], &[complete(1, 3)]].concat());
    assert_eq!(
        (whole.state, whole.terminator),
        (FinishState::Complete, Some(Terminator::GrpcComplete))
    );
    assert_eq!(
        (whole.input_tokens, whole.output_tokens, whole.cached_tokens),
        (Some(7), Some(4), Some(3))
    );
    assert_eq!(
        (whole.reasoning_tokens, whole.response_id.as_deref()),
        (Some(4), Some("r"))
    );
    assert_eq!(whole.finish_reasons, vec![Some("stop".to_owned()); 2]);
}

#[test]
fn without_counts_the_ids_are_counted() {
    let unpacked = bytes(1, [number(1, 5), number(1, 6)].concat());
    let (events, answer) = of(grpc(Endpoint::VllmGrpc), &[unpacked]);
    assert_eq!(tokens(&events), [Tokens::Exactly(2)]);
    assert_eq!(
        (answer.output_tokens, answer.output_source),
        (Some(2), CountSource::TokenIds)
    );
    // What is absent may be 0 or not stated.
    assert_eq!((answer.input_tokens, answer.cached_tokens), (None, None));
}

#[test]
fn an_abort_and_an_error() {
    let (_, aborted) = of(grpc(Endpoint::VllmGrpc), &[bytes(2, bytes(2, "abort"))]);
    assert_eq!(
        (aborted.state, aborted.terminator),
        (FinishState::Aborted, Some(Terminator::GrpcComplete))
    );
    let (_, failed) = of(
        grpc(Endpoint::SglangGrpc),
        &[bytes(4, bytes(1, r#"a "b" \c"#))],
    );
    assert_eq!(
        (failed.state, failed.error.as_deref()),
        (FinishState::Errored, Some(r#"a "b" \c"#))
    );
}

/// A response of Triton's.
fn triton(id: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    let named = [bytes(1, "m"), bytes(3, id)].concat();
    bytes(2, [named, parts.concat()].concat())
}

fn output(name: &str, datatype: &str) -> Vec<u8> {
    bytes(5, [bytes(1, name), bytes(2, datatype)].concat())
}

fn raw(text: &str) -> Vec<u8> {
    let element = [&[length(text.as_bytes()), 0, 0, 0], text.as_bytes()].concat();
    bytes(6, element)
}

#[test]
fn the_text_is_found_among_the_outputs() {
    let contents = bytes(5, bytes(8, "a"));
    let inside = bytes(
        5,
        [bytes(1, "text_output"), bytes(2, "BYTES"), contents].concat(),
    );
    let (text, number) = (output("text_output", "BYTES"), output("n", "INT32"));
    let other = output("other", "BYTES");
    for (parts, shown) in [
        (vec![text.clone(), raw("a")], true),
        (vec![text.clone(), raw("")], false),
        (vec![number.clone(), text.clone(), raw("1"), raw("")], false),
        (vec![other.clone(), text.clone(), raw(""), raw("a")], true),
        (vec![other, number.clone(), raw("a"), raw("")], true),
        (vec![number, raw("1")], false),
        (vec![raw("a"), text.clone()], true),
        (vec![inside], true),
        (vec![text], false),
        (vec![], false),
    ] {
        let (events, answer) = of(grpc(Endpoint::TritonGrpc), &[triton("1", &parts)]);
        assert_eq!(events[0].visible, shown, "{parts:?}");
        assert_eq!((answer.state, answer.anomalies), (FinishState::Cut, vec![]));
    }
}

#[test]
fn the_first_id_is_the_answers_own() {
    let is_final = |value| {
        bytes(
            4,
            [
                bytes(1, "triton_final_response"),
                bytes(2, number(1, value)),
            ]
            .concat(),
        )
    };
    let text = |id, text| triton(id, &[output("text_output", "BYTES"), raw(text)]);
    let messages = [
        text("1", "a"),
        text("2", "b"),
        triton("2", &[is_final(1)]),
        [bytes(1, "told"), triton("2", &[])].concat(),
        text("1", "c"),
        triton("1", &[is_final(0)]),
    ];
    let (events, cut) = of(grpc(Endpoint::TritonGrpc), &messages);
    let visible: Vec<_> = events.iter().map(|event| event.visible).collect();
    assert_eq!(visible, [true, false, false, false, true, false]);
    assert_eq!(
        (cut.state, cut.response_id.as_deref()),
        (FinishState::Cut, Some("1"))
    );
    let (_, whole) = of(
        grpc(Endpoint::TritonGrpc),
        &[&messages[..], &[triton("1", &[is_final(1)])]].concat(),
    );
    assert_eq!(whole.terminator, Some(Terminator::TritonFinalResponse));
}

#[test]
fn the_answers_of_one_call_are_told_apart() {
    let flag = [bytes(1, "triton_final_response"), bytes(2, number(1, 1))].concat();
    let long = "i".repeat(TEXT_BYTES + 9);
    let messages = [
        triton("a", &[]),
        triton("b", &[bytes(4, flag)]),
        [bytes(1, "told"), triton("", &[])].concat(),
        vec![0xff],
    ];
    let body: Vec<u8> = messages.iter().flat_map(|data| framed(data)).collect();
    for size in 1..=body.len() {
        let (mut answers, mut found) = (CallAnswers::default(), Vec::new());
        for bytes in body.chunks(size) {
            answers.push(bytes, |answer| {
                let id = String::from_utf8_lossy(answer.id).into_owned();
                found.push((id, answer.is_last, answer.data.to_vec()));
            });
        }
        let expected = [("a", false), ("b", true), ("", true)];
        let expected: Vec<_> = expected
            .into_iter()
            .zip(&messages)
            .map(|((id, is_last), data)| (id.to_owned(), is_last, data.clone()))
            .collect();
        assert_eq!(found, expected, "{size}: what is no protobuf is nobody's");
        assert!(!answers.is_blind());
    }
    let answer = |id| CallAnswer {
        id,
        is_last: false,
        data: b"",
    };
    assert!(answer(b"a").is_for("a") && !answer(b"ab").is_for("a"));
    assert!(answer(long.as_bytes()).is_for(&long[..TEXT_BYTES]));
    let mut answers = CallAnswers::default();
    answers.push(&[1, 0, 0, 0, 1, 7], |_| {});
    assert!(answers.is_blind(), "compressed");
}

#[test]
fn the_end_of_the_call_is_the_end_for_who_did_not_ask_to_be_told() {
    let text = [triton("1", &[output("text_output", "BYTES"), raw("a")])];
    for (end_asked, messages, state) in [
        (Some(false), &text[..], FinishState::Complete),
        (Some(false), &[], FinishState::Cut),
        (Some(true), &text, FinishState::Cut),
        (None, &text, FinishState::Cut),
    ] {
        let context = AnswerContext {
            end_asked,
            ..grpc(Endpoint::TritonGrpc)
        };
        assert_eq!(of(context, messages).1.state, state, "{end_asked:?}");
    }
}

#[test]
fn what_cannot_be_read() {
    let context = grpc(Endpoint::VllmGrpc);
    let (events, answer) = of(context, &[vec![0x0a, 9]]);
    assert_eq!(
        (events.len(), answer.anomalies),
        (1, vec![(Anomaly::BadJson, 1)])
    );
    let of = |body: &[u8]| {
        let (mut decoder, mut events) = (Decoder::new(context), Vec::new());
        decoder.push(body, &mut events);
        let answer = decoder.finish(TransportEnd::Clean, &mut events);
        (events.len(), answer.anomalies)
    };
    assert_eq!(of(&[1, 0, 0, 0, 1, 7]), (0, vec![(Anomaly::Opaque, 1)]));
    assert_eq!(
        of(&[0, 0x7f, 0, 0, 0]),
        (0, vec![(Anomaly::OversizeEvent, 1)])
    );
    assert_eq!(of(&[0, 0, 0, 0, 2, 7]), (0, vec![(Anomaly::BadJson, 1)]));
    let refused = AnswerContext {
        content_type: Some("text/html"),
        ..AnswerContext::new(Endpoint::VllmGrpc, 502)
    };
    let (events, answer) = read(refused, "<html>", TransportEnd::Clean);
    assert_eq!((events.len(), answer.state), (0, FinishState::Rejected));
}
