//! gRPC through the proxy, between a client and an engine that are both tonic: bytes, metadata and status arrive as they
//! were sent, and each call frees its engine when it is over.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

#[path = "support/calls.rs"]
mod calls;
#[path = "support/infer.rs"]
mod infer;
mod support;

use bytes::Bytes;
use calls::*;
use measure::{Defined, Nanos, Outcome, Record};
use std::time::Duration;
use support::*;
use tokio::sync::mpsc;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status, Streaming};

async fn collect<M>(mut stream: Streaming<M>) -> (Vec<M>, Result<(), Status>) {
    let mut messages = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, Ok(())),
            Err(status) => return (messages, Err(status)),
        }
    }
}

/// An engine that sends `count` tokens and the whole.
fn tokens(count: u32) -> Service {
    Service::new().generate(move |request, answers| async move {
        let prompt = request.into_inner().tokenized.unwrap_or_default();
        let prompt = u32::try_from(prompt.input_ids.len()).unwrap();
        for so_far in 1..=count {
            pause(10).await;
            answers.send(Ok(chunk_of(prompt, so_far))).await.unwrap();
        }
        answers.send(Ok(complete_of(prompt, count))).await.unwrap();
    })
}

#[tokio::test(start_paused = true)]
async fn fault_45_messages_metadata_and_status_arrive_as_they_were_sent() {
    let engine = tokens(3).engine();
    let mut house = House::new(&engine, "");
    let caller = Caller::new(&house).await;
    let mut request = Request::new(prompt_of(7));
    let metadata = request.metadata_mut();
    metadata.insert("x-both-ways", MetadataValue::from_static("there and back"));
    metadata.insert_bin("x-binary-bin", MetadataValue::from_bytes(&[0, 255, 10]));
    let response = caller.call(GENERATE, request).await.unwrap();
    let metadata = response.metadata().clone();
    assert_eq!(metadata.get("x-both-ways").unwrap(), "there and back");
    let binary = metadata.get_bin("x-binary-bin").unwrap();
    assert_eq!(
        binary.to_bytes().unwrap(),
        Bytes::from_static(&[0, 255, 10])
    );
    let (messages, status) = collect::<GenerateResponse>(response.into_inner()).await;
    let sent: Vec<_> = (1..=3)
        .map(|so_far| chunk_of(7, so_far))
        .chain([complete_of(7, 3)])
        .collect();
    assert_eq!(messages, sent);
    status.unwrap();

    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::Ok);
    assert_eq!(counts(&record), (Some(7), Some(3), 3, 4));
    assert!(record.streamed && record.counts_exact);
    assert_eq!(record.ttft(), Defined::Value(Nanos::from_millis(10)));
    assert_eq!(record.tpot(), Defined::Value(0.010));
    assert_eq!(record.request.prompt_tokens, Some(7));
    assert_eq!(record.request.max_tokens, Some(64));
    assert_eq!(record.request.stream, Some(true));
    house.is_quiet().await;
}

/// Input tokens, output tokens, bursts, events.
fn counts(record: &Record) -> (Option<u64>, Option<u64>, u64, u64) {
    (
        record.input_tokens,
        record.output_tokens,
        record.bursts,
        record.events,
    )
}

#[tokio::test(start_paused = true)]
async fn a_hundred_messages_of_all_sizes_are_equal_byte_for_byte_both_ways() {
    let service = Service::new().echo(|request, answers| async move {
        let mut requests = request.into_inner();
        while let Some(message) = requests.message().await.unwrap() {
            answers.send(Ok(message)).await.unwrap();
        }
    });
    let house = House::new(&service.engine(), "");
    let caller = Caller::new(&house).await;
    let (requests, mut answers) = caller.talk::<Blob, Blob>(ECHO).await.unwrap();
    for index in 0..100_usize {
        // From nothing to more than a frame, a window and a queue's own share.
        let size = index * index * index / 2;
        let bytes: Vec<u8> = (0..size)
            .map(|at| u8::try_from((at * 31 + index) % 251).unwrap())
            .collect();
        let blob = Blob {
            bytes: bytes.into(),
        };
        requests.send(blob.clone()).await.unwrap();
        assert!(
            answers.message().await.unwrap() == Some(blob),
            "message {index} of {size} bytes comes back before the next is sent"
        );
    }
    drop(requests);
    assert_eq!(answers.message().await.unwrap(), None);
    assert!(answers.trailers().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ended_a_call_cleanly_is_used_again() {
    let engine = tokens(1).engine();
    let house = House::new(&engine, "");
    let caller = Caller::new(&house).await;
    for _ in 0..3 {
        let request = Request::new(prompt_of(1));
        let response = caller.call(GENERATE, request).await.unwrap();
        collect::<GenerateResponse>(response.into_inner())
            .await
            .1
            .unwrap();
        pause(100).await;
    }
    assert_eq!(engine.connections(), 1);
    pause(3_001).await;
    let request = Request::new(prompt_of(1));
    let response = caller.call(GENERATE, request).await.unwrap();
    collect::<GenerateResponse>(response.into_inner())
        .await
        .1
        .unwrap();
    assert_eq!(engine.connections(), 2, "3 s idle is too long");
}

#[tokio::test(start_paused = true)]
async fn a_status_with_its_message_details_and_metadata_comes_after_the_messages() {
    let service = Service::new().generate(|_, answers| async move {
        for so_far in 1..=3 {
            pause(10).await;
            answers.send(Ok(chunk_of(1, so_far))).await.unwrap();
        }
        let details = Bytes::from_static(b"\x08\x0d\x12\x01d");
        let mut status = Status::with_details(Code::Internal, "50 % of \u{e4} block", details);
        let value = MetadataValue::from_static("in the trailers");
        status.metadata_mut().insert("x-trailing", value);
        answers.send(Err(status)).await.unwrap();
    });
    let mut house = House::new(&service.engine(), "");
    let caller = Caller::new(&house).await;
    let request = Request::new(prompt_of(1));
    let response = caller.call(GENERATE, request).await.unwrap();
    let (messages, status) = collect::<GenerateResponse>(response.into_inner()).await;
    assert_eq!(messages, [1, 2, 3].map(|so_far| chunk_of(1, so_far)));
    let status = status.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Internal, "50 % of \u{e4} block")
    );
    assert_eq!(status.details(), b"\x08\x0d\x12\x01d");
    assert_eq!(
        status.metadata().get("x-trailing").unwrap(),
        "in the trailers"
    );

    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::SseErrorEvent);
    assert_eq!((record.bursts, record.status), (3, Some(200)));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cancels_ends_the_engines_call_at_once() {
    let (gone, mut heard) = mpsc::channel(1);
    let service = Service::new().generate(move |_, answers| {
        let gone = gone.clone();
        async move {
            answers.send(Ok(chunk_of(1, 1))).await.unwrap();
            answers.closed().await;
            gone.send(tokio::time::Instant::now()).await.unwrap();
        }
    });
    let mut house = House::new(&service.engine(), "");
    let caller = Caller::new(&house).await;
    let request = Request::new(prompt_of(1));
    let response = caller.call::<_, GenerateResponse>(GENERATE, request).await;
    let mut stream = response.unwrap().into_inner();
    assert!(stream.message().await.unwrap().is_some());
    pause(50).await;
    let left = tokio::time::Instant::now();
    drop(stream);
    assert_eq!(heard.recv().await, Some(left), "told without any wait");
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortDecode);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn the_clients_deadline_reaches_the_engine() {
    let service = Service::new().generate(|request, answers| async move {
        let deadline = request.metadata().get("grpc-timeout").unwrap();
        assert_eq!(deadline, "50m", "as gRPC writes it");
        pause(50).await;
        let late = Status::deadline_exceeded("too late");
        // The client may have given up by itself, in the same millisecond.
        let _ = answers.send(Err(late)).await;
    });
    let mut house = House::new(&service.engine(), "");
    let caller = Caller::new(&house).await;
    let mut request = Request::new(prompt_of(1));
    let deadline = MetadataValue::from_static("50m");
    request.metadata_mut().insert("grpc-timeout", deadline);
    let response = caller.call::<_, GenerateResponse>(GENERATE, request).await;
    let status = match response {
        Ok(response) => collect(response.into_inner()).await.1.unwrap_err(),
        Err(status) => status,
    };
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(house.record().await.outcome, Outcome::ClientAbortPrefill);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn what_we_refuse_comes_as_a_status_of_grpcs() {
    let mut house = House::unreachable();
    let caller = Caller::new(&house).await;
    let request = Request::new(prompt_of(1));
    let refused = caller.call::<_, GenerateResponse>(GENERATE, request).await;
    let status = refused.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert!(status.message().contains("engine.test:8000"), "{status}");
    assert_eq!(house.record().await.outcome, Outcome::ConnectFailed);

    let limits = "limits:\n  body_bytes: 1KiB\n";
    let mut house = House::new(&tokens(1).engine(), limits);
    let caller = Caller::new(&house).await;
    let request = Request::new(prompt_of(2_000));
    let refused = caller.call::<_, GenerateResponse>(GENERATE, request).await;
    let status = refused.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("limits.body_bytes"), "{status}");
    assert_eq!(house.record().await.outcome, Outcome::RejectedLimit);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_method_that_does_not_generate_passes_through_unmeasured() {
    let mut house = House::new(&tokens(1).engine(), "");
    let caller = Caller::new(&house).await;
    let blob = Blob {
        bytes: Bytes::from_static(b"well?"),
    };
    let response = caller
        .call(HEALTH, Request::new(blob.clone()))
        .await
        .unwrap();
    let (messages, status) = collect::<Blob>(response.into_inner()).await;
    status.unwrap();
    assert_eq!(messages, [blob]);
    let response = caller
        .call::<_, Blob>("/test.Echo/Nothing", Request::new(Blob::default()))
        .await;
    assert_eq!(response.unwrap_err().code(), Code::Unimplemented);
    house.is_quiet().await;
    assert_eq!(
        house.close(Duration::ZERO).await.cut,
        1,
        "the client's connection"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_engine_refuses_is_counted_by_its_status() {
    for (status, outcome) in [
        (
            Status::invalid_argument("no such model"),
            Outcome::Upstream4xx,
        ),
        (
            Status::resource_exhausted("queue full"),
            Outcome::Upstream429,
        ),
        (Status::unavailable("loading"), Outcome::Upstream5xx),
        (Status::internal("broke"), Outcome::Upstream5xx),
        (Status::cancelled("by whom?"), Outcome::ClientAbortPrefill),
    ] {
        let refusal = status.clone();
        let service = Service::new().generate(move |_, answers| {
            let refusal = refusal.clone();
            async move { answers.send(Err(refusal)).await.unwrap() }
        });
        let mut house = House::new(&service.engine(), "");
        let caller = Caller::new(&house).await;
        let request = Request::new(prompt_of(1));
        let response = caller.call::<_, GenerateResponse>(GENERATE, request).await;
        let told = match response {
            Ok(response) => collect(response.into_inner()).await.1.unwrap_err(),
            Err(told) => told,
        };
        assert_eq!(
            (told.code(), told.message()),
            (status.code(), status.message())
        );
        assert_eq!(house.record().await.outcome, outcome, "{status}");
        house.is_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn compressed_messages_pass_and_are_not_read() {
    let mut house = House::new(&tokens(3).compressed().engine(), "");
    let caller = Caller::new(&house).await;
    let response = caller
        .call(GENERATE, Request::new(prompt_of(2)))
        .await
        .unwrap();
    assert_eq!(response.metadata().get("grpc-encoding").unwrap(), "gzip");
    let (messages, status) = collect::<GenerateResponse>(response.into_inner()).await;
    status.unwrap();
    assert_eq!(messages.len(), 4);
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::Ok, "by the status alone");
    assert!(record.flags.opaque);
    assert_eq!(
        (record.output_tokens, record.request.prompt_tokens),
        (None, Some(2))
    );
    house.is_quiet().await;
}
