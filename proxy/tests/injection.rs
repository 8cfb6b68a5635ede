//! Usage injection: what the engine is asked, and that the client can't tell.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

mod support;

use measure::{Outcome, Record};
use std::sync::{Arc, Mutex};
use support::*;
use tokio::io::{AsyncWriteExt, DuplexStream};
use wire::EngineKind;

const INJECT: &str = "engine:\n  kind: vllm\n  usage: inject\n";
const PLAIN: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
const ASKS: &str =
    r#"{"stream_options":{"include_usage":true,"continuous_usage_stats":true},"model":"#;

/// How an engine takes a request that asks for usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    Obeys,
    /// States usage whether it is asked or not.
    Forces,
    /// Answers 400 to `stream_options`.
    Refuses,
    /// Answers 400 to everything.
    RefusesAll,
    /// Breaks off when the last token is out.
    Breaks,
}

/// An engine that speaks as vLLM does, and keeps the bodies of the requests that it got.
#[derive(Clone)]
struct Vllm {
    taking: Arc<Mutex<Taking>>,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Vllm {
    fn start(taking: Taking) -> (Self, Arc<Engine>) {
        let vllm = Self {
            taking: Arc::new(Mutex::new(taking)),
            bodies: Arc::default(),
        };
        let serving = vllm.clone();
        let engine = Engine::new(move |socket| serving.clone().serve(socket));
        (vllm, engine)
    }

    async fn serve(self, mut socket: DuplexStream) {
        while let Some(request) = read_request(&mut socket).await {
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let length: usize = header(head, "content-length").unwrap().parse().unwrap();
            assert_eq!(length, body.len());
            self.bodies.lock().unwrap().push(body.to_owned());
            let asked = body.contains("\"include_usage\":true");
            let taking = *self.taking.lock().unwrap();
            match taking {
                Taking::RefusesAll => write(&mut socket, REFUSAL).await,
                Taking::Refuses if asked => write(&mut socket, REFUSAL).await,
                Taking::Forces => answer(&mut socket, true, false).await,
                Taking::Breaks => answer(&mut socket, asked, true).await,
                Taking::Obeys | Taking::Refuses => answer(&mut socket, asked, false).await,
            }
            if taking == Taking::Breaks {
                return;
            }
        }
    }

    fn becomes(&self, taking: Taking) {
        *self.taking.lock().unwrap() = taking;
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }

    fn asked(&self) -> Vec<bool> {
        let asks = |body: &String| body.starts_with(ASKS);
        self.bodies().iter().map(asks).collect()
    }
}

const REFUSAL: &str = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 26\r\n\r\n{\"error\":{\"message\":\"no\"}}";

/// An event of vLLM's, with or without what `usage` adds.
fn told(delta: &str, finish: &str, tail: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]{tail}}}\n\n"
    )
}

/// The events of an answer of three tokens; `usage` as vLLM writes it when asked.
fn events(usage: bool) -> Vec<String> {
    let running = |tokens: u32| {
        let stated = format!(",\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{tokens}}}");
        if usage { stated } else { String::new() }
    };
    let mark = ",\"system_fingerprint\":\"vllm-1\"";
    let last = if usage { "" } else { mark };
    let mut events = vec![
        told(r#"{"role":"assistant","content":""}"#, "null", &running(0)),
        told(r#"{"content":"a"}"#, "null", &running(1)),
        told(r#"{"content":"b"}"#, "null", &running(2)),
        told(r#"{"content":"c"}"#, "\"stop\"", &(running(3) + last)),
    ];
    if usage {
        events.push(format!(
            "data: {{\"id\":\"chatcmpl-1\",\"choices\":[]{}{mark}}}\n\n",
            running(3)
        ));
    }
    events.push(DONE.to_owned());
    events
}

async fn answer(socket: &mut DuplexStream, usage: bool, breaks: bool) {
    write(socket, STREAM_HEAD).await;
    for event in events(usage) {
        pause(10).await;
        let last = event.contains("\"stop\"");
        // In two pieces, so that a piece is no whole event.
        let (one, two) = event.split_at(event.len() / 2);
        write(socket, &chunk(one)).await;
        pause(1).await;
        write(socket, &chunk(two)).await;
        if breaks && last {
            return;
        }
    }
    write(socket, "0\r\n\r\n").await;
}

/// What the client of one request gets: the answer's body, and whether it was whole.
async fn ask(house: &mut House, body: &str) -> (String, bool, Record) {
    let mut client = house.client();
    write(&mut client, &request("/v1/chat/completions", body)).await;
    let record = house.record().await;
    client.shutdown().await.unwrap();
    let all = read_all(&mut client).await;
    let (_, body) = all.split_once("\r\n\r\n").unwrap();
    let (data, whole) = if all.contains("chunked") {
        dechunk(body)
    } else {
        (body.to_owned(), true)
    };
    (data, whole, record)
}

fn without_usage() -> String {
    events(false).concat()
}

#[test]
fn each_kind_of_engine_has_its_word() {
    for kind in EngineKind::ALL {
        let engine = Engine::new(|_socket| async {});
        let yaml = format!("engine:\n  kind: {}\n", kind.as_str());
        House::new(&engine, &yaml);
    }
}

#[tokio::test(start_paused = true)]
async fn unless_it_is_wanted_no_byte_of_a_request_is_changed() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, "engine:\n  kind: vllm\n");
    for _ in 0..3 {
        let (got, whole, record) = ask(&mut house, PLAIN).await;
        assert_eq!((got, whole), (without_usage(), true));
        assert!(!record.flags.usage_injected);
        assert_eq!(record.output_tokens, None);
    }
    assert_eq!(vllm.bodies(), [PLAIN; 3]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn once_an_answer_lacked_usage_it_is_asked_for_and_the_client_cannot_tell() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    for asked in [false, true, true] {
        let (got, whole, record) = ask(&mut house, PLAIN).await;
        assert_eq!((got, whole), (without_usage(), true));
        assert_eq!(record.outcome, Outcome::Ok);
        assert_eq!(record.flags.usage_injected, asked);
        assert_eq!(record.request.include_usage, None, "the client did not ask");
        let expected = asked.then_some(3);
        assert_eq!(
            (record.output_tokens, record.counts_exact),
            (expected, asked)
        );
    }
    assert_eq!(vllm.asked(), [false, true, true]);
    let rest = PLAIN.strip_prefix(r#"{"model":"#).unwrap();
    assert_eq!(vllm.bodies()[1], format!("{ASKS}{rest}"));
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn who_speaks_of_usage_is_heard_and_not_corrected() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    ask(&mut house, PLAIN).await;
    let says_no = r#"{"stream":true,"stream_options":{"include_usage":false}}"#;
    let says_yes = r#"{"stream":true,"stream_options":{"include_usage":true}}"#;
    assert_eq!(ask(&mut house, says_no).await.0, without_usage());
    assert_eq!(ask(&mut house, says_yes).await.0, events(true).concat());
    assert_eq!(vllm.bodies()[1..], [says_no, says_yes]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_states_usage_anyway_is_never_asked() {
    let (vllm, engine) = Vllm::start(Taking::Forces);
    let mut house = House::new(&engine, INJECT);
    for _ in 0..3 {
        assert_eq!(ask(&mut house, PLAIN).await.0, events(true).concat());
    }
    assert_eq!(vllm.bodies(), [PLAIN; 3]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_wish_costs_the_client_nothing_and_is_remembered() {
    let (vllm, engine) = Vllm::start(Taking::Refuses);
    let mut house = House::new(&engine, INJECT);
    for _ in 0..4 {
        let (got, _, record) = ask(&mut house, PLAIN).await;
        assert_eq!(got, without_usage());
        assert_eq!((record.status, record.outcome), (Some(200), Outcome::Ok));
        assert!(
            !record.flags.usage_injected,
            "the answer is to the client's own request"
        );
        assert_eq!(record.request_bytes, PLAIN.len() as u64);
    }
    assert_eq!(vllm.asked(), [false, true, false, false, false]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_at_fault_itself_is_refused_as_the_engine_refuses_it() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    ask(&mut house, PLAIN).await;
    vllm.becomes(Taking::RefusesAll);
    for _ in 0..2 {
        let (got, _, record) = ask(&mut house, PLAIN).await;
        assert_eq!(got, r#"{"error":{"message":"no"}}"#);
        assert_eq!(record.status, Some(400));
    }
    assert_eq!(
        vllm.asked(),
        [false, true, false, true, false],
        "each once more as the client sent it"
    );
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_loses_no_byte_that_was_held() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    ask(&mut house, PLAIN).await;
    vllm.becomes(Taking::Breaks);
    let (got, whole, record) = ask(&mut house, PLAIN).await;
    assert!(!whole);
    assert_eq!(record.outcome, Outcome::UpstreamTruncated);
    let mark = ",\"system_fingerprint\":\"vllm-1\"";
    let expected = events(false)[..4].concat().replace(mark, "");
    assert_eq!(got, expected);
    assert_eq!(vllm.asked(), [false, true]);
    house.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_too_long_to_look_through_passes_as_it_is() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    ask(&mut house, PLAIN).await;
    let long = format!(r#"{{"stream":true,"x":"{}"}}"#, "y".repeat(5 << 20));
    let (got, whole, _) = ask(&mut house, &long).await;
    assert_eq!((got, whole), (without_usage(), true));
    assert!(vllm.bodies()[1] == long, "5 MiB, unchanged");
    house.is_quiet().await;
    let live = exporter::Live::default();
    let text = house.proxy.exporter().encode(exporter::Format::Text, &live);
    let text = String::from_utf8(text.unwrap()).unwrap();
    let counted = "loadproof_unmeasured_total{reason=\"oversize_request\"} 1";
    assert!(text.lines().any(|line| line == counted), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_while_its_body_is_held_leaves_a_record() {
    let (vllm, engine) = Vllm::start(Taking::Obeys);
    let mut house = House::new(&engine, INJECT);
    ask(&mut house, PLAIN).await;
    let mut client = house.client();
    let whole = request("/v1/chat/completions", PLAIN);
    write(&mut client, &whole[..whole.len() - 5]).await;
    pause(10).await;
    drop(client);
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::ClientAbortPrefill);
    assert_eq!(vllm.bodies().len(), 1, "the engine never saw it");
    house.is_quiet().await;
}
