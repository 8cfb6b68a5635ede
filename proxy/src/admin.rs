//! The admin listener: what we know, for Prometheus, for probes and for people. Never on the serving port.
//!
//! It only reads. "Now" is the stamp of the read that brought the request, so that no clock is read here.

use crate::accepted::{Accepted, Tally};
use crate::connection::ConnectionLimits;
use crate::driven::{Driven, Side};
use crate::phase::{Phase, PhaseCell};
use crate::rank::Ranks;
use crate::tasks::Tasks;
use bytes::Bytes;
use config::{HalfClose, Upgrades};
use exporter::{Ports, negotiate};
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use measure::Nanos;
use serde::Serialize;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use upstream::{Clock, Socket, Transport};

/// A client of this listener that takes or sends nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nobody but the operator and Prometheus comes here, by HTTP/1 alone.
const LIMITS: ConnectionLimits = ConnectionLimits {
    head_bytes: 32 * 1024,
    head_fields: 100,
    head_timeout: PATIENCE,
    client_idle: PATIENCE,
    half_close: HalfClose::Abort,
    allow_upgrade: Upgrades::None,
    client_write: PATIENCE,
    client_rate: 0,
    control_frames: 0,
    new_streams: 0,
};

const INDEX: &str = "\
loadproof admin
/metrics     Prometheus: protobuf with native histograms, OpenMetrics or text, by Accept
/live        exchanges in flight, and tasks, JSON
/engine      what is known of the engine, JSON; a list where it has several ports
/config      the configuration in force, JSON, secrets masked
/-/started   200 once listening
/-/ready     200 while taking traffic, 503 from the signal to stop
/-/healthy   200 until the end
";

/// What the admin listener can answer from.
pub(crate) struct Admin {
    pub(crate) ranks: Ranks,
    pub(crate) phase: PhaseCell,
    ports: Ports,
    tasks: Tasks,
    /// Held while metrics are written.
    scrape: Mutex<()>,
    /// The configuration in force, as JSON.
    config: String,
}

/// One exchange in flight, as `/live` shows it. Times in seconds, ages as of the request.
#[derive(Serialize)]
struct LiveRow {
    id: u64,
    /// Which of the engine's ports, unless it is a Unix socket.
    engine_port: Option<u16>,
    endpoint: &'static str,
    age_seconds: f64,
    concurrency_at_arrival: u32,
    phase: &'static str,
    ttft_seconds: Option<f64>,
    silent_seconds: Option<f64>,
    /// A lower bound where events do not state their count.
    output_tokens_at_least: u64,
    response_bytes: u64,
}

#[derive(Serialize)]
struct LiveTable {
    in_flight: usize,
    tasks: TaskCounts,
    exchanges: Vec<LiveRow>,
}

/// Tasks of the process: one for each connection of a client and each of its HTTP/2 streams; and those beside the traffic,
/// one for each connection of this listener among them.
#[derive(Serialize)]
struct TaskCounts {
    traffic: usize,
    services: usize,
}

impl Admin {
    pub(crate) fn new(ranks: Ranks, tasks: Tasks, config: String) -> Self {
        let ports = ranks.iter().map(|rank| {
            let port = rank.at.port().unwrap_or_default();
            (port.to_string(), Arc::clone(&rank.exporter))
        });
        Self {
            ports: Ports::new(ports),
            ranks,
            phase: PhaseCell::new(),
            tasks,
            scrape: Mutex::new(()),
            config,
        }
    }

    /// Accepts until the task is ended.
    pub(crate) async fn run(self: Arc<Self>, listener: TcpListener, clock: Clock) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let hard_stop = self.tasks.hard_stop().clone();
                    let socket = Accepted::new(
                        Transport::from(Box::new(stream) as Box<dyn Socket>),
                        clock,
                        LIMITS,
                        hard_stop,
                        Arc::new(NoTally),
                    );
                    let served = Driven::new(Arc::clone(&self).connection(socket), &self.tasks);
                    self.tasks.spawn_service(served);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections to the admin port; trying again");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn connection(self: Arc<Self>, socket: Accepted) -> impl Side {
        let client = socket.side();
        let service = service_fn(move |request: Request<Incoming>| {
            let (admin, now) = (Arc::clone(&self), client.last_read());
            async move { Ok::<_, Infallible>(admin.answer(&request, now).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .serve_connection(TokioIo::new(socket), service);
        AdminConnection(Box::pin(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the admin port ended");
            }
        }))
    }

    async fn answer(&self, request: &Request<Incoming>, now: Nanos) -> Response<Full<Bytes>> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut refused = text(
                StatusCode::METHOD_NOT_ALLOWED,
                "this listener only answers GET\n",
            );
            refused
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match request.uri().path() {
            "/" => text(StatusCode::OK, INDEX),
            "/metrics" => self.metrics(request, now).await,
            "/live" => json(serde_json::to_vec(&self.live(now)).unwrap_or_default()),
            "/engine" => json(self.engine(now)),
            "/config" => json(self.config.clone().into_bytes()),
            "/-/healthy" => text(StatusCode::OK, "healthy\n"),
            "/-/started" => condition(
                self.phase.get() != Phase::Starting,
                "started\n",
                "starting\n",
            ),
            "/-/ready" => condition(self.phase.get() == Phase::Serving, "ready\n", "not ready\n"),
            _ => text(StatusCode::NOT_FOUND, INDEX),
        }
    }

    /// One at a time, and whoever else is due comes between two: a storm of scrapes never has all threads at once, nor one
    /// of them for longer than a scrape takes.
    async fn metrics(&self, request: &Request<Incoming>, now: Nanos) -> Response<Full<Bytes>> {
        let _one_at_a_time = self.scrape.lock().await;
        tokio::task::yield_now().await;
        let format = negotiate(
            request
                .headers()
                .get(ACCEPT)
                .and_then(|accept| accept.to_str().ok()),
        );
        let ranks = self.ranks.iter();
        let live = ranks.map(|rank| rank.ledger.gauges(&rank.in_flight, now));
        match self.ports.encode(format, live) {
            Ok(body) => typed(body, format.content_type()),
            Err(error) => {
                tracing::error!(%error, "cannot write the metrics");
                text(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "the metrics could not be written; see the log\n",
                )
            }
        }
    }

    fn engine(&self, now: Nanos) -> Vec<u8> {
        let mut views = self.ranks.iter().map(|rank| rank.portrait.view(now));
        let written = if self.ranks.are_several() {
            serde_json::to_vec(&views.collect::<Vec<_>>())
        } else {
            serde_json::to_vec(&views.next())
        };
        written.unwrap_or_default()
    }

    fn live(&self, now: Nanos) -> LiveTable {
        let ranks = self.ranks.iter();
        let open = ranks.flat_map(|rank| {
            let port = rank.at.port();
            rank.ledger.open().into_iter().map(move |live| (port, live))
        });
        let mut open: Vec<_> = open.collect();
        open.sort_unstable_by_key(|(_, live)| live.id);
        let rows = open.iter().map(|(engine_port, live)| LiveRow {
            id: live.id,
            engine_port: *engine_port,
            endpoint: live.endpoint.as_str(),
            age_seconds: now.since(live.arrival).as_secs_f64(),
            concurrency_at_arrival: live.at_arrival,
            phase: if live.first_token().is_some() {
                "decode"
            } else {
                "prefill"
            },
            ttft_seconds: live
                .first_token()
                .map(|at| at.since(live.arrival).as_secs_f64()),
            silent_seconds: live.last_read().map(|at| now.since(at).as_secs_f64()),
            output_tokens_at_least: live.tokens(),
            response_bytes: live.bytes(),
        });
        LiveTable {
            in_flight: open.len(),
            tasks: TaskCounts {
                traffic: self.tasks.open(),
                services: self.tasks.services(),
            },
            exchanges: rows.collect(),
        }
    }
}

struct AdminConnection(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for AdminConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl Side for AdminConnection {
    /// Probes and scrapes are answered until the very end.
    fn close(self: Pin<&mut Self>) {}
}

struct NoTally;

impl Tally for NoTally {
    fn delays(&self, _delays: &[Nanos]) {}

    fn refused(&self, _code: &'static str) {}
}

fn condition(holds: bool, yes: &'static str, no: &'static str) -> Response<Full<Bytes>> {
    if holds {
        text(StatusCode::OK, yes)
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, no)
    }
}

fn text(status: StatusCode, body: &'static str) -> Response<Full<Bytes>> {
    let mut response = typed(body.as_bytes().to_vec(), "text/plain; charset=utf-8");
    *response.status_mut() = status;
    response
}

fn json(body: Vec<u8>) -> Response<Full<Bytes>> {
    typed(body, "application/json")
}

fn typed(body: Vec<u8>, content_type: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
