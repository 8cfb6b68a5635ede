//! Every stream of every engine through the proxy, on a paused clock that both sides share: the client gets the engine's
//! bytes, each exchange has one record, and its first and last token are at the engine's own nanosecond.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

use loadproof_proxy::{Parts, Proxy};
use measure::{Outcome, Record};
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

/// The engine, and what was read from it since somebody looked.
struct ToSim {
    server: sim::Server,
    connections: Mutex<JoinSet<()>>,
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<u8>>>;

/// The proxy's end of a connection, which keeps what is read from it.
struct Kept {
    io: DuplexStream,
    heard: Heard,
}

impl Connector for ToSim {
    fn connect(&self) -> Connecting {
        let (io, theirs) = duplex(256 * 1024);
        self.connections
            .lock()
            .unwrap()
            .spawn(self.server.serve_connection(theirs));
        let heard = Arc::clone(&self.heard);
        Box::pin(async move { Ok(Box::new(Kept { io, heard }) as Box<dyn Socket>) })
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
        Pin::new(&mut self.io).poll_write(cx, buf)
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
}

fn house(engine: EngineKind) -> House {
    let clock = Clock::start();
    let server = sim::Server::start(sim::Options {
        personality: Personality::of(engine),
        ..sim::Options::new(sim::Profile::fast(), sim::Clock::new(move || clock.now().0))
    });
    let effective = config::check(&config::Sources {
        file: Some(config::FileText {
            name: "test.yaml",
            text: "upstream:\n  url: http://127.0.0.1:1\n",
        }),
        environment: &config::Environment::of::<String, String>([]),
        flags: &[],
    });
    let config = effective
        .unwrap_or_else(|faults| panic!("{faults}"))
        .checked;
    let (feed, records) = mpsc::channel(64);
    let heard = Heard::default();
    let connector = ToSim {
        server: server.clone(),
        connections: Mutex::default(),
        heard: Arc::clone(&heard),
    };
    let parts = Parts {
        connector: Arc::new(connector),
        clock,
        config_view: String::new(),
        feed: Some(feed),
    };
    House {
        proxy: Proxy::new(&config, parts).unwrap(),
        server,
        records,
        heard,
    }
}

fn body(engine: EngineKind, endpoint: Endpoint, limit: u32) -> String {
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
    let asks_usage = matches!(endpoint, Endpoint::Completions | Endpoint::ChatCompletions);
    let usage = match asks_usage && engine != EngineKind::Tgi {
        true => r#","stream_options":{"include_usage":true}"#,
        false => "",
    };
    format!(r#"{{{inner},"stream":true{usage}}}"#)
}

/// Sends a request and reads its answer to the end.
async fn ask(
    mut socket: DuplexStream,
    engine: EngineKind,
    endpoint: Endpoint,
    number: u32,
) -> Vec<u8> {
    let body = body(engine, endpoint, 2 + number);
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-sim-id: {number}\r\n\
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
    let mut house = house(engine);
    for number in 0..EXCHANGES {
        let (client, server) = duplex(256 * 1024);
        house.proxy.serve(Box::new(server));
        let answer = ask(client, engine, endpoint, number).await;
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
