//! Compressed answers: read as they come, dated by the read that completes an event, given up where they are no answer.

#![expect(
    clippy::expect_used,
    reason = "what goes wrong in a helper fails the test"
)]

use crate::*;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{self, Write};

const GZIP: AnswerContext<'static> = AnswerContext {
    content_encoding: Some("gzip"),
    ..STREAM
};

/// Compressed pieces, each flushed as a server does that lets its events go at once, and the rest of the coding.
fn flushed(pieces: &[&str]) -> Vec<Vec<u8>> {
    let pack = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut packed = Vec::new();
        for piece in pieces {
            encoder.write_all(piece.as_bytes())?;
            encoder.flush()?;
            packed.push(std::mem::take(encoder.get_mut()));
        }
        packed.push(encoder.finish()?);
        io::Result::Ok(packed)
    };
    pack().expect("memory can be written to")
}

fn event(text: &str, more: &str) -> String {
    let chunk = chat(0, &format!(r#"{{"content":"{text}"}}"#), more);
    format!("data: {chunk}\n\n")
}

/// What a decoder says of these reads.
fn decode(
    context: AnswerContext<'_>,
    reads: &[Vec<u8>],
    end: TransportEnd,
) -> (Vec<Event>, Answer) {
    let (mut decoder, mut events) = (Decoder::new(context), Vec::new());
    reads
        .iter()
        .for_each(|read| decoder.push(read, &mut events));
    let answer = decoder.finish(end, &mut events);
    (events, answer)
}

fn whole_stream() -> Vec<String> {
    vec![
        event("a", ""),
        event("b", ""),
        format!("data: {}\n\n", finished(0, "stop")),
        format!("data: {{\"choices\":[]{}}}\n\n", usage(2)),
        "data: [DONE]\n\n".to_owned(),
    ]
}

#[test]
fn an_event_is_there_in_the_read_that_completes_it() {
    let pieces = whole_stream();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let (mut decoder, mut events) = (Decoder::new(GZIP), Vec::new());
    for (place, read) in flushed(&pieces).iter().enumerate() {
        decoder.push(read, &mut events);
        assert_eq!(events.len(), (place + 1).min(pieces.len()));
    }
    let answer = decoder.finish(TransportEnd::Clean, &mut events);
    assert_eq!(answer.anomalies, []);
    assert_eq!(
        (answer.output_tokens, answer.state),
        (Some(2), FinishState::Complete)
    );
    let plain = read(STREAM, &pieces.concat(), TransportEnd::Clean);
    assert_eq!((events, answer), plain);
}

#[test]
fn an_event_that_was_whole_before_is_early_and_no_other() {
    let first = event("a", "");
    let (begin, blank) = first.split_at(first.len() - 1);
    let rest = format!("{blank}{}{}", event("b", ""), event("c", ""));
    let (mut decoder, mut events) = (Decoder::new(GZIP), Vec::new());
    let reads = flushed(&[begin, &rest]);
    decoder.push(&reads[0], &mut events);
    assert!(events.is_empty() && decoder.pending_whole());
    decoder.push(&reads[1], &mut events);
    let early: Vec<bool> = events.iter().map(|event| event.early).collect();
    assert_eq!(early, [true, false, false]);
}

/// A read may unpack to many pieces: where one of them ends is no end of a read, and dates nothing.
#[test]
fn the_end_of_a_piece_dates_nothing() {
    let long: Vec<String> = (0..3000)
        .map(|number| event(&number.to_string(), ""))
        .collect();
    let reads = flushed(&[&long.concat()]);
    let (mut decoder, mut events) = (Decoder::new(GZIP), Vec::new());
    decoder.push(&reads[0], &mut events);
    assert_eq!(events.len(), long.len());
    assert!(events.iter().all(|event| !event.early));
}

#[test]
fn deflate_and_whole_bodies_are_read_too() {
    let body = r#"{"model":"m","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7}}"#;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    let context = AnswerContext {
        content_encoding: Some("deflate"),
        ..BODY
    };
    let (_, answer) = decode(context, &[encoder.finish().unwrap()], TransportEnd::Clean);
    assert_eq!(
        (answer.output_tokens, answer.state),
        (Some(7), FinishState::Complete)
    );
    assert_eq!(answer.anomalies, []);
}

#[test]
fn damage_ends_the_reading_there() {
    let pieces = whole_stream();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let mut reads = flushed(&pieces);
    // A block of the type that does not exist.
    reads[2] = vec![0xff; 20];
    let (events, answer) = decode(GZIP, &reads, TransportEnd::Clean);
    assert_eq!(events.len(), 2);
    assert_eq!(
        answer.anomalies,
        [(Anomaly::Opaque, 1), (Anomaly::CorruptCoding, 1)]
    );
    assert_eq!((answer.output_tokens, answer.output_tokens_min), (None, 2));
}

#[test]
fn a_coding_that_breaks_off_is_no_whole_answer() {
    // Triton marks its end by nothing but the end of the body.
    let context = AnswerContext {
        endpoint: Endpoint::TritonGenerateStream,
        ..GZIP
    };
    let mut reads = flushed(&["data: {\"text_output\":\"a\"}\n\n"]);
    let whole = decode(context, &reads, TransportEnd::Clean).1;
    assert_eq!(
        (whole.state, whole.anomalies),
        (FinishState::Complete, vec![])
    );
    reads.pop();
    let cut = decode(context, &reads, TransportEnd::Clean).1;
    assert_eq!(cut.state, FinishState::Cut);
    assert_eq!(cut.anomalies, [(Anomaly::CorruptCoding, 1)]);
    let cut = decode(context, &reads, TransportEnd::Cut).1;
    assert_eq!((cut.state, cut.anomalies), (FinishState::Cut, vec![]));
}

#[test]
fn fault_26_a_bomb_is_given_up() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(event("a", "").as_bytes()).unwrap();
    for _ in 0..64 {
        encoder.write_all(&[b':'; 1024 * 1024]).unwrap();
        encoder.write_all(b"\n").unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let zeros = {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&vec![b'\n'; 64 * 1024 * 1024]).unwrap();
        encoder.finish().unwrap()
    };
    for (bomb, kind, events) in [
        // Its lines are too long before it is too dense.
        (bomb, Anomaly::OversizeEvent, 1),
        (zeros, Anomaly::DenseCoding, 0),
    ] {
        let (found, answer) = decode(GZIP, &[bomb], TransportEnd::Clean);
        assert_eq!(found.len(), events);
        assert!(
            answer.anomalies.contains(&(kind, 1)),
            "{:?}",
            answer.anomalies
        );
        assert_eq!(answer.output_tokens, None);
    }
}
