//! Clients that send their requests, or take their answers, too slowly.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use bytes::Bytes;
use http::Request;
use measure::Outcome;
use std::sync::Arc;
use std::time::Duration;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const HEAD: &str = "POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n";

/// An engine that takes what comes, and tells how much that was when its connection ends.
fn listening(ended: mpsc::Sender<usize>) -> Arc<Engine> {
    Engine::new(move |mut socket| {
        let ended = ended.clone();
        async move { ended.send(read_all(&mut socket).await.len()).await.unwrap() }
    })
}

/// Sends `bytes` of a body every `ms`, until an answer comes; returns that, and the seconds until then.
async fn drip(client: DuplexStream, bytes: usize, ms: u32) -> (String, u64) {
    let (mut reader, mut writer) = tokio::io::split(client);
    let begun = tokio::time::sleep(Duration::ZERO).deadline();
    let write = async {
        loop {
            pause(ms).await;
            if writer.write_all(&vec![b'x'; bytes]).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let read = async {
        let mut answer = String::new();
        reader.read_to_string(&mut answer).await.unwrap();
        answer
    };
    tokio::select! {
        () = write => unreachable!("it goes on for ever"),
        answer = read => {
            let now = tokio::time::sleep(Duration::ZERO).deadline();
            (answer, (now - begun).as_secs())
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fault_31_a_body_that_stops_or_drips_is_refused_and_the_engine_told() {
    // A byte a second is slower than the rate, once a minute has passed; a byte every 70 s is no pace at all.
    for (ms, after) in [(1_000, 55..=65), (70_000, 60..=65)] {
        let (ended, mut heard) = mpsc::channel(1);
        let mut house = House::new(&listening(ended), "");
        let mut client = house.client();
        write(&mut client, HEAD).await;
        let (answer, seconds) = drip(client, 1, ms).await;
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(
            answer.contains("connection: close") && answer.contains("\"body_timeout\""),
            "{answer}"
        );
        assert!(after.contains(&seconds), "{seconds} s");
        assert!(heard.recv().await.unwrap() < 1_000, "the engine was let go");
        assert_eq!(house.record().await.outcome, Outcome::RejectedLimit);
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_31_a_steady_body_is_never_refused_and_a_slow_engine_is_not_held_against_it() {
    // The engine reads a little once in ten minutes; all that time the client is ahead of it.
    let engine = Engine::new(|mut socket| async move {
        let mut taken = 0;
        let head = read_head(&mut socket).await.unwrap();
        let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
        while taken < length {
            tokio::time::sleep(Duration::from_secs(600)).await;
            taken += socket.read(&mut vec![0; 64 * 1024]).await.unwrap();
        }
        write(
            &mut socket,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        )
        .await;
    });
    let house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, HEAD).await;
    write(&mut client, &"x".repeat(1_000_000)).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");

    // 1100 bytes a second, for a quarter of an hour.
    let (ended, _heard) = mpsc::channel(1);
    let house = House::new(&listening(ended), "");
    let mut client = house.client();
    write(&mut client, HEAD).await;
    for _ in 0..900 {
        pause(1_000).await;
        write(&mut client, &"x".repeat(1_100)).await;
    }
    assert_eq!(house.proxy.in_flight().prefill(), 1);
}

#[tokio::test(start_paused = true)]
async fn fault_31_a_slow_body_on_http_2_is_refused_and_its_siblings_are_not() {
    let (ended, mut heard) = mpsc::channel(2);
    let mut house = House::new(&listening(ended), "");
    let mut tasks = JoinSet::new();
    let (sender, connection) = h2::client::handshake(house.client()).await.unwrap();
    tasks.spawn(async move {
        let _ended = connection.await;
    });
    let mut sender = sender.ready().await.unwrap();
    let mut begin = || {
        let request = Request::post("http://a/v1/completions").body(()).unwrap();
        sender.send_request(request, false).unwrap()
    };
    let (slow, _slow_body) = begin();
    let (mut steady, mut steady_body) = begin();
    let answer = loop {
        tokio::select! {
            biased;
            early = &mut steady => panic!("the sibling was answered: {early:?}"),
            () = pause(10_000) => steady_body.send_data(Bytes::from_static(&[b'x'; 12_000]), false).unwrap(),
        }
        if tasks.is_empty() || house.proxy.in_flight().prefill() == 1 {
            break slow.await.unwrap();
        }
    };
    assert_eq!(answer.status(), 408);
    assert!(heard.recv().await.unwrap() < 1_000);
    assert_eq!(house.record().await.outcome, Outcome::RejectedLimit);
    drop((steady, steady_body));
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortPrefill);
    house.is_quiet().await;
}

/// Takes `bytes` every `ms` from an answer that never ends; returns its outcome, and the seconds until then.
async fn sip(bytes: usize, ms: u32) -> (Outcome, u64) {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        let event = chunk(&event(&"x".repeat(1024)));
        while socket.write_all(event.as_bytes()).await.is_ok() {}
    });
    let mut house = House::new(&engine, "");
    // Nearly nothing fits between the two.
    let mut client = house.client_with(64);
    write(&mut client, &chat_request()).await;
    let begun = tokio::time::sleep(Duration::ZERO).deadline();
    let mut taken = vec![0; bytes];
    while tokio::time::sleep(Duration::ZERO).deadline() - begun < Duration::from_secs(600) {
        pause(ms).await;
        if client.read_exact(&mut taken).await.is_err() {
            break;
        }
    }
    let seconds = (tokio::time::sleep(Duration::ZERO).deadline() - begun).as_secs();
    drop(client);
    (house.record().await.outcome, seconds)
}

#[tokio::test(start_paused = true)]
async fn fault_28_a_client_that_sips_its_answer_is_dropped_and_one_that_drinks_is_not() {
    let (outcome, seconds) = sip(10, 1_000).await;
    assert_eq!(outcome, Outcome::SlowClient);
    assert!((60..=70).contains(&seconds), "{seconds} s");
    let (outcome, seconds) = sip(300, 1_000).await;
    assert_eq!((outcome, seconds), (Outcome::ClientAbortDecode, 600));
}
