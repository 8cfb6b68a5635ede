//! Listen, relay, drain; the admin listener.
//!
//! A [`Proxy`] serves connections: those that its listener accepts, or any socket that is handed to it. Every exchange goes
//! through `upstream`, which measures it; nothing here defines a quantity or knows a file format.

mod accepted;
mod admin;
mod answer;
mod bypass;
mod caller;
mod calls;
mod connection;
mod deadline;
mod driven;
mod expectation;
mod frames;
mod grpc;
mod guard;
mod hop;
mod intake;
mod ledger;
mod lingering;
mod listener;
mod listening;
mod pace;
mod paced_body;
mod phase;
mod portrait;
mod rate;
mod refusal;
mod relay;
mod routes;
mod signals;
mod stalled;
mod tasks;
mod tls;
mod unix_socket;

pub use listening::Listening;
pub use signals::Signals;
pub use tls::TlsFault;

use admin::Admin;
use bypass::Bypass;
use config::{Checked, EngineAt, Listen, Scheme};
use connection::ConnectionLimits;
use exporter::Exporter;
use ledger::Ledger;
use listener::Acceptor;
use measure::{Edges, InFlight, Record, ShapeEdges};
use phase::{Phase, PhaseCell};
use portrait::Portrait;
use relay::Relay;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tasks::Tasks;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use upstream::{
    Budget, Clock, Connector, Habits, Limits, PatienceLimits, PoolLimits, QueueLimits, Socket,
    TcpConnector, UnixConnector, Upstream, UsageInjection,
};

/// Idle connections to the engine are looked through this often.
const EVICT_EVERY: Duration = Duration::from_secs(1);

/// What kept a proxy from running.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A listener could not be opened.
    #[error("cannot listen on {address} ({key})")]
    Listen {
        /// The address in the configuration.
        address: String,
        /// Its key.
        key: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file of TLS can't be used.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// The exporter refused its settings.
    #[error("the metrics could not be set up")]
    Exporter(#[from] exporter::Error),
    /// The shape's edges are not ascending.
    #[error("the shape's edges are wrong")]
    Shape(#[from] measure::EdgesError),
    /// Signals could not be listened for.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

/// A proxy in front of one engine.
pub struct Proxy {
    acceptor: Acceptor,
    admin: Arc<Admin>,
    drain: config::Drain,
    connector: Arc<dyn Connector>,
    bypass: Bypass,
}

/// What a proxy is built with, besides its configuration.
pub struct Parts {
    /// How the engine is reached.
    pub connector: Arc<dyn Connector>,
    /// The process's clock.
    pub clock: Clock,
    /// The configuration as `/config` shows it: JSON.
    pub config_view: String,
    /// Who else gets every record. Bounded: what does not fit is dropped and counted.
    pub feed: Option<mpsc::Sender<Record>>,
}

/// Two listeners, bound.
pub struct Listeners {
    /// For clients.
    pub data: Listening,
    /// For metrics and probes.
    pub admin: TcpListener,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were cut because the limit was reached or a second signal came.
    pub cut: usize,
}

impl Parts {
    /// To the engine that the configuration names.
    ///
    /// # Errors
    /// If a file that TLS to the engine needs can't be used.
    pub fn of(config: &Checked, config_view: String) -> Result<Self, TlsFault> {
        Ok(Self {
            connector: connector(&config.upstream)?,
            clock: Clock::start(),
            config_view,
            feed: None,
        })
    }
}

impl Listeners {
    /// Binds both addresses of the configuration. Call it inside a runtime.
    ///
    /// # Errors
    /// [`Error::Listen`] with the address and its key.
    pub fn bind(config: &Checked) -> Result<Self, Error> {
        let admin = Listen::Tcp(config.admin);
        let failed = |at: &Listen, key| {
            let address = at.to_string();
            move |source| Error::Listen {
                address,
                key,
                source,
            }
        };
        Ok(Self {
            data: Listening::bind(&config.listen).map_err(failed(&config.listen, "listen"))?,
            admin: listening::bind_tcp(config.admin).map_err(failed(&admin, "admin.listen"))?,
        })
    }
}

impl Proxy {
    /// Builds it; nothing runs yet.
    ///
    /// # Errors
    /// If the metrics' settings are refused, or a file of TLS can't be used.
    pub fn new(config: &Checked, parts: Parts) -> Result<Self, Error> {
        let exporter = Arc::new(Exporter::new(exporter_settings(config)?)?);
        let ledger = Arc::new(Ledger::new(Arc::clone(&exporter), parts.feed));
        let in_flight = Arc::new(InFlight::default());
        let habits = habits(&config.engine);
        let usage = habits.usage.clone();
        let portrait = Arc::new(Portrait::new(config, Arc::clone(&exporter), usage));
        let upstream = Upstream::new(
            Arc::clone(&parts.connector),
            parts.clock,
            upstream_limits(config),
            Budget::new(config.limits.queue_bytes_total),
        )
        .with_habits(habits);
        let relay = Relay::new(
            upstream,
            Arc::clone(&ledger),
            Arc::clone(&in_flight),
            Arc::clone(&portrait.told),
            config,
        );
        let acceptor = Acceptor {
            relay: Arc::new(relay),
            tasks: Tasks::default(),
            clock: parts.clock,
            connection: connection_limits(config),
            most_connections: config.limits.connections,
            tls: serving(config)?,
            tls_handshake: config.limits.tls_handshake,
        };
        let phase = Arc::new(PhaseCell::new());
        let admin = Arc::new(Admin {
            exporter,
            ledger,
            in_flight,
            phase,
            portrait,
            config: parts.config_view,
        });
        Ok(Self {
            acceptor,
            admin,
            drain: config.drain.clone(),
            connector: parts.connector,
            bypass: Bypass::new(config),
        })
    }

    /// Serves one connection over any socket, in a task of its own.
    pub fn serve(&self, socket: Box<dyn Socket>) {
        self.acceptor.serve(socket);
    }

    /// Begins to ask the engine about itself, in a task of its own that ends with the process.
    pub fn watch_engine(&self) {
        let Acceptor { tasks, clock, .. } = &self.acceptor;
        let connector = Arc::clone(&self.connector);
        let watch = self.admin.portrait.watch(connector, *clock);
        tasks.spawn_service(watch.run());
    }

    /// The engine's place: `host:port` or `unix:/path`.
    pub fn engine(&self) -> &str {
        self.acceptor.relay.upstream.place()
    }

    /// The metrics.
    pub fn exporter(&self) -> &Arc<Exporter> {
        &self.admin.exporter
    }

    /// Exchanges in flight.
    pub fn in_flight(&self) -> &Arc<InFlight> {
        &self.admin.in_flight
    }

    /// Records that the feed of [`Parts::feed`] had no room for.
    pub fn feed_dropped(&self) -> u64 {
        self.admin.ledger.feed_dropped()
    }

    /// Finishes what is open within `limit`, cuts the rest.
    pub async fn close(&self, limit: Duration) -> Drained {
        Drained {
            cut: self.acceptor.tasks.close(limit).await,
        }
    }

    /// Serves until `signals` says stop; then drains: not ready at once, accepting for the delay, then finishing what is
    /// open within the limit. A second signal cuts it short.
    ///
    /// # Errors
    /// None once it runs; the result is how the drain ended.
    pub async fn run(self, listeners: Listeners, mut signals: Signals) -> Drained {
        let Acceptor {
            relay,
            tasks,
            clock,
            tls,
            ..
        } = self.acceptor.clone();
        tasks.spawn_service(Arc::clone(&self.admin).run(listeners.admin, clock, tasks.clone()));
        if let Some(tls) = tls {
            tasks.spawn_service(tls::follow(tls, Arc::clone(self.exporter())));
        }
        tasks.spawn_service(evict(relay, clock));
        self.watch_engine();
        tasks.spawn_service(self.bypass.clone().watch(Arc::clone(&self.admin.portrait)));
        let phase = &self.admin.phase;
        phase.set(Phase::Serving);
        {
            let mut accepting = std::pin::pin!(self.acceptor.clone().run(listeners.data));
            tokio::select! {
                () = &mut accepting => {}
                () = signals.next() => {}
            }
            phase.set(Phase::Leaving);
            tracing::info!(delay = ?self.drain.delay, "stopping: no longer ready, still accepting");
            tokio::select! {
                () = &mut accepting => {}
                () = tokio::time::sleep(self.drain.delay) => {}
                () = signals.next() => {}
            }
        }
        phase.set(Phase::Draining);
        tracing::info!(open = tasks.open(), limit = ?self.drain.timeout, "draining");
        let drained = tokio::select! {
            drained = self.close(self.drain.timeout) => drained,
            () = signals.next() => self.close(Duration::ZERO).await,
        };
        tracing::info!(cut = drained.cut, "stopped");
        drained
    }
}

fn connector(engine: &config::Upstream) -> Result<Arc<dyn Connector>, TlsFault> {
    Ok(match &engine.at {
        EngineAt::Tcp { scheme, host, port } => {
            let tcp = TcpConnector::new(host.clone(), *port);
            match scheme {
                Scheme::Http => Arc::new(tcp),
                Scheme::Https => Arc::new(tcp.with_tls(tls::engine_tls(host, &engine.tls)?)),
            }
        }
        EngineAt::Unix(path) => Arc::new(UnixConnector::new(path.clone())),
    })
}

fn serving(config: &Checked) -> Result<Option<Arc<tls::Serving>>, TlsFault> {
    let load = |files| tls::Serving::load(files, tls::date()).map(Arc::new);
    config.tls.as_ref().map(load).transpose()
}

async fn evict(relay: Arc<Relay>, clock: Clock) {
    loop {
        tokio::time::sleep(EVICT_EVERY).await;
        relay.upstream.evict(accepted::stamp_now(&clock));
    }
}

fn exporter_settings(config: &Checked) -> Result<exporter::Settings, measure::EdgesError> {
    let seconds = |targets: &[Duration]| targets.iter().map(Duration::as_secs_f64).collect();
    Ok(exporter::Settings {
        shape: ShapeEdges {
            input: Edges::new(config.shape.input_len.clone())?,
            output: Edges::new(config.shape.output_len.clone())?,
            concurrency: Edges::new(config.shape.concurrency.clone())?,
        },
        max_cells: config.shape.max_cells,
        models: config.models.names.clone(),
        targets: exporter::Targets {
            ttft: seconds(&config.slo.ttft),
            tpot: seconds(&config.slo.tpot),
            e2e: seconds(&config.slo.e2e),
        },
        vocabulary: exporter::Vocabulary {
            endpoints: [wire::Endpoint::Completions, wire::Endpoint::ChatCompletions]
                .map(wire::Endpoint::as_str)
                .to_vec(),
            rejections: refusal::codes(),
            passing: wire::Passing::ALL.map(wire::Passing::as_str).to_vec(),
            anomalies: wire::Anomaly::ALL.map(wire::Anomaly::as_str).to_vec(),
            scrapes: probe::Scraped::ALL.map(probe::Scraped::as_str).to_vec(),
        },
        ..exporter::Settings::default()
    })
}

fn connection_limits(config: &Checked) -> ConnectionLimits {
    ConnectionLimits {
        head_bytes: config.limits.head_bytes,
        head_fields: config.limits.head_fields,
        head_timeout: config.limits.head_timeout,
        client_idle: config.limits.client_idle,
        half_close: config.half_close,
        client_write: config.limits.client_write,
        client_rate: config.limits.client_rate,
        control_frames: config.limits.http2_control_frames,
        new_streams: config.limits.http2_new_streams,
    }
}

fn habits(engine: &config::Engine) -> Habits {
    let accumulation = |stated| match stated {
        config::Accumulation::Delta => wire::Accumulation::Delta,
        config::Accumulation::Cumulative => wire::Accumulation::Cumulative,
    };
    let usage = (engine.usage == config::Usage::Inject).then(|| {
        let usage = UsageInjection::default();
        usage.set_engine(engine.kind.and_then(wire::EngineKind::of));
        Arc::new(usage)
    });
    Habits {
        text_mode: engine.text.map(accumulation),
        num_output_tokens: engine.num_output_tokens.map(accumulation),
        usage,
    }
}

fn upstream_limits(config: &Checked) -> Limits {
    Limits {
        pool: PoolLimits {
            connect_timeout: config.upstream.connect_timeout,
            idle_timeout: config.upstream.idle_timeout,
            max_idle: config.upstream.max_idle,
        },
        patience: PatienceLimits {
            ttft: config.upstream.ttft_timeout,
            silence: config.upstream.silence_timeout,
        },
        queue: QueueLimits {
            own: config.limits.queue_bytes,
            most: config.limits.queue_bytes_max,
        },
        body_bytes: config.limits.body_bytes,
    }
}
