//! Which requests are measured, and what becomes of the others.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use exporter::{Format, Live};
use support::*;
use wire::Endpoint;

async fn answer_all(mut socket: tokio::io::DuplexStream) {
    while read_request(&mut socket).await.is_some() {
        write(&mut socket, STREAM_HEAD).await;
        write(&mut socket, &chunk(&event("a"))).await;
        write(&mut socket, &chunk(&finish())).await;
        write(&mut socket, &chunk(DONE)).await;
        write(&mut socket, "0\r\n\r\n").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_path_of_ones_own_is_measured_as_what_it_is_served_as() {
    let engine = Engine::new(answer_all);
    let routes = "routes: [\"/team/*/chat=/v1/chat/completions\"]\n";
    let mut house = House::new(&engine, routes);
    let mut client = house.client();
    let body = r#"{"model":"m","stream":true}"#;
    write(&mut client, &request("/team/a/chat?x=1", body)).await;
    let record = house.record().await;
    assert_eq!(record.identity.endpoint, Endpoint::ChatCompletions);
    assert_eq!(record.bursts, 1);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn what_no_tokens_answer_is_counted_by_what_it_serves() {
    let engine = Engine::new(answer_all);
    let mut house = House::new(&engine, "");
    let mut client = house.client();
    for path in [
        "/v1/embeddings",
        "/rerank",
        "/tokenize",
        "/what",
        "/what/else",
    ] {
        write(&mut client, &request(path, "{}")).await;
        let head = read_head(&mut client).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        read_stream(&mut client).await;
    }
    let page = house
        .proxy
        .exporter()
        .encode(Format::Text, &Live::default());
    let page = String::from_utf8(page.unwrap()).unwrap();
    let passed: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("loadproof_passed_requests_total"))
        .filter(|line| !line.ends_with(" 0"))
        .collect();
    assert_eq!(
        passed,
        [
            "{route=\"embeddings\"} 1",
            "{route=\"other\"} 2",
            "{route=\"scoring\"} 1",
            "{route=\"tokenize\"} 1",
        ]
    );
    house.is_quiet().await;
}
