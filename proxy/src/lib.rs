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
mod crowd;
mod deadline;
mod driven;
mod expectation;
mod frames;
mod grpc;
mod guard;
mod hop;
mod intake;
mod interim;
mod ledger;
mod lingering;
mod listener;
mod listening;
mod pace;
mod paced_body;
mod phase;
mod portrait;
mod rank;
mod rate;
mod refusal;
mod relay;
mod routes;
mod signals;
mod stalled;
mod tasks;
mod tls;
mod unix_socket;
mod upgrade;

pub use listening::Listening;
pub use signals::Signals;
pub use tls::TlsFault;

use admin::Admin;
use config::{Checked, EngineAt, Listen, Scheme};
use crowd::Crowd;
use exporter::Exporter;
use measure::{Edges, InFlight, Record, ShapeEdges};
use phase::Phase;
use rank::{Rank, Ranks, Shared};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tasks::Tasks;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use upstream::{Budget, Clock, Connector, Socket, TcpConnector, UnixConnector};

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
    /// There is not one connector for each port of the engine.
    #[error("{given} connectors for an engine of {needed} ports")]
    Connectors {
        /// How many there are.
        given: usize,
        /// How many there should be.
        needed: usize,
    },
    /// Signals could not be listened for.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

/// A proxy in front of one engine, of one port or several.
pub struct Proxy {
    admin: Arc<Admin>,
    tasks: Tasks,
    clock: Clock,
    tls: Option<Arc<tls::Serving>>,
    drain: config::Drain,
}

/// What a proxy is built with, besides its configuration.
pub struct Parts {
    /// How each port of the engine is reached, in their order.
    pub connectors: Vec<Arc<dyn Connector>>,
    /// The process's clock.
    pub clock: Clock,
    /// The configuration as `/config` shows it: JSON.
    pub config_view: String,
    /// Who else gets every record. Bounded: what does not fit is dropped and counted.
    pub feed: Option<mpsc::Sender<Record>>,
}

/// All listeners, bound.
pub struct Listeners {
    /// For clients: one for each port of the engine, in their order.
    pub data: Vec<Listening>,
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
            connectors: connectors(&config.upstream)?,
            clock: Clock::start(),
            config_view,
            feed: None,
        })
    }
}

impl Listeners {
    /// Binds all addresses of the configuration. Call it inside a runtime.
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
        let data = |at| Listening::bind(at).map_err(failed(at, "listen"));
        Ok(Self {
            data: config.listen.iter().map(data).collect::<Result<_, _>>()?,
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
        let engines = &config.upstream.at;
        let miscounted = Error::Connectors {
            given: parts.connectors.len(),
            needed: engines.len(),
        };
        if parts.connectors.len() != engines.len() {
            return Err(miscounted);
        }
        let shared = Shared {
            config,
            metrics: exporter_settings(config)?,
            clock: parts.clock,
            tasks: Tasks::default(),
            crowd: Crowd::new(config.limits.connections),
            tls: serving(config)?,
            budget: Budget::new(config.limits.queue_bytes_total),
            ids: Arc::new(AtomicU64::new(1)),
            feed: parts.feed,
        };
        let ranks = engines.iter().zip(parts.connectors);
        let ranks = ranks.map(|(at, connector)| Rank::new(&shared, at, connector));
        let ranks = Ranks::of(ranks.collect::<Result<_, _>>()?).ok_or(miscounted)?;
        Ok(Self {
            admin: Arc::new(Admin::new(ranks, shared.tasks.clone(), parts.config_view)),
            tasks: shared.tasks,
            clock: shared.clock,
            tls: shared.tls,
            drain: config.drain.clone(),
        })
    }

    /// Serves one connection over any socket, in a task of its own, with the engine's first port behind it.
    pub fn serve(&self, socket: Box<dyn Socket>) {
        self.first().acceptor.serve(socket);
    }

    /// Begins to ask the engine about itself, in tasks of its own that end with the process.
    pub fn watch_engine(&self) {
        for rank in self.admin.ranks.iter() {
            rank.watch_engine();
        }
    }

    /// The places of the engine's ports, in their order: `host:port` or `unix:/path`.
    pub fn engines(&self) -> impl Iterator<Item = &str> {
        let ranks = self.admin.ranks.iter();
        ranks.map(|rank| rank.acceptor.relay.upstream.place())
    }

    /// The metrics of the engine's first port.
    pub fn exporter(&self) -> &Arc<Exporter> {
        &self.first().exporter
    }

    /// Exchanges in flight at the engine's first port.
    pub fn in_flight(&self) -> &Arc<InFlight> {
        &self.first().in_flight
    }

    /// Records that the feed of [`Parts::feed`] had no room for.
    pub fn feed_dropped(&self) -> u64 {
        let ranks = self.admin.ranks.iter();
        ranks.map(|rank| rank.ledger.feed_dropped()).sum()
    }

    fn first(&self) -> &Rank {
        &self.admin.ranks.first
    }

    /// Finishes what is open within `limit`, cuts the rest.
    pub async fn close(&self, limit: Duration) -> Drained {
        Drained {
            cut: self.tasks.close(limit).await,
        }
    }

    /// Serves until `signals` says stop; then drains: not ready at once, accepting for the delay, then finishing what is
    /// open within the limit. A second signal cuts it short.
    ///
    /// # Errors
    /// None once it runs; the result is how the drain ended.
    pub async fn run(self, listeners: Listeners, mut signals: Signals) -> Drained {
        let (phase, tasks) = (&self.admin.phase, &self.tasks);
        let admin = Arc::clone(&self.admin).run(listeners.admin, self.clock);
        tasks.spawn_service(admin);
        if let Some(tls) = &self.tls {
            tasks.spawn_service(tls::follow(Arc::clone(tls), Arc::clone(self.exporter())));
        }
        self.watch_engine();
        let mut accepting = JoinSet::new();
        for (rank, listener) in self.admin.ranks.iter().zip(listeners.data) {
            tasks.spawn_service(evict(Arc::clone(rank), self.clock));
            rank.watch_bypass();
            accepting.spawn(rank.acceptor.clone().run(listener));
        }
        phase.set(Phase::Serving);
        signals.next().await;
        phase.set(Phase::Leaving);
        tracing::info!(delay = ?self.drain.delay, "stopping: no longer ready, still accepting");
        tokio::select! {
            () = tokio::time::sleep(self.drain.delay) => {}
            () = signals.next() => {}
        }
        accepting.shutdown().await;
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

fn connectors(engine: &config::Upstream) -> Result<Vec<Arc<dyn Connector>>, TlsFault> {
    let each = |at: &EngineAt| -> Result<Arc<dyn Connector>, TlsFault> {
        Ok(match at {
            EngineAt::Tcp { scheme, host, port } => {
                let tcp = TcpConnector::new(host.clone(), *port);
                match scheme {
                    Scheme::Http => Arc::new(tcp),
                    Scheme::Https => Arc::new(tcp.with_tls(tls::engine_tls(host, &engine.tls)?)),
                }
            }
            EngineAt::Unix(path) => Arc::new(UnixConnector::new(path.clone())),
        })
    };
    engine.at.iter().map(each).collect()
}

fn serving(config: &Checked) -> Result<Option<Arc<tls::Serving>>, TlsFault> {
    let load = |files| tls::Serving::load(files, tls::date()).map(Arc::new);
    config.tls.as_ref().map(load).transpose()
}

async fn evict(rank: Arc<Rank>, clock: Clock) {
    loop {
        tokio::time::sleep(EVICT_EVERY).await;
        rank.acceptor
            .relay
            .upstream
            .evict(accepted::stamp_now(&clock));
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
