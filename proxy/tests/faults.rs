//! What goes wrong between client and engine, a fault a test. The numbers are those of docs/FAULTS.md.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use measure::{Nanos, Outcome, Record};
use std::time::Duration;
use support::*;
use tokio::io::{AsyncWriteExt, DuplexStream};

/// Answers one request on each connection with these pieces, each after a pause in ms.
fn pieces(pieces: &'static [(u32, &'static str)]) -> std::sync::Arc<Engine> {
    Engine::new(move |mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        for (wait, piece) in pieces {
            pause(*wait).await;
            write(&mut socket, &chunk(piece)).await;
        }
        write(&mut socket, "0\r\n\r\n").await;
    })
}

/// One chat through a proxy: what the client got, whether it was whole, and the record.
async fn chat(house: &mut House) -> (String, bool, Record) {
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let record = house.record().await;
    client.shutdown().await.unwrap();
    let all = read_all(&mut client).await;
    let (_, body) = all.split_once("\r\n\r\n").unwrap();
    let (data, whole) = dechunk(body);
    house.is_quiet().await;
    (data, whole, record)
}

const TOKEN: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
const FINISH: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test(start_paused = true)]
async fn fault_12_a_clean_end_without_the_terminal_mark_is_no_success() {
    let engine = pieces(&[(10, TOKEN), (10, TOKEN)]);
    let (got, whole, record) = chat(&mut House::new(&engine, "")).await;
    assert_eq!((got, whole), (TOKEN.repeat(2), true));
    assert_eq!(record.outcome, Outcome::SseNoDone);
}

#[tokio::test(start_paused = true)]
async fn fault_13_an_error_inside_a_200_is_passed_on_and_is_no_success() {
    const VLLM: &str = "data: {\"error\": {\"message\": \"engine died\", \"type\": \"InternalServerError\", \"param\": null, \"code\": 500}}\n\n";
    const SGLANG: &str = "data: {\"error\": {\"object\": \"error\", \"message\": \"engine died\", \"type\": \"BadRequestError\", \"param\": null, \"code\": 400}}\n\n";
    const LLAMACPP: &str =
        "error: {\"code\":500,\"message\":\"engine died\",\"type\":\"server_error\"}\n\n";
    const TGI: &str =
        "data: {\"error\":{\"message\":\"engine died\",\"http_status_code\":500}}\n\n";
    static STREAMS: [[(u32, &str); 3]; 4] = [
        [(10, TOKEN), (10, VLLM), (0, DONE)],
        [(10, TOKEN), (10, SGLANG), (0, DONE)],
        [(10, TOKEN), (10, LLAMACPP), (0, DONE)],
        [(10, TOKEN), (10, TGI), (0, DONE)],
    ];
    for stream in &STREAMS {
        let (got, whole, record) = chat(&mut House::new(&pieces(stream), "")).await;
        let sent: String = stream.iter().map(|(_, piece)| *piece).collect();
        assert_eq!((got, whole), (sent, true));
        assert_eq!(record.outcome, Outcome::SseErrorEvent);
        assert!(record.tpot().value().is_none() && record.e2e().value().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn fault_17_a_429_or_503_arrives_as_the_engine_wrote_it() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let answer = format!(
            "HTTP/1.1 {status}\r\nRetry-After: 7\r\nX-Odd: a  b\r\ndate: Mon, 30 Nov 2026 00:00:00 GMT\r\n\
             content-type: application/json\r\ncontent-length: 20\r\n\r\n{{\"error\":\"too much\"}}"
        );
        let sent = answer.clone();
        let engine = Engine::new(move |mut socket| {
            let answer = answer.clone();
            async move {
                read_request(&mut socket).await;
                write(&mut socket, &answer).await;
            }
        });
        let mut house = House::new(&engine, "");
        let mut client = house.client();
        write(&mut client, &chat_request()).await;
        let record = house.record().await;
        client.shutdown().await.unwrap();
        let got = read_all(&mut client).await;
        let head = |text: &str| text.split("\r\n").map(str::to_owned).collect::<Vec<_>>();
        // How long its connection lives is each hop's own.
        let own = |line: &String| !line.to_ascii_lowercase().starts_with("connection:");
        let kept: Vec<_> = head(&got).into_iter().filter(own).collect();
        assert_eq!(kept, head(&sent));
        let expected = match &status[..3] {
            "429" => Outcome::Upstream429,
            _ => Outcome::Upstream5xx,
        };
        assert_eq!(record.outcome, expected);
        assert_eq!(engine.connections(), 1, "asked once");
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_18_a_prefill_of_half_an_hour_is_not_cut() {
    let engine = pieces(&[(1_800_000, TOKEN), (10, FINISH), (0, DONE)]);
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let half_an_hour = Duration::from_secs(1_800);
    let record = tokio::time::timeout(2 * half_an_hour, house.records.recv()).await;
    let record = record.unwrap().unwrap();
    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(record.ttft().value(), Some(Nanos::from_millis(1_800_000)));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_19_a_stream_of_two_hours_is_not_cut() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        for _ in 0..120 {
            pause(60_000).await;
            write(&mut socket, &chunk(TOKEN)).await;
        }
        write(&mut socket, &chunk(FINISH)).await;
        write(&mut socket, &chunk(DONE)).await;
        write(&mut socket, "0\r\n\r\n").await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    assert!(read_stream(&mut client).await.contains("[DONE]"));
    let record = house.record().await;
    assert_eq!((record.outcome, record.bursts), (Outcome::Ok, 120));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_21_what_a_gateway_above_held_back_is_flagged() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        pause(300).await;
        let burst = TOKEN.repeat(20) + FINISH + DONE;
        write(&mut socket, &(chunk(&burst) + "0\r\n\r\n")).await;
    });
    let (_, _, record) = chat(&mut House::new(&engine, "")).await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert!(record.flags.buffered_upstream);
    assert!(!record.first_token_is_engines() && record.engine_gaps().is_none());
    assert_eq!(record.tpot().value(), None);
}

/// Recorded answers of servers that parse a whole tool call before they let anything go, each as one late piece.
#[tokio::test(start_paused = true)]
async fn fault_21_tool_calls_that_are_held_until_they_are_whole_are_flagged() {
    const SGLANG: &[u8] = include_bytes!(
        "../../wire/tests/fixtures/corpus/cases/sglang-responses-tools-buffered.sse"
    );
    const TGI: &[u8] = include_bytes!("../../wire/tests/fixtures/corpus/cases/tgi-chat-tools.sse");
    for (kind, path, answer) in [
        ("sglang", "/v1/responses", SGLANG),
        ("tgi", "/v1/chat/completions", TGI),
    ] {
        let engine = Engine::new(move |mut socket| async move {
            read_request(&mut socket).await;
            write(&mut socket, STREAM_HEAD).await;
            pause(900).await;
            let text = std::str::from_utf8(answer).unwrap();
            write(&mut socket, &(chunk(text) + "0\r\n\r\n")).await;
        });
        let mut house = House::new(&engine, &format!("engine:\n  kind: {kind}\n"));
        let mut client = house.client();
        write(
            &mut client,
            &request(path, r#"{"stream":true,"tools":[{}]}"#),
        )
        .await;
        read_stream(&mut client).await;
        let record = house.record().await;
        assert!(record.flags.buffered_upstream, "{record:?}");
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_25_an_event_of_ten_megabytes_passes_and_ends_the_observation() {
    async fn serve(mut socket: DuplexStream) {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        write(&mut socket, &chunk(TOKEN)).await;
        let event = format!("data: {{\"x\":\"{}\"}}\n\n", "y".repeat(10 << 20));
        write(&mut socket, &chunk(&event)).await;
        write(&mut socket, &chunk(DONE)).await;
        write(&mut socket, "0\r\n\r\n").await;
    }
    let engine = Engine::new(serve);
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200"));
    let (got, whole) = dechunk(&read_stream(&mut client).await);
    assert!(whole && got.len() == TOKEN.len() + (10 << 20) + 17 + DONE.len() - 1);
    let record = house.record().await;
    assert!(record.flags.oversize_event);
    assert_eq!(record.outcome, Outcome::Ok, "only the transport can tell");
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_86_forwarding_fields_pass_unchanged_and_nobody_here_believes_them() {
    let engine = Engine::new(|mut socket| async move {
        let request = read_request(&mut socket).await.unwrap();
        assert_eq!(
            header(&request, "x-forwarded-for"),
            Some("203.0.113.9, 10.0.0.1")
        );
        assert_eq!(header(&request, "forwarded"), Some("for=203.0.113.9"));
        write(
            &mut socket,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        )
        .await;
    });
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    let forged = chat_request().replace(
        "\r\n\r\n",
        "\r\nX-Forwarded-For: 203.0.113.9, 10.0.0.1\r\nForwarded: for=203.0.113.9\r\n\r\n",
    );
    write(&mut client, &forged).await;
    let head = read_head(&mut client).await.unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let record = house.record().await;
    assert!(!format!("{record:?}").contains("203.0.113.9"));
    house.is_quiet().await;
}
