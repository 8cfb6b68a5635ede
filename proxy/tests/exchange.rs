//! One exchange after another through a real proxy: what the client gets, what the engine sees, what the record says.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

mod support;

use measure::{Defined, Nanos, Outcome};
use std::time::Duration;
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use upstream::Clock;

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn value<T: std::fmt::Debug>(defined: Defined<T>) -> T {
    match defined {
        Defined::Value(value) => value,
        other => panic!("expected a value, got {other:?}"),
    }
}

/// Answers each request on a connection with a role chunk at once, then `gaps` ms before each token.
async fn stream(mut socket: tokio::io::DuplexStream, gaps: &'static [u32]) {
    while read_request(&mut socket).await.is_some() {
        write(&mut socket, STREAM_HEAD).await;
        for (index, gap) in gaps.iter().enumerate() {
            pause(*gap).await;
            write(&mut socket, &chunk(&event(&format!("t{index}")))).await;
        }
        write(&mut socket, &chunk(&finish())).await;
        write(&mut socket, &chunk(DONE)).await;
        write(&mut socket, "0\r\n\r\n").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_passed_on_byte_for_byte_and_timed_to_the_nanosecond() {
    let engine = Engine::new(|socket| stream(socket, &[180, 20, 30, 40]));
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(
        header(&head, "date"),
        Some("Mon, 30 Nov 2026 00:00:00 GMT"),
        "the engine's date, not ours"
    );
    let record = house.record().await;
    client.shutdown().await.unwrap();
    let (body, whole) = dechunk(&read_all(&mut client).await);
    let sent: String = (0..4).map(|index| event(&format!("t{index}"))).collect();
    assert_eq!(body, sent + &finish() + DONE);
    assert!(whole);

    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(value(record.ttft()), ms(180));
    assert_eq!(
        value(record.tpot()),
        0.030,
        "90 ms over the 3 tokens after the first"
    );
    assert_eq!(value(record.max_stall()), ms(40));
    assert_eq!(value(record.e2e()), ms(270));
    assert_eq!((record.events, record.bursts), (6, 4));
    assert_eq!(record.in_flight.at_arrival, 0);
    house.is_quiet().await;
}

const WHOLE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// Answers each request on a connection with a whole body.
async fn whole(mut socket: tokio::io::DuplexStream) {
    while read_request(&mut socket).await.is_some() {
        write(&mut socket, WHOLE).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_to_the_engine_is_used_again_and_closed_when_idle() {
    let engine = Engine::new(whole);
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    for _ in 0..3 {
        write(&mut client, &chat_request()).await;
        house.record().await;
        pause(100).await;
    }
    assert_eq!(engine.connections(), 1);
    pause(3_001).await;
    write(&mut client, &chat_request()).await;
    house.record().await;
    assert_eq!(engine.connections(), 2, "3 s idle is too long");
    house.is_quiet().await;
}

/// llama.cpp's server says `keep-alive` and closes after a stream all the same, a moment later: whoever used the connection
/// in that moment got a 502 for a request that the engine never saw.
#[tokio::test(start_paused = true)]
async fn a_connection_that_carried_a_stream_is_not_used_again() {
    let engine = Engine::new(|socket| stream(socket, &[1]));
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    for _ in 0..3 {
        write(&mut client, &chat_request()).await;
        assert_eq!(house.record().await.outcome, Outcome::Ok);
        pause(10).await;
    }
    assert_eq!(engine.connections(), 3);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_15_an_engine_that_closed_an_idle_connection_costs_no_request() {
    let engine = Engine::new(|mut socket| async move {
        // One request a connection, then it closes, without having said so.
        read_request(&mut socket).await;
        write(&mut socket, WHOLE).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    for _ in 0..3 {
        write(&mut client, &chat_request()).await;
        house.record().await;
        pause(10).await;
    }
    assert_eq!(engine.connections(), 3);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_10_an_engine_that_dies_before_its_head_gets_the_post_once_and_the_client_a_502() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    let mut body = vec![0; header(&head, "content-length").unwrap().parse().unwrap()];
    client.read_exact(&mut body).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["code"], "upstream_reset");
    assert_eq!(house.record().await.outcome, Outcome::UpstreamReset);
    assert_eq!(engine.connections(), 1);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_16_a_post_that_was_begun_on_a_kept_connection_is_not_sent_again() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, WHOLE).await;
        // The second request arrives, and the engine goes without a word.
        read_request(&mut socket).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    house.record().await;
    write(&mut client, &chat_request()).await;
    assert_eq!(house.record().await.outcome, Outcome::UpstreamReset);
    assert_eq!(engine.connections(), 1, "no second attempt");
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_11_a_truncated_answer_stays_truncated() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        write(&mut socket, &chunk(&event("half"))).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    read_head(&mut client).await.unwrap();
    let (body, whole) = dechunk(&read_all(&mut client).await);
    assert_eq!(body, event("half"));
    assert!(
        !whole,
        "the last chunk would be a proof of completeness that the engine did not give"
    );
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::UpstreamTruncated);
    assert!(record.flags.truncated);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_only_the_close_ends_stays_so() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(
            &mut socket,
            "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        )
        .await;
        for text in ["a", "b"] {
            pause(10).await;
            write(&mut socket, &event(text)).await;
        }
        write(&mut socket, DONE).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert_eq!(
        (
            header(&head, "transfer-encoding"),
            header(&head, "content-length")
        ),
        (None, None),
        "{head}"
    );
    assert_eq!(read_all(&mut client).await, event("a") + &event("b") + DONE);
    house.record().await;
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_03_a_client_that_leaves_in_prefill_frees_the_engine_at_once() {
    let (gone, mut heard) = tokio::sync::mpsc::channel(1);
    let engine = Engine::new(move |mut socket| {
        let gone = gone.clone();
        async move {
            read_request(&mut socket).await;
            let rest = read_all(&mut socket).await;
            gone.send(rest).await.unwrap();
        }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    pause(500).await;
    let clock = Clock::start();
    drop(client);
    assert_eq!(heard.recv().await.as_deref(), Some(""));
    assert_eq!(clock.now(), Clock::start().now(), "told without any wait");
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::ClientAbortPrefill);
    assert_eq!(record.ttft(), Defined::Censored(ms(500)));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_01_a_client_that_leaves_mid_stream_frees_the_engine_at_once() {
    let (gone, mut heard) = tokio::sync::mpsc::channel(1);
    let engine = Engine::new(move |mut socket| {
        let gone = gone.clone();
        async move {
            read_request(&mut socket).await;
            write(&mut socket, STREAM_HEAD).await;
            write(&mut socket, &chunk(&event("a"))).await;
            read_all(&mut socket).await;
            gone.send(()).await.unwrap();
        }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    read_head(&mut client).await.unwrap();
    pause(50).await;
    let clock = Clock::start();
    drop(client);
    heard.recv().await.unwrap();
    assert_eq!(clock.now(), Clock::start().now());
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortDecode);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_does_not_stop_the_clock_until_the_queue_is_full() {
    // 64 events of 1 KiB, one a millisecond; the client reads nothing, and little fits between it and the proxy.
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        for _ in 0..64 {
            pause(1).await;
            write(&mut socket, &chunk(&event(&"x".repeat(1024)))).await;
        }
        write(&mut socket, &format!("{}0\r\n\r\n", chunk(DONE))).await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client_with(1024);
    write(&mut client, &chat_request()).await;
    let record = house.record().await;
    assert_eq!(
        record.outcome,
        Outcome::Ok,
        "the engine was drained at its own pace"
    );
    assert_eq!(value(record.tpot()), 0.001);
    assert!(!record.flags.client_limited);
    let all = read_stream(&mut client).await;
    let (body, whole) = dechunk(all.split_once("\r\n\r\n").unwrap().1);
    assert_eq!(body.len(), 64 * event(&"x".repeat(1024)).len() + DONE.len());
    assert!(whole);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_29_a_full_queue_stops_the_engine_and_the_record_says_so() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        for _ in 0..512 {
            pause(1).await;
            write(&mut socket, &chunk(&event(&"x".repeat(1024)))).await;
        }
        write(&mut socket, &format!("{}0\r\n\r\n", chunk(DONE))).await;
    });
    let limits =
        "limits:\n  queue_bytes: 16KiB\n  queue_bytes_max: 16KiB\n  queue_bytes_total: 16KiB\n";
    let mut house = House::new(&engine, limits);
    let mut client = house.client_with(1024);
    write(&mut client, &chat_request()).await;
    pause(5_000).await;
    assert_eq!(
        house.proxy.in_flight().decode(),
        1,
        "the engine waits for the client"
    );
    read_stream(&mut client).await;
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert!(record.flags.client_limited);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_28_a_client_that_takes_nothing_for_too_long_is_dropped_and_the_engine_told() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        loop {
            pause(100).await;
            if socket
                .write_all(chunk(&event(&"x".repeat(1024))).as_bytes())
                .await
                .is_err()
            {
                return;
            }
        }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client_with(1024);
    write(&mut client, &chat_request()).await;
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::SlowClient);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn what_does_not_generate_passes_through_unmeasured() {
    let engine = Engine::new(|mut socket| async move {
        while let Some(request) = read_request(&mut socket).await {
            let line = request.lines().next().unwrap().to_owned();
            write(
                &mut socket,
                &format!(
                    "HTTP/1.1 200 OK\r\nX-Engine: 1\r\ncontent-length: {}\r\n\r\n{line}",
                    line.len()
                ),
            )
            .await;
        }
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    for line in [
        "GET /metrics HTTP/1.1",
        "GET /health?full=1 HTTP/1.1",
        "POST /v1/embeddings HTTP/1.1",
    ] {
        write(
            &mut client,
            &format!("{line}\r\nhost: a\r\ncontent-length: 0\r\n\r\n"),
        )
        .await;
        let head = read_head(&mut client).await.unwrap();
        assert!(
            head.contains("X-Engine: 1\r\n"),
            "names keep their case: {head}"
        );
        let mut body = vec![0; line.len()];
        client.read_exact(&mut body).await.unwrap();
        assert_eq!(String::from_utf8(body).unwrap(), line);
    }
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_46_an_upload_streams_through_and_ttft_begins_when_it_is_sent() {
    let engine = Engine::new(|mut socket| async move {
        let head = read_head(&mut socket).await.unwrap();
        assert_eq!(header(&head, "transfer-encoding"), Some("chunked"));
        let mut upload = String::new();
        while !upload.ends_with("0\r\n\r\n") {
            upload.push(char::from(socket.read_u8().await.unwrap()));
        }
        let (body, _) = dechunk(&upload);
        assert!(body.ends_with("world\"}]}"), "{body}");
        pause(70).await;
        write(
            &mut socket,
            &format!(
                "{STREAM_HEAD}{}{}0\r\n\r\n",
                chunk(&event("a")),
                chunk(DONE)
            ),
        )
        .await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(
        &mut client,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    write(
        &mut client,
        &chunk(r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello "#),
    )
    .await;
    pause(1_000).await;
    write(&mut client, &chunk(r#"world"}]}"#)).await;
    write(&mut client, "0\r\n\r\n").await;
    let record = house.record().await;
    assert_eq!(value(record.ttft()), ms(70));
    assert_eq!(value(record.upload()), ms(1_000));
    assert_eq!(record.request.prompt_bytes, Some(11));
    assert_eq!(record.outcome, Outcome::Ok);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_47_a_body_over_the_limit_is_refused_by_its_length_and_by_its_bytes() {
    let engine = Engine::new(|mut socket| async move {
        read_all(&mut socket).await;
    });
    let mut house = House::new(&engine, "limits:\n  body_bytes: 1KiB\n");
    let mut client = house.client();
    write(
        &mut client,
        "POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 2000\r\n\r\n",
    )
    .await;
    assert!(
        read_head(&mut client)
            .await
            .unwrap()
            .starts_with("HTTP/1.1 413 ")
    );
    assert_eq!(house.record().await.outcome, Outcome::RejectedLimit);
    assert_eq!(engine.connections(), 0);

    let mut client = house.client();
    write(
        &mut client,
        "POST /v1/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .await;
    write(&mut client, &chunk(&"x".repeat(2_000))).await;
    assert!(
        read_head(&mut client)
            .await
            .unwrap()
            .starts_with("HTTP/1.1 413 ")
    );
    assert_eq!(house.record().await.outcome, Outcome::RejectedLimit);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_cannot_be_reached_is_a_502_that_says_where() {
    let mut house = House::unreachable();
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 502 "), "{head}");
    let mut body = vec![0; header(&head, "content-length").unwrap().parse().unwrap()];
    client.read_exact(&mut body).await.unwrap();
    let body = String::from_utf8(body).unwrap();
    assert!(
        body.contains("connect_failed") && body.contains("engine.test:8000"),
        "{body}"
    );
    assert_eq!(house.record().await.outcome, Outcome::ConnectFailed);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn limits_on_the_engines_silence_bite_only_when_they_are_set() {
    let silent = || {
        Engine::new(|mut socket| async move {
            read_request(&mut socket).await;
            write(&mut socket, STREAM_HEAD).await;
            read_all(&mut socket).await;
        })
    };
    let mut patient = House::new(&silent(), "");
    let mut client = patient.client();
    write(&mut client, &chat_request()).await;
    tokio::time::sleep(Duration::from_secs(1_800)).await;
    assert_eq!(
        patient.proxy.in_flight().prefill(),
        1,
        "half an hour of prefill is nobody's fault"
    );
    drop(client);
    assert_eq!(patient.record().await.outcome, Outcome::ClientAbortPrefill);

    let mut limited = House::new(&silent(), "  ttft_timeout: 5s\n");
    let mut client = limited.client();
    write(&mut client, &chat_request()).await;
    let record = limited.record().await;
    assert_eq!(record.outcome, Outcome::TimeoutTtft);
    assert_eq!(record.ttft(), Defined::Censored(ms(5_000)));
    limited.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_50_a_drain_waits_for_open_streams_and_cuts_them_only_at_its_limit() {
    let engine = Engine::new(|socket| stream(socket, &[1_000, 1_000, 1_000]));
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    let idle = house.client();
    write(&mut client, &chat_request()).await;
    pause(1_500).await;
    let drained = house.close(Duration::from_secs(600)).await;
    assert_eq!(drained.cut, 0);
    assert_eq!(house.record().await.outcome, Outcome::Ok);
    drop(idle);

    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    pause(1_500).await;
    let drained = house.close(Duration::from_millis(500)).await;
    assert_eq!(drained.cut, 1);
    assert_eq!(house.record().await.outcome, Outcome::Drained);
    house.is_quiet().await;
}
