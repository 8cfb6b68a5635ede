//! More clients than places: who makes room, and who never does.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    dead_code,
    unused_imports,
    reason = "the support is shared with other tests"
)]

mod support;

use exporter::{Format, Live};
use std::time::Duration;
use support::{Engine, House, pause, read_all, read_head, read_request, write};
use tokio::io::{AsyncReadExt, DuplexStream};

const ASK: &str = "GET /x HTTP/1.1\r\nhost: a\r\n\r\n";
const WAIT: &str = "GET /wait HTTP/1.1\r\nhost: a\r\n\r\n";

fn counted(house: &House, reason: &str) -> u64 {
    let text = house
        .proxy
        .exporter()
        .encode(Format::Text, &Live::default());
    let text = String::from_utf8(text.unwrap()).unwrap();
    let name = format!("loadproof_rejected_requests_total{{reason=\"{reason}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap().parse().unwrap()
}

async fn ask(client: &mut DuplexStream, request: &str) {
    write(client, request).await;
    let head = read_head(client).await.unwrap();
    assert!(head.contains(" 204 "), "{head}");
}

/// Answers at once, and `/wait` after a minute.
fn engine() -> std::sync::Arc<Engine> {
    Engine::new(|mut socket| async move {
        while let Some(request) = read_request(&mut socket).await {
            if request.starts_with("GET /wait") {
                pause(60_000).await;
            }
            write(&mut socket, "HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn fault_32_above_nine_tenths_the_longest_idle_makes_room_and_the_busy_never() {
    let house = House::new(&engine(), "limits:\n  connections: 10\n");
    // The one that waits for its answer has been silent for longest.
    let mut busy = house.client();
    write(&mut busy, WAIT).await;
    pause(10).await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        let mut client = house.client();
        ask(&mut client, ASK).await;
        idle.push(client);
        pause(10).await;
    }
    // The first of them is heard of again, so that the second has been idle for longest.
    ask(&mut idle[0], ASK).await;
    pause(10).await;
    assert_eq!(counted(&house, "crowded_out"), 0, "nine of ten");

    let mut newcomers = Vec::new();
    for leaves in [1, 2] {
        let mut newcomer = house.client();
        ask(&mut newcomer, ASK).await;
        newcomers.push(newcomer);
        assert_eq!(
            read_all(&mut idle[leaves]).await,
            "",
            "closed without a word"
        );
        assert_eq!(counted(&house, "crowded_out"), leaves as u64);
        pause(10).await;
    }
    for stays in [0, 3, 4, 5, 6, 7] {
        ask(&mut idle[stays], ASK).await;
    }
    let answer = read_head(&mut busy).await.unwrap();
    assert!(answer.contains(" 204 "), "{answer}");
    assert_eq!(counted(&house, "too_many_connections"), 0);
}

#[tokio::test(start_paused = true)]
async fn fault_32_where_all_are_busy_nobody_is_sent_away() {
    let house = House::new(&engine(), "limits:\n  connections: 10\n");
    let mut busy = Vec::new();
    for _ in 0..10 {
        let mut client = house.client();
        write(&mut client, WAIT).await;
        pause(10).await;
        busy.push(client);
    }
    let mut newcomer = house.client();
    assert_eq!(read_all(&mut newcomer).await, "");
    for client in &mut busy {
        let answer = read_head(client).await.unwrap();
        assert!(answer.contains(" 204 "), "{answer}");
    }
    assert_eq!(counted(&house, "crowded_out"), 0);
    // What they held is there again once they have gone.
    drop(busy);
    pause(10).await;
    for _ in 0..9 {
        ask(&mut house.client(), ASK).await;
        pause(10).await;
    }
    assert_eq!(counted(&house, "crowded_out"), 0);
}
