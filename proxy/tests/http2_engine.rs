//! An engine that is spoken to by HTTP/2, frame by frame: what ends how, and what the client is told of it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use std::sync::Arc;
use support::*;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

type Call = (Request<RecvStream>, SendResponse<Bytes>);

/// An engine that hands out the calls that it gets.
fn engine() -> (Arc<Engine>, mpsc::Receiver<Call>) {
    let (calls, received) = mpsc::channel(8);
    let engine = Engine::new(move |socket| {
        let calls = calls.clone();
        async move {
            let mut connection = h2::server::handshake(socket).await.unwrap();
            while let Some(Ok(call)) = connection.accept().await {
                if calls.send(call).await.is_err() {
                    // The test wants no more of them.
                    connection.graceful_shutdown();
                }
            }
        }
    });
    (engine, received)
}

/// A client of HTTP/2 and its connection.
async fn connect(house: &House, tasks: &mut JoinSet<()>) -> h2::client::SendRequest<Bytes> {
    let (sender, connection) = h2::client::handshake(house.client()).await.unwrap();
    tasks.spawn(async move {
        // Its end is what the test makes it.
        let _ = connection.await;
    });
    sender.ready().await.unwrap()
}

fn call() -> Request<()> {
    Request::post("http://front.test/a.B/C")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap()
}

fn head() -> Response<()> {
    let head = Response::builder().header("content-type", "application/grpc");
    head.body(()).unwrap()
}

fn fields(of: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in of {
        fields.append(*name, HeaderValue::from_static(value));
    }
    fields
}

#[tokio::test(start_paused = true)]
async fn trailers_go_both_ways_and_a_head_can_be_all_of_an_answer() {
    let (engine, mut calls) = engine();
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    let (response, mut body) = sender.send_request(call(), false).unwrap();
    body.send_data(Bytes::from_static(b"asked"), false).unwrap();
    body.send_trailers(fields(&[("x-asked", "1")])).unwrap();

    let (request, mut answer) = calls.recv().await.unwrap();
    assert_eq!(request.uri(), "http://front.test/a.B/C");
    assert_eq!(request.headers().get("te").unwrap(), "trailers");
    let mut asked = request.into_body();
    assert_eq!(asked.data().await.unwrap().unwrap(), "asked");
    assert_eq!(
        asked.trailers().await.unwrap(),
        Some(fields(&[("x-asked", "1")]))
    );
    let trailers = fields(&[("grpc-status", "0"), ("x-twice", "a"), ("x-twice", "b")]);
    let mut answer = answer.send_response(head(), false).unwrap();
    answer
        .send_data(Bytes::from_static(b"told"), false)
        .unwrap();
    answer.send_trailers(trailers.clone()).unwrap();

    let mut told = response.await.unwrap().into_body();
    assert_eq!(told.data().await.unwrap().unwrap(), "told");
    assert_eq!(told.trailers().await.unwrap(), Some(trailers));

    let (response, _) = sender.send_request(call(), true).unwrap();
    let (_, mut answer) = calls.recv().await.unwrap();
    let mut only = head();
    let status = HeaderValue::from_static("5");
    only.headers_mut().insert("grpc-status", status);
    answer.send_response(only, true).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.headers().get("grpc-status").unwrap(), "5");
    assert!(response.into_body().is_end_stream(), "the head was the end");
    assert_eq!(engine.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_the_engines_reaches_the_client_with_its_reason() {
    let (engine, mut calls) = engine();
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    for reason in [Reason::CANCEL, Reason::ENHANCE_YOUR_CALM] {
        let (response, _body) = sender.send_request(call(), false).unwrap();
        let (_request, mut answer) = calls.recv().await.unwrap();
        let mut answer = answer.send_response(head(), false).unwrap();
        answer
            .send_data(Bytes::from_static(b"half"), false)
            .unwrap();
        let mut told = response.await.unwrap().into_body();
        assert_eq!(told.data().await.unwrap().unwrap(), "half");
        answer.send_reset(reason);
        let end = told.data().await.expect("not a clean end").unwrap_err();
        assert_eq!(end.reason(), Some(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_of_the_clients_reaches_the_engine() {
    let (engine, mut calls) = engine();
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    let (_response, mut body) = sender.send_request(call(), false).unwrap();
    let (request, _answer) = calls.recv().await.unwrap();
    body.send_reset(Reason::CANCEL);
    let mut asked = request.into_body();
    let end = asked.data().await.expect("not a clean end").unwrap_err();
    assert!(end.is_reset() || end.is_io(), "{end}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_goes_away_finishes_what_it_has_and_is_connected_to_anew() {
    let (engine, mut calls) = engine();
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    let (response, _) = sender.send_request(call(), true).unwrap();
    let (_, mut answer) = calls.recv().await.unwrap();
    calls.close();
    // The engine's connection says so at the second call, which is refused with nothing begun.
    let mut answer = answer.send_response(head(), false).unwrap();
    let mut told = response.await.unwrap().into_body();
    answer.send_data(Bytes::from_static(b"all"), false).unwrap();
    answer
        .send_trailers(fields(&[("grpc-status", "0")]))
        .unwrap();
    assert_eq!(told.data().await.unwrap().unwrap(), "all");
    assert!(told.trailers().await.unwrap().is_some());
    assert_eq!(engine.connections(), 1);
    pause(10).await;
    let (second, _) = sender.send_request(call(), true).unwrap();
    assert!(second.await.is_ok(), "an answer or a refusal, never a hang");
    pause(10).await;
    let (third, _) = sender.send_request(call(), true).unwrap();
    assert!(third.await.is_ok());
    assert!(engine.connections() > 1, "what has gone away is not used");
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_dies_mid_answer_is_a_reset_with_all_that_came_before() {
    let engine = Engine::new(|socket| async move {
        let mut connection = h2::server::handshake(socket).await.unwrap();
        let (_, mut answer) = connection.accept().await.unwrap().unwrap();
        let mut answer = answer.send_response(head(), false).unwrap();
        answer
            .send_data(Bytes::from_static(b"half"), false)
            .unwrap();
        let _ = tokio::time::timeout(MS, connection.accept()).await;
    });
    let house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    let (response, _) = sender.send_request(call(), true).unwrap();
    let mut told = response.await.unwrap().into_body();
    assert_eq!(told.data().await.unwrap().unwrap(), "half");
    let end = told.data().await.expect("not a clean end").unwrap_err();
    assert!(end.is_reset(), "{end}");
}

#[tokio::test(start_paused = true)]
async fn an_engine_can_be_spoken_to_by_http2_alone() {
    let (engine, mut calls) = engine();
    let mut house = House::new(&engine, "  protocol: http2\n");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    let (request, mut answer) = calls.recv().await.unwrap();
    assert_eq!(request.uri(), "http://front.test/v1/chat/completions");
    assert!(request.headers().get("host").is_none());
    let mut body = request.into_body();
    let asked = body.data().await.unwrap().unwrap();
    assert!(chat_request().as_bytes().ends_with(&asked));
    let head = Response::builder().header("content-type", "text/event-stream");
    let mut answer = answer.send_response(head.body(()).unwrap(), false).unwrap();
    for text in ["a", "b"] {
        pause(10).await;
        answer.send_data(event(text).into(), false).unwrap();
    }
    answer.send_data((finish() + DONE).into(), true).unwrap();
    let answer = read_head(&mut client).await.unwrap();
    assert_eq!(header(&answer, "transfer-encoding"), Some("chunked"));
    let (body, whole) = dechunk(&read_stream(&mut client).await);
    assert_eq!(body, event("a") + &event("b") + &finish() + DONE);
    assert!(whole);
    let record = house.record().await;
    assert_eq!((record.outcome, record.bursts), (measure::Outcome::Ok, 2));
    assert_eq!(
        record.ttft(),
        measure::Defined::Value(measure::Nanos::from_millis(10))
    );
}

/// A call that ends in good order but without its status has broken off somewhere: a client reports it as failed, too.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_status_is_cut() {
    let (engine, mut calls) = engine();
    let mut house = House::new(&engine, "");
    let mut tasks = JoinSet::new();
    let mut sender = connect(&house, &mut tasks).await;
    let request = Request::post("http://front.test/vllm.grpc.engine.VllmEngine/Generate")
        .header("content-type", "application/grpc");
    let (response, _) = sender
        .send_request(request.body(()).unwrap(), true)
        .unwrap();
    let (_, mut answer) = calls.recv().await.unwrap();
    let mut answer = answer.send_response(head(), false).unwrap();
    // A message that completes the answer.
    let complete = b"\0\0\0\0\x08\x12\x06\x12\x04stop";
    answer
        .send_data(Bytes::from_static(complete), true)
        .unwrap();
    let mut told = response.await.unwrap().into_body();
    assert_eq!(told.data().await.unwrap().unwrap(), &complete[..]);
    let rest = told.data().await.map(|rest| rest.unwrap());
    assert!(
        rest.is_none_or(|rest| rest.is_empty()),
        "a clean end, as the engine gave it"
    );
    let record = house.record().await;
    assert_eq!(record.outcome, measure::Outcome::UpstreamTruncated);
    house.is_quiet().await;
}
