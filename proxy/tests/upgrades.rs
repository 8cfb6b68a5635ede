//! Clients that go on in websocket where that is allowed, over pipes, on the paused clock.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

#[expect(dead_code, reason = "the support is shared with other tests")]
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Engine, House, pause, read_all, read_head, write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use upstream::Clock;

const ALLOWED: &str = "allow_upgrade: websocket\n";

const ASKED: &str = "GET /v1/realtime HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";

const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";

/// An engine that switches, and then gives everything back.
fn echo() -> Arc<Engine> {
    Engine::new(|mut socket| async move {
        let head = read_head(&mut socket).await.unwrap();
        assert!(
            head.contains("connection: upgrade\r\nupgrade: websocket\r\n"),
            "{head}"
        );
        write(&mut socket, SWITCHED).await;
        let (mut from, mut to) = tokio::io::split(socket);
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    })
}

#[tokio::test(start_paused = true)]
async fn fault_36_a_websocket_passes_both_ways_and_ends_with_its_client() {
    let engine = echo();
    let house = House::new(&engine, ALLOWED);
    let mut client = house.client();
    // What comes with the request is no request: it waits for the engine's word, and is passed on then.
    write(&mut client, &format!("{ASKED}GET / HTTP/1.1\r\n\r\n")).await;
    let mut head = vec![0; SWITCHED.len()];
    client.read_exact(&mut head).await.unwrap();
    assert_eq!(String::from_utf8(head).unwrap(), SWITCHED);
    let mut back = [0; 18];
    client.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"GET / HTTP/1.1\r\n\r\n");
    let sent: Vec<u8> = (0..300_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    let (mut from, mut to) = tokio::io::split(client);
    let mut received = vec![0; sent.len()];
    let (written, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut received));
    written.unwrap();
    read.unwrap();
    assert_eq!(received, sent);
    to.shutdown().await.unwrap();
    assert_eq!(from.read(&mut [0; 8]).await.unwrap(), 0);
    assert_eq!(engine.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn fault_36_a_websocket_may_follow_other_requests_on_a_connection() {
    let engine = Engine::new(|mut socket| async move {
        let head = read_head(&mut socket).await.unwrap();
        if head.starts_with("GET /v1/realtime") {
            write(&mut socket, SWITCHED).await;
            write(&mut socket, "hello").await;
            return pause(1_000).await;
        }
        write(
            &mut socket,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        )
        .await;
    });
    let house = House::new(&engine, ALLOWED);
    let mut client = house.client();
    write(&mut client, "GET /x HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(
        read_head(&mut client)
            .await
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    let mut body = [0; 2];
    client.read_exact(&mut body).await.unwrap();
    write(&mut client, ASKED).await;
    assert!(
        read_head(&mut client)
            .await
            .unwrap()
            .starts_with("HTTP/1.1 101")
    );
    assert_eq!(read_all(&mut client).await, "hello");
}

#[tokio::test(start_paused = true)]
async fn fault_36_what_hides_behind_a_declined_upgrade_is_no_request() {
    for (answer, told) in [
        (
            "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nX-Why: no\r\nkeep-alive: 5\r\n\r\nno",
            "X-Why: no\r\nconnection: close\r\n\r\nno",
        ),
        (
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 426 Upgrade Required\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "upgrade_declined",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n",
            "upgrade_declined",
        ),
        ("HTTP/1.1 2", "upstream_reset"),
        ("nonsense\r\n\r\n", "upstream_reset"),
    ] {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let engine = Engine::new(move |mut socket| {
            let seen = Arc::clone(&seen);
            async move {
                let head = read_head(&mut socket).await.unwrap();
                seen.lock().unwrap().push(head);
                write(&mut socket, answer).await;
            }
        });
        let house = House::new(&engine, ALLOWED);
        let mut client = house.client();
        write(
            &mut client,
            &format!("{ASKED}GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"),
        )
        .await;
        let answered = read_all(&mut client).await;
        assert!(answered.contains(told), "{answered}");
        assert!(answered.contains("connection: close"), "{answered}");
        assert!(!answered.contains("keep-alive"), "{answered}");
        assert_eq!(heads.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_36_silence_ends_a_websocket_and_an_engine_that_says_nothing_is_left() {
    let house = House::new(&echo(), ALLOWED);
    let mut client = house.client();
    write(&mut client, ASKED).await;
    read_head(&mut client).await.unwrap();
    let clock = Clock::start();
    tokio::time::sleep(Duration::from_secs(300)).await;
    write(&mut client, "ping").await;
    let mut back = [0; 4];
    client.read_exact(&mut back).await.unwrap();
    assert!(read_all(&mut client).await.is_empty());
    let lasted = clock.now().as_secs_f64();
    assert!((900.0..=1_500.0).contains(&lasted), "{lasted}");

    let silent = Engine::new(|mut socket| async move {
        read_head(&mut socket).await.unwrap();
        std::future::pending::<()>().await;
    });
    let house = House::new(&silent, ALLOWED);
    let mut client = house.client();
    write(&mut client, ASKED).await;
    let answer = read_head(&mut client).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn fault_36_only_what_is_allowed_and_whole_is_switched() {
    for (yaml, request) in [
        ("", ASKED.to_owned()),
        (ALLOWED, ASKED.replace("websocket\r\n", "h2c\r\n")),
        (ALLOWED, ASKED.replace("sec-websocket-key", "x-other-key")),
        (
            ALLOWED,
            ASKED.replace("\r\n\r\n", "\r\ncontent-length: 1\r\n\r\nx"),
        ),
    ] {
        let engine = Engine::new(|mut socket| async move {
            let head = read_head(&mut socket).await.unwrap();
            let asks = head.to_ascii_lowercase().contains("upgrade: ");
            assert!(!asks, "{head}");
            write(
                &mut socket,
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            )
            .await;
        });
        let house = House::new(&engine, yaml);
        let mut client = house.client();
        write(&mut client, &request).await;
        let head = read_head(&mut client).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    }
    let house = House::unreachable();
    let mut client = house.client();
    write(&mut client, ASKED).await;
    assert!(
        read_head(&mut client)
            .await
            .unwrap()
            .starts_with("HTTP/1.1 502 ")
    );
}
