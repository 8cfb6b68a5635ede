//! Every stream of every engine through the proxy, on a paused clock that both sides share: the client gets the engine's
//! bytes, each exchange has one record, and its first and last token are at the engine's own nanosecond. And the same
//! streams with usage injected: the client can't tell.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

use measure::{Outcome, Record};
use proxy::{Parts, Proxy};
use sim::{Kind, Personality};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use upstream::{Clock, Connecting, Connector, Socket};
use wire::encode::speaks;
use wire::{Endpoint, EngineKind};

const EXCHANGES: u32 = 10;

/// The engine, and what was read from it and written to it since somebody looked.
struct ToSim {
    server: sim::Server,
    connections: Mutex<JoinSet<()>>,
    heard: Heard,
    told: Heard,
}

type Heard = Arc<Mutex<Vec<u8>>>;

/// The proxy's end of a connection, which keeps what is read from it and written to it.
struct Kept {
    io: DuplexStream,
    heard: Heard,
    told: Heard,
}

impl Connector for ToSim {
    fn connect(&self) -> Connecting {
        let (io, theirs) = duplex(256 * 1024);
        self.connections
            .lock()
            .unwrap()
            .spawn(self.server.serve_connection(theirs));
        let (heard, told) = (Arc::clone(&self.heard), Arc::clone(&self.told));
        Box::pin(async move { Ok(Box::new(Kept { io, heard, told }) as Box<dyn Socket>) })
    }

    fn authority(&self) -> &str {
        "sim"
    }
}

impl AsyncRead for Kept {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let new = &buf.filled()[before..];
        self.heard.lock().unwrap().extend_from_slice(new);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Kept {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.told.lock().unwrap().extend_from_slice(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

struct House {
    proxy: Proxy,
    server: sim::Server,
    records: mpsc::Receiver<Record>,
    heard: Heard,
    told: Heard,
}

fn house(engine: EngineKind, usage: &str) -> House {
    let clock = Clock::start();
    let server = sim::Server::start(sim::Options {
        personality: Personality::of(engine),
        ..sim::Options::new(sim::Profile::fast(), sim::Clock::new(move || clock.now().0))
    });
    let effective = config::check(&config::Sources {
        file: Some(config::FileText {
            name: "test.yaml",
            text: &format!(
                "upstream:\n  url: http://127.0.0.1:1\nengine:\n  kind: {}\n  usage: {usage}\n",
                engine.as_str()
            ),
        }),
        environment: &config::Environment::of::<String, String>([]),
        flags: &[],
    });
    let config = effective
        .unwrap_or_else(|faults| panic!("{faults}"))
        .checked;
    let (feed, records) = mpsc::channel(64);
    let (heard, told) = (Heard::default(), Heard::default());
    let connector = ToSim {
        server: server.clone(),
        connections: Mutex::default(),
        heard: Arc::clone(&heard),
        told: Arc::clone(&told),
    };
    let parts = Parts {
        connectors: vec![Arc::new(connector)],
        clock,
        config_view: String::new(),
        feed: Some(feed),
    };
    House {
        proxy: Proxy::new(&config, parts).unwrap(),
        server,
        records,
        heard,
        told,
    }
}

/// A request for a stream of so many tokens that says nothing of usage.
fn plain_body(endpoint: Endpoint, limit: u32) -> String {
    let messages = r#""messages":[{"role":"user","content":"one two three"}]"#;
    let inner = match endpoint {
        Endpoint::ChatCompletions => format!(r#"{messages},"max_completion_tokens":{limit}"#),
        Endpoint::Completions => format!(r#""prompt":"one two","max_tokens":{limit}"#),
        Endpoint::Messages => format!(r#"{messages},"max_tokens":{limit}"#),
        Endpoint::Responses => format!(r#""input":"one two","max_output_tokens":{limit}"#),
        Endpoint::InferenceGenerate => {
            format!(r#""token_ids":[5,6],"sampling_params":{{"max_tokens":{limit}}}"#)
        }
        Endpoint::Generate => {
            format!(r#""text":"one two","sampling_params":{{"max_new_tokens":{limit}}}"#)
        }
        Endpoint::GenerateStream | Endpoint::Root => {
            format!(
                r#""inputs":"one two","parameters":{{"max_new_tokens":{limit},"details":true}}"#
            )
        }
        Endpoint::Completion => format!(r#""prompt":"one two","n_predict":{limit}"#),
        Endpoint::OllamaChat => format!(r#"{messages},"options":{{"num_predict":{limit}}}"#),
        Endpoint::OllamaGenerate => {
            format!(r#""prompt":"one two","options":{{"num_predict":{limit}}}"#)
        }
        _ => return format!(r#"{{"text_input":"one two","max_tokens":{limit}}}"#),
    };
    format!(r#"{{{inner},"stream":true}}"#)
}

/// The same, asking for usage where that is asked for.
fn body(engine: EngineKind, endpoint: Endpoint, limit: u32) -> String {
    let asks_usage = matches!(endpoint, Endpoint::Completions | Endpoint::ChatCompletions);
    let plain = plain_body(endpoint, limit);
    if asks_usage && engine != EngineKind::Tgi {
        let options = r#","stream_options":{"include_usage":true}}"#;
        return plain.trim_end_matches('}').to_owned() + options;
    }
    plain
}

/// Sends a request and reads its answer to the end.
async fn ask(mut socket: DuplexStream, endpoint: Endpoint, body: &str, fields: &str) -> Vec<u8> {
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{fields}\
         connection: close\r\n\r\n",
        endpoint.as_str().replace('*', "sim-8b"),
        body.len(),
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    answer
}

/// The body of a chunked answer.
fn content(answer: &[u8]) -> Vec<u8> {
    let head = answer
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap();
    let mut rest = &answer[head + 4..];
    let mut content = Vec::new();
    loop {
        let line = rest
            .windows(2)
            .position(|window| window == b"\r\n")
            .unwrap();
        let size = std::str::from_utf8(&rest[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return content;
        }
        content.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
}

fn streams(engine: EngineKind) -> impl Iterator<Item = Endpoint> {
    Endpoint::ALL.into_iter().filter(move |endpoint| {
        let whole_only = *endpoint == Endpoint::TritonGenerate
            || (engine, *endpoint) == (EngineKind::Tgi, Endpoint::Generate);
        speaks(engine, *endpoint) && !whole_only
    })
}

async fn check(engine: EngineKind, endpoint: Endpoint) {
    let mut house = house(engine, "observe");
    for number in 0..EXCHANGES {
        let (client, server) = duplex(256 * 1024);
        house.proxy.serve(Box::new(server));
        let body = body(engine, endpoint, 2 + number);
        let answer = ask(client, endpoint, &body, &format!("x-sim-id: {number}\r\n")).await;
        let told = std::mem::take(&mut *house.told.lock().unwrap());
        assert!(
            told.ends_with(body.as_bytes()),
            "{endpoint:?}: the request's body is the client's"
        );
        let engines = std::mem::take(&mut *house.heard.lock().unwrap());
        assert_eq!(content(&answer), content(&engines), "{endpoint:?}");
        tokio::time::sleep(Duration::from_micros(137)).await;
    }
    house.server.truth().finished(u64::from(EXCHANGES)).await;
    let truths = house.server.truth().drain();
    assert_eq!(truths.len(), usize::try_from(EXCHANGES).unwrap());
    for (number, truth) in truths.iter().enumerate() {
        let about = format!("{engine:?} {endpoint:?} {number}");
        let record = house.records.recv().await.unwrap();
        assert_eq!(record.outcome, Outcome::Ok, "{about}: {record:?}");
        assert!(record.streamed, "{about}");
        let shown = truth
            .emissions
            .iter()
            .filter(|emitted| emitted.kind == Kind::Answer && emitted.tokens > 0);
        let times: Vec<u64> = shown.map(|emitted| emitted.at_ns).collect();
        let stamps = &record.stamps;
        assert_eq!(
            stamps.first_token.map(|at| at.0),
            times.first().copied(),
            "{about}"
        );
        assert_eq!(
            stamps.last_token.map(|at| at.0),
            times.last().copied(),
            "{about}"
        );
        if let Some(usage) = truth.usage {
            assert_eq!(
                (record.input_tokens, record.output_tokens),
                (Some(usage.prompt), Some(usage.completion)),
                "{about}"
            );
        }
    }
    assert!(house.records.try_recv().is_err(), "one record an exchange");
}

#[tokio::test(start_paused = true)]
async fn every_dialect_passes_unchanged_and_is_timed_to_the_nanosecond() {
    let mut routes = 0;
    for engine in EngineKind::ALL {
        for endpoint in streams(engine) {
            check(engine, endpoint).await;
            routes += 1;
        }
    }
    assert_eq!(routes, 28);
}

/// Streams of one route that say nothing of usage, with injection on; whether the engine was asked for it in the end.
async fn injected(engine: EngineKind, endpoint: Endpoint) -> bool {
    let mut house = house(engine, "inject");
    let fields = "x-sim-id: same\r\nx-sim-script: first_us=3000;gap_us=2000;bursts=5;plain=1\r\n";
    let body = plain_body(endpoint, 9);
    let (client, server) = duplex(256 * 1024);
    let mut engines = JoinSet::new();
    engines.spawn(house.server.serve_connection(server));
    let direct = content(&ask(client, endpoint, &body, fields).await);
    let mut asked = false;
    for turn in 0..3 {
        let (client, server) = duplex(256 * 1024);
        house.proxy.serve(Box::new(server));
        let got = content(&ask(client, endpoint, &body, fields).await);
        let about = format!("{engine:?} {endpoint:?} {turn}");
        assert_eq!(
            String::from_utf8_lossy(&got),
            String::from_utf8_lossy(&direct),
            "{about}"
        );
        let told = std::mem::take(&mut *house.told.lock().unwrap());
        let record = house.records.recv().await.unwrap();
        assert_eq!(record.outcome, Outcome::Ok, "{about}");
        asked = record.flags.usage_injected;
        assert_eq!(told.ends_with(body.as_bytes()), !asked, "{about}");
        if asked {
            let heard = std::mem::take(&mut *house.heard.lock().unwrap());
            assert_ne!(content(&heard), got, "{about}: what was added is taken out");
            assert_eq!(record.output_tokens, Some(5), "{about}");
            assert!(record.input_tokens.is_some(), "{about}");
        }
        house.heard.lock().unwrap().clear();
        tokio::time::sleep(Duration::from_micros(137)).await;
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn usage_that_was_injected_leaves_no_trace_in_any_dialect() {
    let mut asked = Vec::new();
    for engine in EngineKind::ALL {
        for endpoint in streams(engine) {
            if injected(engine, endpoint).await {
                asked.push((engine, endpoint));
            }
        }
    }
    let (text, chat) = (Endpoint::Completions, Endpoint::ChatCompletions);
    let expected = [
        (EngineKind::Vllm, text),
        (EngineKind::Vllm, chat),
        (EngineKind::Sglang, text),
        (EngineKind::Sglang, chat),
        (EngineKind::Trtllm, text),
        (EngineKind::Trtllm, chat),
        (EngineKind::Triton, text),
        (EngineKind::Triton, chat),
        (EngineKind::Tgi, chat),
    ];
    assert_eq!(asked, expected);
}
