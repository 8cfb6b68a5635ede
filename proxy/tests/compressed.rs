//! An engine, or something between it and us, that compresses its stream: the client gets those very bytes, and the tokens are
//! timed all the same.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use flate2::Compression;
use flate2::write::GzEncoder;
use measure::{Defined, Nanos, Outcome};
use std::io::Write;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\
     transfer-encoding: chunked\r\n\r\n";

/// A stream of two tokens with its usage, event by event, each flushed.
fn compressed() -> Vec<Vec<u8>> {
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let mut pieces = Vec::new();
    for text in [&event("one"), &event("two"), &finish(), usage, DONE] {
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    pieces.push(encoder.finish().unwrap());
    pieces
}

fn chunked(piece: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
}

#[tokio::test(start_paused = true)]
async fn fault_26_a_compressed_stream_is_passed_on_as_it_is_and_timed() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, HEAD).await;
        for (piece, wait) in compressed().iter().zip([180, 20, 30, 0, 0, 0]) {
            pause(wait).await;
            socket.write_all(&chunked(piece)).await.unwrap();
        }
        write(&mut socket, "0\r\n\r\n").await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert_eq!(header(&head, "content-encoding"), Some("gzip"));
    let record = house.record().await;
    client.shutdown().await.unwrap();
    let mut body = Vec::new();
    client.read_to_end(&mut body).await.unwrap();
    assert_eq!(dechunked(&body), compressed().concat());

    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(record.anomalies, []);
    assert!(!record.flags.opaque);
    assert_eq!(record.ttft(), Defined::Value(Nanos::from_millis(180)));
    assert_eq!(record.tpot(), Defined::Value(0.020));
    assert_eq!(
        (record.output_tokens, record.input_tokens),
        (Some(2), Some(5))
    );
    assert_eq!((record.events, record.bursts), (5, 2));
    house.is_quiet().await;
}

/// The data of a whole chunked body.
fn dechunked(mut body: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    loop {
        let end = body.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return data;
        }
        data.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
    }
}
