//! The table: every key with its kind, range, default and description.
//!
//! Nothing else in the program names a default or a range. A new key is a row here, a field in [`crate::Checked`] and a
//! line in `check`; file, variable, `--set`, schema, reference and printed configuration follow.

use std::net::SocketAddr;
use std::time::Duration;

use crate::checked::{
    Accumulation, EngineAt, EngineProtocol, HalfClose, Level, Listen, LogFormat, Scheme, Upgrades,
    Usage,
};
use crate::key::{AnyKey, Key, KeyDoc};
use crate::kind::{
    ACCUMULATIONS, Address, Auto, Choice, Count, ENGINE_KINDS, ENGINE_PROTOCOLS, EngineUrl,
    FileOrNone, HALF_CLOSES, LEVELS, LOG_FORMATS, Label, List, ListenText, ModelName, Order,
    RouteText, ServerName, Size, TOGGLE, Time, TimeOrOff, UPGRADES, USAGES,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MILLISECOND: Duration = Duration::from_millis(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Sections of the file and what each is about; the top level is the empty name.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("", "Where clients connect, and to what."),
    (
        "admin",
        "Metrics, probes and status, on a listener of their own.",
    ),
    (
        "tls",
        "TLS 1.2 and 1.3 for clients, by HTTP/2 or HTTP/1.1. Without a certificate they connect without TLS. The files are \
         PEM, and are looked at every 5 s and on SIGHUP: new ones are served with at once, and the old ones are kept where \
         the new ones are faulty.",
    ),
    ("upstream", "The engine and how to reach it."),
    (
        "upstream.tls",
        "TLS to an engine at `https://`. The files are PEM, and are read once.",
    ),
    (
        "engine",
        "What the engine is, and how it says things that the protocols leave open. It is asked, beside the traffic; where it \
         does not say, say it here.",
    ),
    (
        "models",
        "Values of the label `model`; every other name counts as `other`.",
    ),
    (
        "shape",
        "Edges of the labels `input_len`, `output_len` and `concurrency`, both ends included.",
    ),
    (
        "slo",
        "Latency targets. Each becomes an edge of its histogram, so that the share within it is exact.",
    ),
    (
        "limits",
        "What one client or one exchange may take. Each limit that is reached is counted by name.",
    ),
    ("drain", "How the process stops after SIGTERM."),
    ("log", "Log lines on standard error."),
];

/// Every key, in the order of the file.
pub fn keys() -> impl Iterator<Item = KeyDoc> {
    TABLE.iter().map(|key| key.doc())
}

/// Declares a static for each row, and the table of them all.
macro_rules! table {
    ($($name:ident: $kind:ty = $key:expr;)*) => {
        $(pub(crate) static $name: Key<$kind> = $key;)*

        /// Every key, in the order of the file.
        pub(crate) static TABLE: &[&dyn AnyKey] = &[$(&$name),*];
    };
}

table! {
    LISTEN: ListenText = Key::new("listen", ListenText, || vec![Listen::Tcp(loopback(8080))])
        .flag("--listen")
        .doc("Where clients connect. For an engine of several ports a range of up to 16, `0.0.0.0:8000-8003`: each leads to one of them, in \
              their order. Port 0 lets the system choose one for each; `[::]` takes connections of both IP versions. A Unix \
              socket is made with mode 0600, and removed at the end.");

    HALF_CLOSE: Choice<HalfClose> = Key::new("half_close", HALF_CLOSES, || HalfClose::Abort)
        .doc("What it means that a client of HTTP/1.1 ends its side while it is owed an answer. `abort`: it has gone, and the \
              engine is told. `serve`: it gets its answer; that it has gone is then seen by writing to it only.");
    ALLOW_UPGRADE: Choice<Upgrades> = Key::new("allow_upgrade", UPGRADES, || Upgrades::None)
        .flag("--allow-upgrade")
        .doc("What a client of HTTP/1.1 may switch to. `websocket`: what both sides say then passes unread and unmeasured, \
              until one ends it or nothing was said for ten minutes. `none`: such a request is served as if it had not asked.");
    ROUTES: List<RouteText> = Key::new("routes", ROUTE_TEXTS, Vec::new)
        .flag("--route")
        .doc("Paths of your own that are served as a known route, so that their answers are read. `*` stands for one segment.");

    ADMIN_LISTEN: Address = Key::new("admin.listen", Address, || loopback(9464))
        .flag("--admin-listen")
        .doc("Where metrics, probes and status are served.");

    TLS_CERTIFICATE: FileOrNone = Key::new("tls.certificate", FileOrNone, || None)
        .doc("The certificate that clients are shown, and after it those between it and its authority.");
    TLS_KEY: FileOrNone = Key::new("tls.key", FileOrNone, || None)
        .doc("The certificate's key, not encrypted.");
    TLS_CLIENT_CA: FileOrNone = Key::new("tls.client_ca", FileOrNone, || None)
        .doc("Certificates of authorities: only clients with a certificate that one of them signed may connect.");

    UPSTREAM_URL: EngineUrl = Key::required("upstream.url", EngineUrl, no_engine)
        .flag("--upstream")
        .doc("The engine. The port must be given; a path and credentials are refused. An engine with a port for each \
              data-parallel rank: `http://127.0.0.1:8200-8203`, and as many ports in `listen`; each is measured for itself. A name is looked up at each new \
              connection, and its addresses are tried in order. A static binary of glibc resolves names only where the system has glibc's own \
              resolver; without it, give an address.");
    UPSTREAM_PROTOCOL: Choice<EngineProtocol> = Key::new("upstream.protocol", ENGINE_PROTOCOLS, || EngineProtocol::Auto)
        .doc("What is spoken to the engine. `auto`: gRPC goes by HTTP/2 with prior knowledge, everything else by HTTP/1.1. By TLS it \
              is agreed on in the handshake.");
    UPSTREAM_CONNECT_TIMEOUT: Time = Key::new("upstream.connect_timeout", time(MILLISECOND, MINUTE), || seconds(2))
        .doc("Longest wait for a connection to the engine; then the client gets 502.");
    UPSTREAM_IDLE_TIMEOUT: Time = Key::new("upstream.idle_timeout", time(MILLISECOND, HOUR), || seconds(3))
        .doc("How long an idle connection to the engine is kept. Keep it below the engine's own keep-alive, which is 5s \
              for engines that run on uvicorn.");
    UPSTREAM_MAX_IDLE: Count = Key::new("upstream.max_idle", count(0, 65_536), || 256)
        .doc("Most idle connections that are kept, to each of the engine's ports.");
    UPSTREAM_TTFT_TIMEOUT: TimeOrOff = Key::new("upstream.ttft_timeout", TimeOrOff(time(MILLISECOND, DAY)), || None)
        .doc("Longest wait for the first token; then the client gets 504. A request that the engine queues is silent for as \
              long as the queue lasts.");
    UPSTREAM_SILENCE_TIMEOUT: TimeOrOff = Key::new("upstream.silence_timeout", TimeOrOff(time(MILLISECOND, DAY)), || None)
        .doc("Longest silence of the engine between tokens; then the answer is cut.");

    UPSTREAM_TLS_CA: FileOrNone = Key::new("upstream.tls.ca", FileOrNone, || None)
        .doc("Certificates of authorities that may have signed the engine's. `none`: those that the system trusts; an image \
              without any needs the file.");
    UPSTREAM_TLS_SERVER_NAME: Auto<ServerName> = Key::new("upstream.tls.server_name", Auto(ServerName), || None)
        .doc("The name that the engine's certificate has to hold. `auto`: the host of `upstream.url`.");
    UPSTREAM_TLS_CERTIFICATE: FileOrNone = Key::new("upstream.tls.certificate", FileOrNone, || None)
        .doc("A certificate for an engine that asks for one.");
    UPSTREAM_TLS_KEY: FileOrNone = Key::new("upstream.tls.key", FileOrNone, || None)
        .doc("That certificate's key, not encrypted.");

    ENGINE_PROBE: Choice<bool> = Key::new("engine.probe", TOGGLE, || true)
        .doc("Whether the engine is asked who it is: at the start, when it has come back, and every 5 minutes. The routes that \
              it does not have answer 404 once.");
    ENGINE_SCRAPE_INTERVAL: TimeOrOff = Key::new("engine.scrape_interval", TimeOrOff(time(MILLISECOND.saturating_mul(100), HOUR)), || Some(seconds(1)))
        .doc("How often the engine's own metrics are read, for the load that a request meets there.");
    ENGINE_KIND: Choice<Option<&'static str>> = Key::new("engine.kind", ENGINE_KINDS, || None)
        .doc("What answers at `upstream.url`. `auto`: it is found out.");
    ENGINE_VERSION: Auto<Label> = Key::new("engine.version", Auto(Label), || None)
        .doc("Its version.");
    ENGINE_MODEL: Auto<Label> = Key::new("engine.model", Auto(Label), || None)
        .doc("The model that it serves.");
    ENGINE_PRECISION: Auto<Label> = Key::new("engine.precision", Auto(Label), || None)
        .doc("Precision of weights and KV cache, such as `weights=bfloat16,quant=fp8,kv=fp8_e4m3`.");
    ENGINE_MAX_MODEL_LEN: Auto<Count> = Key::new("engine.max_model_len", Auto(count(1, 1_000_000_000)), || None)
        .doc("Most tokens of prompt and answer together.");
    ENGINE_USAGE: Choice<Usage> = Key::new("engine.usage", USAGES, || Usage::Observe)
        .doc("`inject`: streams of `/v1/completions` and `/v1/chat/completions` that say nothing of usage are made to ask for \
              it, and it is taken out of the client's answer again. Only where the engine's habits are known and its answers lack \
              usage. `observe`: no byte is changed.");
    ENGINE_TEXT: Choice<Option<Accumulation>> = Key::new("engine.text", ACCUMULATIONS, || None)
        .doc("What the text of an event is at Triton's `generate_stream` and SGLang's `/generate`: what is new, or all so far. \
              `auto`: it is found out while an answer comes.");
    ENGINE_NUM_OUTPUT_TOKENS: Choice<Option<Accumulation>> = Key::new("engine.num_output_tokens", ACCUMULATIONS, || None)
        .doc("What Triton's `num_output_tokens` counts, which its model decides. `auto`: it counts nothing, except in an answer \
              that states it once.");

    MODELS_NAMES: List<ModelName> = Key::new("models.names", MODEL_NAMES, Vec::new)
        .flag("--model")
        .doc("Model names that may become label values.");
    MODELS_LEARN: Choice<bool> = Key::new("models.learn", TOGGLE, || true)
        .doc("Whether names are also learned from the engine's list at `/v1/models`.");

    SHAPE_INPUT_LEN: List<Count> = Key::new("shape.input_len", EDGES, || vec![256, 1024, 4096, 16_384])
        .doc("Edges of the input length, tokens.");
    SHAPE_OUTPUT_LEN: List<Count> = Key::new("shape.output_len", EDGES, || vec![32, 256, 1024])
        .doc("Edges of the output length, tokens.");
    SHAPE_CONCURRENCY: List<Count> = Key::new("shape.concurrency", EDGES, || vec![1, 4, 16, 64])
        .doc("Edges of the concurrency, exchanges in flight at arrival.");
    SHAPE_MAX_CELLS: Count = Key::new("shape.max_cells", count(1, 5000), || 48)
        .doc("Most combinations of the three labels in one metric family, for each of the engine's ports; what comes after \
              counts as `overflow`.");

    SLO_TTFT: List<Time> = Key::new("slo.ttft", TARGETS, Vec::new)
        .doc("Targets for the time to first token.");
    SLO_TPOT: List<Time> = Key::new("slo.tpot", TARGETS, Vec::new)
        .doc("Targets for the time per output token.");
    SLO_E2E: List<Time> = Key::new("slo.e2e", TARGETS, Vec::new)
        .doc("Targets for the whole request.");

    LIMITS_CONNECTIONS: Count = Key::new("limits.connections", count(1, 1_000_000), || 4096)
        .doc("Client connections open at once, on all ports together; then 503. Above nine tenths of it, each new one closes the one that \
              has been idle for longest. Where the process may open too few files for as many, fewer are served, and the log says so.");
    LIMITS_TLS_HANDSHAKE: Time = Key::new("limits.tls_handshake", time(MILLISECOND, HOUR), || seconds(10))
        .doc("From the begin of a connection to the end of its TLS handshake; then it is closed.");
    LIMITS_HEAD_BYTES: Size = Key::new("limits.head_bytes", size(KIB, MIB), || 32 * KIB)
        .doc("Head of a request; then 431.");
    LIMITS_HEAD_FIELDS: Count = Key::new("limits.head_fields", count(8, 1000), || 100)
        .doc("Header fields of a request; then 431.");
    LIMITS_HEAD_TIMEOUT: Time = Key::new("limits.head_timeout", time(MILLISECOND, HOUR), || seconds(10))
        .doc("From the first byte of a head to its last; then 408.");
    LIMITS_BODY_BYTES: Size = Key::new("limits.body_bytes", size(KIB, 64 * GIB), || 512 * MIB)
        .doc("Body of a request; then 413. In a call of Triton's `ModelStreamInfer`, each of its requests.");
    LIMITS_BODY_PAUSE: Time = Key::new("limits.body_pause", time(MILLISECOND, HOUR), || seconds(60))
        .doc("How long no byte of a request's body may come; then 408. gRPC is exempt.");
    LIMITS_BODY_RATE: Size = Key::new("limits.body_rate", size(0, GIB), || KIB)
        .doc("Bytes a second at which a request's body must come, over each minute that it is waited for; then 408. 0 for no \
              limit; gRPC is exempt.");
    LIMITS_CLIENT_IDLE: Time = Key::new("limits.client_idle", time(MILLISECOND, HOUR), || seconds(65))
        .doc("Silence of a client between requests; then its connection is closed.");
    LIMITS_CLIENT_WRITE: Time = Key::new("limits.client_write", time(MILLISECOND, HOUR), || seconds(30))
        .doc("How long a client may take no byte while some wait for it; then it is dropped and the engine is told.");
    LIMITS_CLIENT_RATE: Size = Key::new("limits.client_rate", size(0, GIB), || 256)
        .doc("Bytes a second that a client must take, over each minute in which some wait for it; then it is dropped and the \
              engine is told. 0 for no limit.");
    LIMITS_HTTP2_CONTROL_FRAMES: Count = Key::new("limits.http2_control_frames", count(100, 1_000_000), || 1000)
        .doc("Frames a second on a client's connection of HTTP/2 that carry no request, and as many at once; then it is closed. \
              Window updates that answers call for are not counted.");
    LIMITS_HTTP2_NEW_STREAMS: Count = Key::new("limits.http2_new_streams", count(1, 1_000_000), || 100)
        .doc("Requests a second on a client's connection of HTTP/2, and as many at once; what comes above that is refused.");
    LIMITS_QUEUE_BYTES: Size = Key::new("limits.queue_bytes", size(4 * KIB, GIB), || 256 * KIB)
        .doc("Queue from engine to client that every exchange has of its own.");
    LIMITS_QUEUE_BYTES_MAX: Size = Key::new("limits.queue_bytes_max", size(4 * KIB, GIB), || 8 * MIB)
        .doc("Most that one exchange may queue; then the engine is not read until the client has caught up.");
    LIMITS_QUEUE_BYTES_TOTAL: Size = Key::new("limits.queue_bytes_total", size(4 * KIB, GIB), || 64 * MIB)
        .doc("What all exchanges may queue together beyond their own queues.");

    DRAIN_DELAY: Time = Key::new("drain.delay", time(Duration::ZERO, HOUR), || seconds(15))
        .doc("After SIGTERM: not ready, but still accepting, until the last balancer has taken note.");
    DRAIN_TIMEOUT: Time = Key::new("drain.timeout", time(Duration::ZERO, DAY), || seconds(600))
        .doc("Then: how long exchanges in flight may take to end before they are cut.");

    LOG_LEVEL: Choice<Level> = Key::new("log.level", LEVELS, || Level::Info)
        .flag("--log-level")
        .doc("Least severe level that is written.");
    LOG_FORMAT: Choice<LogFormat> = Key::new("log.format", LOG_FORMATS, || LogFormat::Text)
        .flag("--log-format")
        .doc("Form of a line.");
}

const MODEL_NAMES: List<ModelName> = List {
    item: ModelName,
    least: 0,
    most: 64,
    order: Order::Distinct,
};

const ROUTE_TEXTS: List<RouteText> = List {
    item: RouteText,
    least: 0,
    most: 64,
    order: Order::Distinct,
};

const EDGES: List<Count> = List {
    item: count(1, 1_000_000_000),
    least: 1,
    most: 16,
    order: Order::Ascending,
};

const TARGETS: List<Time> = List {
    item: time(Duration::from_micros(100), HOUR),
    least: 0,
    most: 8,
    order: Order::Ascending,
};

const fn time(least: Duration, most: Duration) -> Time {
    Time { least, most }
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

const fn size(least: u64, most: u64) -> Size {
    Size { least, most }
}

const fn count(least: u64, most: u64) -> Count {
    Count { least, most }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn no_engine() -> Vec<EngineAt> {
    vec![EngineAt::Tcp {
        scheme: Scheme::Http,
        host: String::new(),
        port: 0,
    }]
}
