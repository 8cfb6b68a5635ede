//! An observer that fails harms nobody. The number is that of docs/FAULTS.md.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use measure::{Exchange, Identity, InFlight, Nanos, Progress, Record, Recorder, Role};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use upstream::{
    Budget, Clock, Connecting, Connector, Limits, Live, Observed, PatienceLimits, PoolLimits,
    QueueLimits, RequestBody, Socket, Upstream,
};
use wire::Endpoint;

const TOKEN: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
const TOKENS: usize = 5;

/// An engine that streams tokens 200 ms apart.
struct Streaming;

impl Connector for Streaming {
    fn connect(&self) -> Connecting {
        Box::pin(async {
            let (ours, mut theirs) = duplex(64 * 1024);
            tokio::task::spawn_local(async move {
                assert_ne!(theirs.read(&mut [0; 4096]).await.unwrap(), 0);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                theirs.write_all(head.as_bytes()).await.unwrap();
                for _ in 0..TOKENS {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    let chunk = format!("{:x}\r\n{TOKEN}\r\n", TOKEN.len());
                    theirs.write_all(chunk.as_bytes()).await.unwrap();
                }
                theirs.write_all(b"0\r\n\r\n").await.unwrap();
            });
            Ok(Box::new(ours) as Box<dyn Socket>)
        })
    }

    fn authority(&self) -> &str {
        "engine.test:8000"
    }
}

/// Takes one piece of progress badly.
#[derive(Default)]
struct Failing {
    panics: AtomicU32,
    records: Mutex<Vec<Record>>,
}

impl Recorder for Failing {
    fn progress(&self, _progress: &Progress<'_>) {
        panic!("an observer fails");
    }

    fn record(&self, record: Record) {
        self.records.lock().unwrap().push(record);
    }

    fn connected(&self, _took: Nanos) {}

    fn panicked(&self) {
        self.panics.fetch_add(1, SeqCst);
    }
}

fn limits() -> Limits {
    Limits {
        pool: PoolLimits {
            connect_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(1),
            max_idle: 1,
        },
        patience: PatienceLimits::default(),
        queue: QueueLimits {
            own: 1 << 16,
            most: 1 << 16,
        },
        body_bytes: 1 << 20,
    }
}

#[tokio::test(start_paused = true)]
async fn fault_77_a_panic_while_observing_is_caught_and_the_bytes_go_on() {
    let clock = Clock::start();
    let upstream = Upstream::new(Arc::new(Streaming), clock, limits(), Budget::new(0));
    let recorder = Arc::new(Failing::default());
    let identity = Identity {
        id: 1,
        role: Role::Production,
        endpoint: Endpoint::ChatCompletions,
    };
    let exchange = Exchange::begin(identity, clock.now(), Arc::new(InFlight::new()));
    let observed = Observed {
        live: Arc::new(Live::new(
            1,
            Endpoint::ChatCompletions,
            exchange.arrival(),
            0,
        )),
        exchange,
        recorder: recorder.clone(),
        engine: None,
    };
    let body = Full::new(Bytes::from_static(b"{\"stream\":true}"));
    let request = Request::post("/v1/chat/completions")
        .header("content-length", "15")
        .body(RequestBody::new(body.map_err(|never| match never {})))
        .unwrap();
    let (engine, answer) = upstream.begin(request, Some(observed), Arc::new(()));
    let local = tokio::task::LocalSet::new();
    let client = async {
        let (_, body) = answer.await.unwrap().into_parts();
        body.collect().await.unwrap().to_bytes()
    };
    let ((), got) = local
        .run_until(async { tokio::join!(engine, client) })
        .await;
    assert_eq!(got, TOKEN.repeat(TOKENS));
    assert_eq!(
        recorder.panics.load(SeqCst),
        1,
        "observing ends with the first"
    );
    let records = recorder.records.lock().unwrap();
    assert_eq!(records.len(), 1);
    assert!(records[0].flags.unobserved);
}
