//! Many requests in one call of Triton's `ModelStreamInfer`: each is one record, however their answers interleave.

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

use calls::{Caller, Service};
use infer::*;
use measure::{Defined, Nanos, Outcome, Record};
use support::*;
use tokio::sync::mpsc;
use tonic::{Code, Status};

struct Stage {
    house: House,
    caller: Caller,
    streams: mpsc::Receiver<EngineStream>,
}

async fn stage(yaml: &str) -> Stage {
    let (streams, received) = mpsc::channel(4);
    let house = House::new(&Service::new().infer(streams).engine(), yaml);
    let caller = Caller::new(&house).await;
    Stage {
        house,
        caller,
        streams: received,
    }
}

impl Stage {
    /// A call, from both ends.
    async fn call(&mut self) -> (Stream, EngineStream) {
        let (client, engine) = tokio::join!(stream(&self.caller), self.streams.recv());
        (client.unwrap(), engine.unwrap())
    }

    async fn records(&mut self, count: usize) -> Vec<Record> {
        let mut records = Vec::new();
        for _ in 0..count {
            records.push(self.house.record().await);
        }
        records
    }

    fn in_flight(&self) -> (u32, u32) {
        let in_flight = self.house.proxy.in_flight();
        (in_flight.prefill(), in_flight.decode())
    }
}

fn ms(ms: u64) -> Defined<Nanos> {
    Defined::Value(Nanos::from_millis(ms))
}

#[tokio::test(start_paused = true)]
async fn three_interleaved_requests_are_three_records_with_their_own_times() {
    let mut stage = stage("").await;
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    let script = [
        (0, Some(ask("a", "one", true)), None),
        (10, Some(ask("b", "three", true)), None),
        (20, None, Some(part("b", "x"))),
        (25, Some(ask("c", "", true)), None),
        (30, None, Some(part("a", "x"))),
        (40, None, Some(part("c", "x"))),
        (50, None, Some(part("a", "y"))),
        (55, None, Some(last("b"))),
        (60, None, Some(part("c", "y"))),
        (70, None, Some(part("a", "z"))),
        (70, None, Some(last("a"))),
        (80, None, Some(last("c"))),
    ];
    let start = tokio::time::Instant::now();
    for (at, request, answer) in script {
        tokio::time::sleep_until(start + MS * at).await;
        if let Some(request) = request {
            requests.send(request.clone()).await.unwrap();
            assert_eq!(asked.message().await.unwrap(), Some(request));
        }
        if let Some(answer) = answer {
            told.send(Ok(answer.clone())).await.unwrap();
            assert_eq!(answers.message().await.unwrap(), Some(answer));
        }
        if at == 55 {
            assert_eq!(stage.in_flight(), (0, 2), "b is over, a and c go on");
        }
    }
    let [b, a, c] = &stage.records(3).await[..] else {
        panic!("three records")
    };
    assert_eq!(stage.in_flight(), (0, 0), "though the call is open");
    for (record, ttft, e2e, bursts, prompt, at_arrival) in [
        (a, 30, 70, 3, 3, 0),
        (b, 10, 45, 1, 5, 1),
        (c, 15, 55, 2, 0, 2),
    ] {
        assert_eq!(record.outcome, Outcome::Ok);
        assert_eq!((record.ttft(), record.e2e()), (ms(ttft), ms(e2e)));
        assert_eq!((record.bursts, record.events), (bursts, bursts + 1));
        assert_eq!(record.request.prompt_bytes, Some(prompt));
        assert_eq!(record.request.model.as_deref(), Some("ensemble"));
        assert_eq!(record.in_flight.at_arrival, at_arrival);
    }
    drop(requests);
    assert_eq!(asked.message().await.unwrap(), None);
    drop(told);
    assert_eq!(answers.message().await.unwrap(), None);
    stage.house.is_quiet().await;
}

/// Most clients don't ask to be told of the last response: they know the end by closing their side and waiting for the
/// engine's. To call all their answers cut would accuse the engine of what it did not do.
#[tokio::test(start_paused = true)]
async fn who_did_not_ask_for_the_last_response_has_the_whole_answer_when_the_call_ends_well() {
    let mut stage = stage("").await;
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for (id, end_asked) in [("unasked", false), ("asked", true), ("silent", false)] {
        requests.send(ask(id, "p", end_asked)).await.unwrap();
        assert!(asked.message().await.unwrap().is_some());
    }
    for id in ["unasked", "asked"] {
        pause(10).await;
        told.send(Ok(part(id, "x"))).await.unwrap();
        assert!(answers.message().await.unwrap().is_some());
    }
    pause(500).await;
    drop((requests, told));
    assert_eq!(answers.message().await.unwrap(), None);
    let [unasked, asked, silent] = &stage.records(3).await[..] else {
        panic!("three records")
    };
    assert_eq!(unasked.outcome, Outcome::Ok);
    assert_eq!(
        unasked.e2e(),
        ms(10),
        "to its last answer, not to the call's end"
    );
    assert_eq!(asked.outcome, Outcome::SseNoDone);
    assert_eq!(silent.outcome, Outcome::SseNoDone);
    stage.house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_ends_its_request_and_no_other() {
    let mut stage = stage("").await;
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for id in ["good", "bad"] {
        requests.send(ask(id, "p", true)).await.unwrap();
        assert!(asked.message().await.unwrap().is_some());
    }
    for answer in [
        part("good", "x"),
        error("bad", "no such input"),
        last("good"),
    ] {
        told.send(Ok(answer.clone())).await.unwrap();
        assert_eq!(answers.message().await.unwrap(), Some(answer));
    }
    let [bad, good] = &stage.records(2).await[..] else {
        panic!("two records")
    };
    assert_eq!(
        (bad.outcome, good.outcome),
        (Outcome::SseErrorEvent, Outcome::Ok)
    );
    assert_eq!(bad.request.prompt_bytes, Some(1));
    drop((requests, told));
    stage.house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_open_when_a_call_breaks_is_cut_with_it() {
    let mut stage = stage("").await;
    // The engine gives up, with one request decoding and one waiting.
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for id in ["begun", "waiting"] {
        requests.send(ask(id, "p", true)).await.unwrap();
        assert!(asked.message().await.unwrap().is_some());
    }
    told.send(Ok(part("begun", "x"))).await.unwrap();
    assert!(answers.message().await.unwrap().is_some());
    told.send(Err(Status::unavailable("going down")))
        .await
        .unwrap();
    assert_eq!(
        answers.message().await.unwrap_err().code(),
        Code::Unavailable
    );
    let [begun, waiting] = &stage.records(2).await[..] else {
        panic!("two records")
    };
    assert_eq!(begun.outcome, Outcome::SseErrorEvent);
    assert_eq!(waiting.outcome, Outcome::Upstream5xx);
    drop(requests);

    // The client leaves.
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for id in ["begun", "waiting"] {
        requests.send(ask(id, "p", true)).await.unwrap();
        assert!(asked.message().await.unwrap().is_some());
    }
    told.send(Ok(part("begun", "x"))).await.unwrap();
    assert!(answers.message().await.unwrap().is_some());
    drop((requests, answers));
    told.closed().await;
    let [begun, waiting] = &stage.records(2).await[..] else {
        panic!("two records")
    };
    assert_eq!(begun.outcome, Outcome::ClientAbortDecode);
    assert_eq!(waiting.outcome, Outcome::ClientAbortPrefill);
    stage.house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn requests_with_one_id_are_not_told_apart_and_say_so() {
    let mut stage = stage("").await;
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for _ in 0..2 {
        requests.send(ask("", "p", true)).await.unwrap();
        assert!(asked.message().await.unwrap().is_some());
    }
    for answer in [part("", "x"), last(""), part("", "y"), last("")] {
        told.send(Ok(answer.clone())).await.unwrap();
        assert_eq!(answers.message().await.unwrap(), Some(answer));
    }
    for record in stage.records(2).await {
        assert!(record.flags.unobserved);
    }
    // After them, one alone is measured again.
    requests.send(ask("", "p", true)).await.unwrap();
    told.send(Ok(part("", "x"))).await.unwrap();
    told.send(Ok(last(""))).await.unwrap();
    let record = stage.house.record().await;
    assert_eq!(
        (record.outcome, record.flags.unobserved),
        (Outcome::Ok, false)
    );
    drop((requests, told));
    stage.house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn the_limit_on_bodies_is_each_requests_own_and_a_call_may_be_idle() {
    let limits = "  silence_timeout: 1s\n  ttft_timeout: 1s\nlimits:\n  body_bytes: 1KiB\n";
    let mut stage = stage(limits).await;
    let ((requests, mut answers), (mut asked, told)) = stage.call().await;
    for turn in 0..8 {
        let id = turn.to_string();
        requests
            .send(ask(&id, &"p".repeat(500), true))
            .await
            .unwrap();
        assert!(asked.message().await.unwrap().is_some());
        pause(500).await;
        for answer in [part(&id, "x"), last(&id)] {
            told.send(Ok(answer.clone())).await.unwrap();
            assert_eq!(answers.message().await.unwrap(), Some(answer));
        }
        let record = stage.house.record().await;
        assert_eq!((record.outcome, record.ttft()), (Outcome::Ok, ms(500)));
        pause(5_000).await;
    }
    requests.send(ask("slow", "p", true)).await.unwrap();
    let status = answers.message().await.unwrap_err();
    let record = stage.house.record().await;
    assert_eq!(record.outcome, Outcome::TimeoutTtft, "{status}");
    let Defined::Censored(waited) = record.ttft() else {
        panic!("no token came")
    };
    // Since this request began, not the call; timers are rounded up to the millisecond.
    assert!((Nanos::from_millis(1_000)..=Nanos::from_millis(1_001)).contains(&waited));

    let ((requests, mut answers), _engine) = stage.call().await;
    requests
        .send(ask("large", &"p".repeat(2_000), true))
        .await
        .unwrap();
    assert!(answers.message().await.is_err());
    assert_eq!(stage.house.record().await.outcome, Outcome::RejectedLimit);
    stage.house.is_quiet().await;
}
