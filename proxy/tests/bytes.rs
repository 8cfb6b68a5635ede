//! The client gets the engine's bytes, in order and whole: any bytes, in any chunks, whatever they mean.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use measure::{Outcome, Record};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Pieces of a body: garbage, or something that looks like an event stream.
fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let garbage = prop::collection::vec(any::<u8>(), 1..200);
    let events = prop::sample::select(vec![
        event("hello"),
        event("h\u{e9}llo \u{1f600} \u{4f60}\u{597d}"),
        DONE.to_owned(),
        finish(),
        "data: {\"error\":{\"message\":\"x\"}}\n\n".to_owned(),
        ": ping\n\n".to_owned(),
        "data: nonsense\r\r\n\n".to_owned(),
        "event: x\nid: 1\n".to_owned(),
    ])
    .prop_map(String::into_bytes);
    prop::collection::vec(prop_oneof![1 => garbage, 3 => events], 0..24)
}

/// Where the pieces are cut into chunks, and the chunks into writes.
fn cuts() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    let sizes = || prop::collection::vec(1_usize..300, 1..20);
    (sizes(), sizes())
}

fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (part, rest) = bytes.split_at((*size).min(bytes.len()));
        parts.push(part);
        bytes = rest;
    }
    parts
}

fn chunked(body: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut wire = STREAM_HEAD.as_bytes().to_vec();
    for part in cut(body, sizes) {
        wire.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        wire.extend_from_slice(part);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}

async fn through_the_proxy(wire: Arc<Vec<u8>>, writes: Arc<Vec<usize>>) -> (Vec<u8>, Record) {
    let engine = Engine::new(move |mut socket| {
        let (wire, writes) = (Arc::clone(&wire), Arc::clone(&writes));
        async move {
            read_request(&mut socket).await;
            for part in cut(&wire, &writes) {
                socket.write_all(part).await.unwrap();
                tokio::task::yield_now().await;
            }
            // Stays open: only the framing tells the end.
            read_all(&mut socket).await;
        }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let mut body = Vec::new();
    loop {
        let mut size = Vec::new();
        while !size.ends_with(b"\r\n") {
            size.push(client.read_u8().await.unwrap());
        }
        let size =
            usize::from_str_radix(std::str::from_utf8(&size).unwrap().trim_end(), 16).unwrap();
        let mut part = vec![0; size + 2];
        client.read_exact(&mut part).await.unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&part[..size]);
    }
    let record = house.record().await;
    house.is_quiet().await;
    (body, record)
}

fn run(wire: Vec<u8>, writes: Vec<usize>) -> (Vec<u8>, Record) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    runtime.block_on(through_the_proxy(Arc::new(wire), Arc::new(writes)))
}

/// Tokens of scripts whose characters are two to four bytes long, and of characters that are joined.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = prop_oneof![
        "[\u{4e00}-\u{9fff}]{1,4}",
        "[\u{ac00}-\u{d7a3}\u{3040}-\u{30ff}]{1,4}",
        "[\u{1f300}-\u{1faff}]{1,3}",
        "[\u{430}-\u{44f}\u{600}-\u{6ff}]{1,6}",
        Just("\u{1f469}\u{200d}\u{1f4bb}e\u{301}".to_owned()),
    ];
    prop::collection::vec(text, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn fault_22_bytes_in_are_bytes_out(pieces in pieces(), (chunks, writes) in cuts()) {
        let body = pieces.concat();
        let (got, _) = run(chunked(&body, &chunks), writes);
        prop_assert_eq!(got, body);
    }

    /// Cut within characters by chunks as by writes: each byte arrives, and each token counts.
    #[test]
    fn fault_23_characters_that_are_cut_anywhere_arrive_and_count(texts in texts(), sizes in (1_usize..5, 1_usize..7)) {
        let events: String = texts.iter().map(|text| event("?").replace("\"?\"", &json!(text).to_string())).collect();
        let body = (events + &finish() + DONE).into_bytes();
        let (got, record) = run(chunked(&body, &[sizes.0]), vec![sizes.1]);
        prop_assert_eq!(got, body);
        prop_assert_eq!(record.outcome, Outcome::Ok);
        prop_assert_eq!(record.output_tokens_min, texts.len() as u64);
    }
}
