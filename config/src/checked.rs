//! The configuration after every check: what the rest of the program may rely on.
//!
//! Built only by [`crate::check()`]; every value is in its range, every duration is a [`Duration`], every default is in.

use crate::kind::{Route, unix_path};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Everything `loadproof proxy` needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Where clients connect: one place for each of the engine's ports, in their order. Key `listen`, default
    /// `127.0.0.1:8080`.
    pub listen: Vec<Listen>,
    /// Where metrics and status are served. Key `admin.listen`, default `127.0.0.1:9464`.
    pub admin: SocketAddr,
    /// What the end of a client's side means: `half_close`, default `abort`.
    pub half_close: HalfClose,
    /// What a client may switch to: `allow_upgrade`, default none.
    pub allow_upgrade: Upgrades,
    /// Paths that are served as a route of another name: `routes`, default none.
    pub routes: Vec<Route>,
    /// TLS for clients; `None`, the default, is none.
    pub tls: Option<Tls>,
    /// How to reach the engine.
    pub upstream: Upstream,
    /// What the engine is, what it is asked of itself, and how it says things.
    pub engine: Engine,
    /// Values of the label `model`.
    pub models: Models,
    /// Edges of the shape labels.
    pub shape: Shape,
    /// Targets; each becomes a histogram edge.
    pub slo: Slo,
    /// Bounds on what one client or one exchange may take.
    pub limits: Limits,
    /// How to stop.
    pub drain: Drain,
    /// Logging.
    pub log: Log,
}

/// What a client of HTTP/1.1 may switch to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrades {
    /// Nothing: it is served as if it had not asked.
    None,
    /// RFC 6455.
    Websocket,
}

/// What it means that a client of HTTP/1.1 ends its side while it is owed an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfClose {
    /// It has gone.
    Abort,
    /// It wants its answer.
    Serve,
}

/// A place where clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// By TCP. `::` takes connections of both versions.
    Tcp(SocketAddr),
    /// A Unix socket of ours, absolute.
    Unix(PathBuf),
}

/// Where the engine listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineAt {
    /// `http://HOST:PORT` or `https://HOST:PORT`
    Tcp {
        /// Which of the two.
        scheme: Scheme,
        /// Name or address; one of version 6 stands without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// Its Unix socket, absolute: `unix:/PATH`.
    Unix(PathBuf),
}

/// Whether the engine is spoken to by TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Without.
    Http,
    /// By TLS.
    Https,
}

/// TLS for clients. The files are PEM, and are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate, and those between it and its authority: `tls.certificate`.
    pub certificate: PathBuf,
    /// Its key: `tls.key`.
    pub key: PathBuf,
    /// Authorities one of which must have signed a client's certificate: `tls.client_ca`; `None` asks for none.
    pub client_ca: Option<PathBuf>,
}

/// TLS to the engine, where it is spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineTls {
    /// Authorities that the engine's certificate may be signed by: `upstream.tls.ca`; `None` is those of the system.
    pub ca: Option<PathBuf>,
    /// The name that the certificate has to hold: `upstream.tls.server_name`; `None` is the host of the URL.
    pub server_name: Option<String>,
    /// What we show when we are asked who we are.
    pub identity: Option<Identity>,
}

/// A certificate and its key, in PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `upstream.tls.certificate`
    pub certificate: PathBuf,
    /// `upstream.tls.key`
    pub key: PathBuf,
}

/// The engine and how to reach it.
#[derive(Debug, Clone, PartialEq)]
pub struct Upstream {
    /// Where it is, one place for each of its ports, of which it has at least one: `upstream.url`.
    pub at: Vec<EngineAt>,
    /// What is spoken to it: `upstream.protocol`, default `auto`.
    pub protocol: EngineProtocol,
    /// `upstream.connect_timeout`, default 2 s.
    pub connect_timeout: Duration,
    /// How long an idle connection to the engine is kept: `upstream.idle_timeout`, default 3 s, below uvicorn's 5 s.
    pub idle_timeout: Duration,
    /// Most idle connections kept: `upstream.max_idle`, default 256.
    pub max_idle: usize,
    /// Time to first token after which the exchange is cut with 504: `upstream.ttft_timeout`, default off.
    pub ttft_timeout: Option<Duration>,
    /// Silence of the engine mid-stream after which the exchange is cut: `upstream.silence_timeout`, default off.
    pub silence_timeout: Option<Duration>,
    /// How TLS is spoken to it, where it is.
    pub tls: EngineTls,
}

/// What is spoken to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineProtocol {
    /// gRPC by HTTP/2, everything else by HTTP/1.1.
    Auto,
    /// HTTP/1.1 always.
    Http1,
    /// HTTP/2 with prior knowledge always.
    Http2,
}

/// What the engine is, what it is asked of itself, and how it says things that the protocols leave open. Where the operator
/// says what it is, his word holds against the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// Ask it who it is: `engine.probe`, default true.
    pub probe: bool,
    /// How often its metrics are read: `engine.scrape_interval`, default 1 s.
    pub scrape_interval: Option<Duration>,
    /// `engine.kind`; `None`, the default, is found out. One of the words of that key.
    pub kind: Option<&'static str>,
    /// `engine.version`
    pub version: Option<String>,
    /// `engine.model`
    pub model: Option<String>,
    /// `engine.precision`
    pub precision: Option<String>,
    /// Tokens: `engine.max_model_len`.
    pub max_model_len: Option<u64>,
    /// `engine.usage`, default `observe`.
    pub usage: Usage,
    /// What the text of an event is, where the deployment decides it: `engine.text`; `None`, the default, is found out.
    pub text: Option<Accumulation>,
    /// What Triton's `num_output_tokens` counts: `engine.num_output_tokens`; `None`, the default, counts nothing.
    pub num_output_tokens: Option<Accumulation>,
}

/// What to do about the usage that a stream does not ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Nothing: not a byte of the request is changed.
    Observe,
    /// Ask for it on the client's behalf, and take it out of the answer again.
    Inject,
}

/// What an event states of something that grows while an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulation {
    /// What is new.
    Delta,
    /// All so far.
    Cumulative,
}

/// Which model names may become label values.
#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    /// `models.names`: at most 64, each at most 128 bytes.
    pub names: Vec<String>,
    /// Learn names from the engine's `GET /v1/models`: `models.learn`, default true.
    pub learn: bool,
}

/// Inclusive upper edges of the shape labels, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// `shape.input_len`, tokens, default 256, 1024, 4096, 16384.
    pub input_len: Vec<u64>,
    /// `shape.output_len`, tokens, default 32, 256, 1024.
    pub output_len: Vec<u64>,
    /// `shape.concurrency`, exchanges in flight at arrival, default 1, 4, 16, 64.
    pub concurrency: Vec<u64>,
    /// Most joint cells per metric family, then `overflow`: `shape.max_cells`, default 48.
    pub max_cells: usize,
}

/// Latency targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slo {
    /// `slo.ttft`, list of durations, ascending.
    pub ttft: Vec<Duration>,
    /// `slo.tpot`, list of durations, ascending.
    pub tpot: Vec<Duration>,
    /// `slo.e2e`, list of durations, ascending.
    pub e2e: Vec<Duration>,
}

/// Bounds. Every one that bites is counted by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Client connections: `limits.connections`, default 4096.
    pub connections: usize,
    /// A connection's TLS handshake: `limits.tls_handshake`, default 10 s.
    pub tls_handshake: Duration,
    /// Request head: `limits.head_bytes`, default 32 KiB.
    pub head_bytes: usize,
    /// Fields of a request head: `limits.head_fields`, default 100.
    pub head_fields: usize,
    /// Time from the first byte of a head to its last: `limits.head_timeout`, default 10 s.
    pub head_timeout: Duration,
    /// Request body: `limits.body_bytes`, default 512 MiB.
    pub body_bytes: u64,
    /// No byte of a request's body: `limits.body_pause`, default 60 s.
    pub body_pause: Duration,
    /// Bytes a second of a request's body, over a minute; 0 is any: `limits.body_rate`, default 1 KiB.
    pub body_rate: u64,
    /// Client silent between requests: `limits.client_idle`, default 65 s.
    pub client_idle: Duration,
    /// Client takes no byte while some wait: `limits.client_write`, default 30 s.
    pub client_write: Duration,
    /// Bytes a second that a client takes while some wait, over a minute; 0 is any: `limits.client_rate`, default 256.
    pub client_rate: u64,
    /// Frames a second on a connection of HTTP/2 that carry no request: `limits.http2_control_frames`, default 1000.
    pub http2_control_frames: u32,
    /// Requests a second on a connection of HTTP/2: `limits.http2_new_streams`, default 100.
    pub http2_new_streams: u32,
    /// Queue from engine to client that every exchange has of its own: `limits.queue_bytes`, default 256 KiB.
    pub queue_bytes: usize,
    /// Most that one exchange may queue: `limits.queue_bytes_max`, default 8 MiB.
    pub queue_bytes_max: usize,
    /// Shared by all exchanges beyond their own: `limits.queue_bytes_total`, default 64 MiB.
    pub queue_bytes_total: usize,
}

/// How the process stops.
#[derive(Debug, Clone, PartialEq)]
pub struct Drain {
    /// Accept on, not ready, for this long after SIGTERM: `drain.delay`, default 15 s.
    pub delay: Duration,
    /// Then wait for exchanges in flight at most this long: `drain.timeout`, default 600 s.
    pub timeout: Duration,
}

/// Logging to standard error.
#[derive(Debug, Clone, PartialEq)]
pub struct Log {
    /// `log.level`: `error`, `warn`, `info` (default), `debug`, `trace`.
    pub level: Level,
    /// `log.format`: `text` (default) or `json`.
    pub format: LogFormat,
}

/// Least severe level that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Errors.
    Error,
    /// And warnings.
    Warn,
    /// And what an operator wants to know.
    Info,
    /// And what a developer wants to know.
    Debug,
    /// And everything.
    Trace,
}

/// Form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

// --------------------------------------------------------------------------------------------------------- Listen

impl Listen {
    /// Address and port, where it is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Whether its port is not known before it is opened.
    pub(crate) fn is_chosen_by_the_system(&self) -> bool {
        self.address().is_some_and(|address| address.port() == 0)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => f.write_str(&unix_path::show(path)),
        }
    }
}

// ------------------------------------------------------------------------------------------------------- EngineAt

impl EngineAt {
    /// Its port, where it has one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp { port, .. } => Some(*port),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for EngineAt {
    /// As `upstream.url` would be written for this place alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { scheme, host, port } => {
                let (open, close) = if host.contains(':') {
                    ("[", "]")
                } else {
                    ("", "")
                };
                write!(f, "{}://{open}{host}{close}:{port}", scheme.as_str())
            }
            Self::Unix(path) => f.write_str(&unix_path::show(path)),
        }
    }
}

// --------------------------------------------------------------------------------------------------------- Scheme

impl Scheme {
    /// As it stands in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}
