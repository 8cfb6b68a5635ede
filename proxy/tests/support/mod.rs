//! A proxy between a client and an engine that are both written out byte by byte, over pipes, on tokio's paused clock: so
//! every time in a test is exact, and nothing sleeps for real.

use measure::Record;
use proxy::{Drained, Parts, Proxy};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use upstream::{Clock, Connecting, Connector, Socket};

/// Bytes that fit into a pipe before its writer waits, as a socket's buffers would hold them.
const PIPE: usize = 64 * 1024;

type Handler = Arc<dyn Fn(DuplexStream) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// An engine whose every connection is served by one function.
pub(crate) struct Engine {
    handler: Handler,
    connections: AtomicUsize,
    tasks: std::sync::Mutex<JoinSet<()>>,
}

impl Engine {
    /// `serve` gets each connection that the proxy opens.
    pub(crate) fn new<F>(serve: impl Fn(DuplexStream) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Arc::new(Self {
            handler: Arc::new(move |socket| Box::pin(serve(socket))),
            connections: AtomicUsize::new(0),
            tasks: std::sync::Mutex::default(),
        })
    }

    /// Connections opened so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

struct Nowhere;

impl Connector for Nowhere {
    fn connect(&self) -> Connecting {
        Box::pin(async { Err(std::io::ErrorKind::ConnectionRefused.into()) })
    }

    fn authority(&self) -> &str {
        "engine.test:8000"
    }
}

/// The way to an engine.
pub(crate) struct ToEngine(pub(crate) Arc<Engine>);

impl Connector for ToEngine {
    fn connect(&self) -> Connecting {
        let engine = Arc::clone(&self.0);
        Box::pin(async move {
            engine.connections.fetch_add(1, Ordering::SeqCst);
            let (ours, theirs) = duplex(PIPE);
            engine.tasks.lock().unwrap().spawn((engine.handler)(theirs));
            Ok(Box::new(ours) as Box<dyn Socket>)
        })
    }

    fn authority(&self) -> &str {
        "engine.test:8000"
    }
}

/// A proxy under test.
pub(crate) struct House {
    pub(crate) proxy: Proxy,
    pub(crate) records: mpsc::Receiver<Record>,
}

impl House {
    /// A proxy in front of `engine`, with the settings of `yaml` (indented ones belong to `upstream`).
    pub(crate) fn new(engine: &Arc<Engine>, yaml: &str) -> Self {
        Self::with(Arc::new(ToEngine(Arc::clone(engine))), yaml)
    }

    /// A proxy in front of nothing.
    pub(crate) fn unreachable() -> Self {
        Self::with(Arc::new(Nowhere), "")
    }

    /// A proxy in front of what `connector` leads to.
    pub(crate) fn with(connector: Arc<dyn Connector>, yaml: &str) -> Self {
        let environment = config::Environment::of::<String, String>([]);
        let file = format!("upstream:\n  url: http://127.0.0.1:1\n{yaml}");
        let effective = config::check(&config::Sources {
            file: Some(config::FileText {
                name: "test.yaml",
                text: &file,
            }),
            environment: &environment,
            flags: &[],
        })
        .unwrap_or_else(|faults| panic!("{faults}"));
        let (feed, records) = mpsc::channel(4096);
        let parts = Parts {
            connectors: vec![connector],
            clock: Clock::start(),
            config_view: String::new(),
            feed: Some(feed),
        };
        let proxy =
            Proxy::new(&effective.checked, parts).expect("a checked configuration is accepted");
        Self { proxy, records }
    }

    /// A new client connection, with a pipe of `bytes` towards the client.
    pub(crate) fn client_with(&self, bytes: usize) -> DuplexStream {
        let (client, server) = duplex(bytes);
        self.proxy.serve(Box::new(server));
        client
    }

    pub(crate) fn client(&self) -> DuplexStream {
        self.client_with(PIPE)
    }

    /// The next record; fails if none comes within a (virtual) minute.
    pub(crate) async fn record(&mut self) -> Record {
        let record = tokio::time::timeout(Duration::from_secs(60), self.records.recv()).await;
        record.expect("a record comes").expect("the proxy runs")
    }

    /// No further record comes, and nothing is in flight.
    pub(crate) async fn is_quiet(&mut self) {
        let more = tokio::time::timeout(Duration::from_secs(1), self.records.recv()).await;
        assert!(
            more.is_err(),
            "one record an exchange, but there is another: {more:?}"
        );
        assert_eq!(
            (
                self.proxy.in_flight().prefill(),
                self.proxy.in_flight().decode()
            ),
            (0, 0)
        );
    }

    pub(crate) async fn close(&self, limit: Duration) -> Drained {
        self.proxy.close(limit).await
    }
}

/// A streamed chat request.
pub(crate) fn chat_request() -> String {
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}"#;
    request("/v1/chat/completions", body)
}

pub(crate) fn request(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: front.test\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// One chunk of a chunked body.
pub(crate) fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

pub(crate) const STREAM_HEAD: &str = "HTTP/1.1 200 OK\r\ndate: Mon, 30 Nov 2026 00:00:00 GMT\r\nserver: uvicorn\r\n\
     content-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A vLLM chat event with `text`.
pub(crate) fn event(text: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text:?}}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
    )
}

/// The last content-free event, with its finish reason.
pub(crate) fn finish() -> String {
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
     \"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n"
        .to_owned()
}

/// Reads one request, head and body; `None` at the end of the connection.
pub(crate) async fn read_request(socket: &mut DuplexStream) -> Option<String> {
    let head = read_head(socket).await?;
    if header(&head, "transfer-encoding").is_some() {
        return Some(head + &read_stream(socket).await);
    }
    let length = header(&head, "content-length")
        .and_then(|length| length.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    Some(head + &String::from_utf8(body).expect("the tests' bodies are text"))
}

/// Reads a head, blank line included.
pub(crate) async fn read_head(socket: &mut DuplexStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.ok()?);
    }
    Some(String::from_utf8(head).expect("the tests' heads are text"))
}

/// The value of a field of a head.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// Everything until the end of the connection.
pub(crate) async fn read_all(socket: &mut DuplexStream) -> String {
    let mut all = Vec::new();
    let _ = socket.read_to_end(&mut all).await;
    String::from_utf8(all).expect("the tests' bodies are text")
}

/// Everything until the last chunk of a chunked body.
pub(crate) async fn read_stream(socket: &mut DuplexStream) -> String {
    let mut all = Vec::new();
    let mut buf = [0; 4096];
    while !all.ends_with(b"0\r\n\r\n") {
        let got = socket.read(&mut buf).await.expect("the stream is readable");
        assert_ne!(got, 0, "the stream ended before its last chunk");
        all.extend_from_slice(&buf[..got]);
    }
    String::from_utf8(all).expect("the tests' bodies are text")
}

/// A chunked body's data, and whether its last chunk came.
pub(crate) fn dechunk(body: &str) -> (String, bool) {
    let mut data = String::new();
    let mut rest = body;
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        if size == 0 {
            return (data, true);
        }
        let Some(piece) = after.get(..size) else {
            return (data + after, false);
        };
        data.push_str(piece);
        rest = after[size..].strip_prefix("\r\n").unwrap_or("");
    }
    (data, false)
}

pub(crate) async fn write(socket: &mut DuplexStream, bytes: &str) {
    socket
        .write_all(bytes.as_bytes())
        .await
        .expect("the other end reads");
}

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) async fn pause(ms: u32) {
    tokio::time::sleep(MS * ms).await;
}
