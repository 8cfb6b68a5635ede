//! Ambiguous and broken requests, sent as bytes: what the client is told, and what the engine gets to see.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

#[path = "support/cases.rs"]
mod cases;
#[path = "support/literal_engine.rs"]
mod literal_engine;
#[path = "support/mutation.rs"]
mod mutation;
#[path = "support/reading.rs"]
mod reading;
mod support;

use cases::{Case, Expect, Forwarded, Reach};
use literal_engine::{Log, engine};
use proptest::prelude::*;
use reading::Rest;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Engine, House, pause};
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};

/// A client gives up on an answer after this.
const PATIENCE: Duration = Duration::from_secs(3);

/// Requests up to this many bytes are also sent in pieces.
const SMALL: usize = 200;

/// A proxy in front of an engine that writes down what it gets.
struct Scene {
    house: House,
    log: Arc<Mutex<Log>>,
    _engine: Arc<Engine>,
}

/// What a client saw.
struct Answer {
    bytes: String,
    /// The proxy ended the connection.
    ended: bool,
}

impl Scene {
    fn new() -> Self {
        let (engine, log) = engine();
        Self {
            house: House::new(&engine, ""),
            log,
            _engine: engine,
        }
    }

    /// Sends `pieces`, a millisecond after one another, and reads until the end or until nothing has come for long.
    async fn send<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Answer, Log) {
        *self.log.lock().unwrap() = Log::default();
        let (mut reader, mut writer) = split(self.house.client());
        let write = async move {
            for piece in pieces {
                if writer.write_all(piece).await.is_err() {
                    break;
                }
                pause(1).await;
            }
            // Its end is not to be seen before that of the reading.
            writer
        };
        let read = async move {
            let mut bytes = Vec::new();
            let mut buf = [0; 4096];
            loop {
                match tokio::time::timeout(PATIENCE, reader.read(&mut buf)).await {
                    Ok(Ok(read)) if read > 0 => bytes.extend_from_slice(&buf[..read]),
                    ended => return (bytes, ended.is_ok(), reader),
                }
            }
        };
        let (writer, (bytes, ended, reader)) = tokio::join!(write, read);
        drop((writer, reader));
        // What the proxy still has to tell the engine, it tells at once.
        pause(1).await;
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        let bytes = String::from_utf8(bytes).expect("answers are text");
        (Answer { bytes, ended }, log)
    }
}

impl Answer {
    /// The status of the first answer, if there is one.
    fn status(&self) -> Option<u16> {
        let status = self.bytes.strip_prefix("HTTP/1.1 ")?.get(..3)?;
        Some(status.parse().expect("a status"))
    }

    /// The one answer of a request that was refused: our shape, the connection's end announced, nothing behind it.
    fn check_refusal(&self, id: &str) {
        let (head, body) = self.bytes.split_once("\r\n\r\n").expect("a whole head");
        assert!(
            head.to_ascii_lowercase().contains("\r\nconnection: close"),
            "{id}: {head}"
        );
        let body: serde_json::Value =
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{id}: {error}: {body}"));
        assert!(body["error"]["type"].is_string(), "{id}: {body}");
        let code = body["error"]["code"].as_str().expect("a code");
        assert!(
            !code.is_empty() && body["error"]["message"].is_string(),
            "{id}: {body}"
        );
    }
}

fn check(case: &Case, answer: &Answer, log: &Log) {
    let id = &case.id;
    assert!(log.leftover.is_empty(), "{id}: {:?}", log.leftover);
    match &case.expect {
        Expect::Refuse {
            status,
            also,
            engine,
        } => {
            assert!(answer.ended, "{id}: the connection stayed open");
            match answer.status() {
                Some(got) => {
                    assert!(got == *status || also.contains(&got.into()), "{id}: {got}");
                    answer.check_refusal(id);
                }
                None => assert!(also.contains(&"closed".into()), "{id}: no answer"),
            }
            match engine {
                Reach::Nothing => assert_eq!(log.bytes, 0, "{id}: {:?}", log.requests),
                Reach::NoCompleteRequest => {
                    assert!(log.requests.len() <= 1, "{id}: {:?}", log.requests);
                    assert!(log.requests.iter().all(|request| !request.complete), "{id}");
                }
            }
        }
        Expect::Deliver {
            status,
            forward,
            forward_optional,
        } => {
            assert_eq!(answer.status(), Some(*status), "{id}: {}", answer.bytes);
            let expected = forward.iter().chain(forward_optional);
            assert!(
                log.requests.len() >= forward.len(),
                "{id}: {:?}",
                log.requests
            );
            assert!(
                log.requests.len() <= forward.len() + forward_optional.len(),
                "{id}: {:?}",
                log.requests
            );
            for (got, expected) in log.requests.iter().zip(expected) {
                check_forwarded(id, got, expected);
            }
        }
    }
}

fn check_forwarded(id: &str, got: &Forwarded, expected: &Forwarded) {
    let headers: Vec<(String, String)> = expected
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    assert_eq!(
        (&got.method, &got.target),
        (&expected.method, &expected.target),
        "{id}"
    );
    assert_eq!(got.headers, headers, "{id}");
    assert_eq!(got.complete, expected.complete, "{id}");
    if expected.complete {
        assert_eq!(got.body, expected.body, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn fault_34_each_case_is_refused_or_delivered_as_it_must_be() {
    let scene = Scene::new();
    let cases = cases::all();
    let refused = |case: &&Case| matches!(case.expect, Expect::Refuse { .. });
    assert_eq!(
        (cases.len(), cases.iter().filter(refused).count()),
        (78, 65)
    );
    for case in &cases {
        let (answer, log) = scene.send([&case.bytes()[..]]).await;
        check(case, &answer, &log);
    }
}

#[tokio::test(start_paused = true)]
async fn each_small_case_goes_the_same_way_however_it_is_split() {
    let scene = Scene::new();
    for case in cases::all() {
        let bytes = case.bytes();
        if bytes.len() > SMALL {
            continue;
        }
        for at in 1..bytes.len() {
            let (start, end) = bytes.split_at(at);
            let (answer, log) = scene.send([start, end]).await;
            check(&case, &answer, &log);
        }
        let (answer, log) = scene.send(bytes.chunks(1)).await;
        check(&case, &answer, &log);
    }
}

/// What a client sends is read as the rules say, and that and nothing else is what the engine gets.
async fn engine_gets_what_was_meant(bytes: &[u8], cut: usize) -> Result<(), TestCaseError> {
    let scene = Scene::new();
    let (requests, rest) = reading::read_all(bytes);
    let (start, end) = bytes.split_at(cut.min(bytes.len()));
    let (answer, log) = scene
        .send([start, end].into_iter().filter(|piece| !piece.is_empty()))
        .await;
    prop_assert!(log.leftover.is_empty(), "{:?}", log.leftover);
    let got: Vec<_> = log
        .requests
        .iter()
        .filter(|request| request.complete)
        .collect();
    // A client that asks for the connection's end gets it after the answer, and what it sent behind that is nobody's.
    prop_assert!(got.len() <= requests.len(), "{:?}", log.requests);
    prop_assert!(requests.is_empty() || !got.is_empty(), "{}", answer.bytes);
    for (got, meant) in got.into_iter().zip(&requests) {
        let body: String = meant.body.iter().map(|byte| char::from(*byte)).collect();
        prop_assert_eq!((&got.method, &got.body), (&meant.method, &body));
        prop_assert!(
            meant.target.ends_with(&got.target) || got.target == "/",
            "{}",
            got.target
        );
    }
    if requests.is_empty() && rest == Rest::Refused {
        let status = answer.status().expect("an answer");
        prop_assert!((400..=505).contains(&status), "{}", answer.bytes);
        prop_assert!(answer.ended);
        answer.check_refusal("mutated");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn what_the_engine_gets_is_what_the_client_meant(bytes in mutation::mutated(), cut in 0_usize..400) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let outcome = runtime.block_on(engine_gets_what_was_meant(&bytes, cut));
        prop_assert!(outcome.is_ok(), "{} cut at {cut}: {outcome:?}", bytes.escape_ascii());
    }
}
