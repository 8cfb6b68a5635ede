//! Clients that speak HTTP/2 with prior knowledge on the same port.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use measure::Outcome;
use support::*;
use tokio::task::JoinSet;

const BODY: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

async fn connect(house: &House, tasks: &mut JoinSet<()>) -> SendRequest<Bytes> {
    let (sender, connection) = h2::client::handshake(house.client()).await.unwrap();
    tasks.spawn(async move {
        // Its end is what the test makes it.
        let _ = connection.await;
    });
    sender
}

async fn chat(sender: &SendRequest<Bytes>) -> (ResponseFuture, h2::SendStream<Bytes>) {
    let request = Request::post("http://front.test/v1/chat/completions")
        .body(())
        .unwrap();
    let mut sender = sender.clone().ready().await.unwrap();
    let (response, mut stream) = sender.send_request(request, false).unwrap();
    stream
        .send_data(Bytes::from_static(BODY.as_bytes()), true)
        .unwrap();
    (response, stream)
}

async fn read(response: ResponseFuture) -> Result<String, h2::Error> {
    let mut body = response.await?.into_body();
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        all.extend_from_slice(&data);
    }
    Ok(String::from_utf8(all).unwrap())
}

/// An engine that tells of the end of each connection whose answer it had not finished.
fn slow_engine(gone: tokio::sync::mpsc::Sender<()>) -> std::sync::Arc<Engine> {
    Engine::new(move |mut socket| {
        let gone = gone.clone();
        async move {
            let request = read_request(&mut socket).await.unwrap();
            assert!(
                request.contains("host: front.test\r\n"),
                "the authority becomes the host: {request}"
            );
            write(&mut socket, STREAM_HEAD).await;
            for _ in 0..10 {
                tokio::select! {
                    rest = read_all(&mut socket) => {
                        assert_eq!(rest, "");
                        gone.send(()).await.unwrap();
                        return;
                    }
                    () = pause(100) => write(&mut socket, &chunk(&event("a"))).await,
                }
            }
            write(&mut socket, &format!("{}0\r\n\r\n", chunk(DONE))).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn streams_share_a_connection_and_each_is_one_record() {
    let (gone, _heard) = tokio::sync::mpsc::channel(8);
    let mut house = House::new(&slow_engine(gone), "");
    let mut tasks = JoinSet::new();
    let sender = connect(&house, &mut tasks).await;
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(chat(&sender).await.0);
    }
    for answer in answers {
        assert_eq!(read(answer).await.unwrap(), event("a").repeat(10) + DONE);
        let record = house.record().await;
        assert_eq!((record.outcome, record.bursts), (Outcome::Ok, 10));
    }
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_04_a_reset_stream_frees_its_engine_and_harms_no_sibling() {
    let (gone, mut heard) = tokio::sync::mpsc::channel(8);
    let mut house = House::new(&slow_engine(gone), "");
    let mut tasks = JoinSet::new();
    let sender = connect(&house, &mut tasks).await;
    let (in_prefill, mut prefill_stream) = chat(&sender).await;
    let (mid_stream, mut decode_stream) = chat(&sender).await;
    let (sibling, _stream) = chat(&sender).await;

    pause(50).await;
    prefill_stream.send_reset(h2::Reason::CANCEL);
    drop(in_prefill);
    heard.recv().await.unwrap();
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortPrefill);

    pause(500).await;
    decode_stream.send_reset(h2::Reason::CANCEL);
    drop(mid_stream);
    heard.recv().await.unwrap();
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortDecode);

    assert_eq!(read(sibling).await.unwrap(), event("a").repeat(10) + DONE);
    assert_eq!(house.record().await.outcome, Outcome::Ok);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_04_a_connection_that_goes_frees_all_its_engines() {
    let (gone, mut heard) = tokio::sync::mpsc::channel(8);
    let mut house = House::new(&slow_engine(gone), "");
    let mut tasks = JoinSet::new();
    let sender = connect(&house, &mut tasks).await;
    let _first = chat(&sender).await;
    let _second = chat(&sender).await;
    pause(250).await;
    tasks.shutdown().await;
    for _ in 0..2 {
        heard.recv().await.unwrap();
        assert_eq!(house.record().await.outcome, Outcome::ClientAbortDecode);
    }
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_truncated_answer_is_a_reset_stream_with_all_that_came_before() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        write(&mut socket, STREAM_HEAD).await;
        write(&mut socket, &chunk(&event("half"))).await;
    });
    let mut house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let sender = connect(&house, &mut tasks).await;
    let (response, _stream) = chat(&sender).await;
    let mut body = response.await.unwrap().into_body();
    assert_eq!(body.data().await.unwrap().unwrap(), event("half"));
    let end = body.data().await.expect("not a clean end").unwrap_err();
    assert!(end.is_reset(), "{end}");
    assert_eq!(house.record().await.outcome, Outcome::UpstreamTruncated);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn fault_32_a_connection_without_streams_is_closed_and_one_with_a_long_prefill_is_not() {
    let engine = Engine::new(|mut socket| async move {
        read_request(&mut socket).await;
        pause(1_800_000).await;
        write(
            &mut socket,
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        )
        .await;
    });
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let sender = connect(&house, &mut tasks).await;
    let (answer, _stream) = chat(&sender).await;
    assert_eq!(read(answer).await.unwrap(), "{}", "half an hour later");
    drop(_stream);
    let done = tasks.join_next();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(64), done).await;
    assert!(ended.is_err(), "it may be used again for a minute");
    let ended = tokio::time::timeout(std::time::Duration::from_secs(12), tasks.join_next()).await;
    assert!(ended.is_ok(), "and not for longer");
}
