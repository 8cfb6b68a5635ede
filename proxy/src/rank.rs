//! One port of the engine, and all that is kept for it alone: the listener's settings, its connections, what is measured
//! and what is known. Ranks share the process's limits and its clock, and know nothing of each other.

use crate::bypass::Bypass;
use crate::connection::ConnectionLimits;
use crate::crowd::Crowd;
use crate::ledger::Ledger;
use crate::listener::Acceptor;
use crate::portrait::Portrait;
use crate::relay::Relay;
use crate::tasks::Tasks;
use crate::tls::Serving;
use config::{Checked, EngineAt};
use exporter::Exporter;
use measure::{InFlight, Record};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::mpsc;
use upstream::{
    Budget, Clock, Connector, Habits, Limits, PatienceLimits, PoolLimits, QueueLimits, Upstream,
    UsageInjection,
};

/// One port of the engine.
pub(crate) struct Rank {
    pub(crate) at: EngineAt,
    pub(crate) acceptor: Acceptor,
    pub(crate) exporter: Arc<Exporter>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) portrait: Arc<Portrait>,
    pub(crate) bypass: Bypass,
    connector: Arc<dyn Connector>,
}

/// What all ranks share.
pub(crate) struct Shared<'a> {
    pub(crate) config: &'a Checked,
    pub(crate) metrics: exporter::Settings,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) tls: Option<Arc<Serving>>,
    /// What all queues of the process share.
    pub(crate) budget: Arc<Budget>,
    /// Ids of exchanges.
    pub(crate) ids: Arc<AtomicU64>,
    pub(crate) feed: Option<mpsc::Sender<Record>>,
}

/// Every rank, in the order of the configuration. There is at least one.
pub(crate) struct Ranks {
    pub(crate) first: Arc<Rank>,
    others: Vec<Arc<Rank>>,
}

// Rank

impl Rank {
    /// Nothing runs yet.
    pub(crate) fn new(
        shared: &Shared<'_>,
        at: &EngineAt,
        connector: Arc<dyn Connector>,
    ) -> Result<Self, exporter::Error> {
        let config = shared.config;
        let exporter = Arc::new(Exporter::new(shared.metrics.clone())?);
        let ledger = Arc::new(Ledger::new(Arc::clone(&exporter), shared.feed.clone()));
        let in_flight = Arc::new(InFlight::default());
        let habits = habits(&config.engine);
        let usage = habits.usage.clone();
        let portrait = Portrait::new(config, at.clone(), Arc::clone(&exporter)).with_usage(usage);
        let portrait = Arc::new(portrait);
        let upstream = Upstream::new(
            Arc::clone(&connector),
            shared.clock,
            upstream_limits(config),
            Arc::clone(&shared.budget),
        )
        .with_habits(habits);
        let relay = Relay::new(
            upstream,
            Arc::clone(&ledger),
            Arc::clone(&in_flight),
            Arc::clone(&portrait.told),
            config,
        )
        .with_ids(Arc::clone(&shared.ids));
        let acceptor = Acceptor {
            relay: Arc::new(relay),
            tasks: shared.tasks.clone(),
            clock: shared.clock,
            connection: connection_limits(config),
            crowd: Arc::clone(&shared.crowd),
            most_connections: config.limits.connections,
            tls: shared.tls.clone(),
            tls_handshake: config.limits.tls_handshake,
        };
        Ok(Self {
            at: at.clone(),
            acceptor,
            exporter,
            ledger,
            in_flight,
            portrait,
            bypass: Bypass::new(config, at.clone()),
            connector,
        })
    }

    /// Begins to ask the engine about itself, in a task of its own that ends with the process.
    pub(crate) fn watch_engine(&self) {
        let Acceptor { tasks, clock, .. } = &self.acceptor;
        let watch = self.portrait.watch(Arc::clone(&self.connector), *clock);
        tasks.spawn_service(watch.run());
    }

    /// Looks whether the engine can be reached around us, in a task of its own that ends with the process.
    pub(crate) fn watch_bypass(&self) {
        let watch = self.bypass.clone().watch(Arc::clone(&self.portrait));
        self.acceptor.tasks.spawn_service(watch);
    }
}

// Ranks

impl Ranks {
    /// `None` if there are none.
    pub(crate) fn of(ranks: Vec<Rank>) -> Option<Self> {
        let mut ranks = ranks.into_iter().map(Arc::new);
        Some(Self {
            first: ranks.next()?,
            others: ranks.collect(),
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Rank>> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn are_several(&self) -> bool {
        !self.others.is_empty()
    }
}

fn connection_limits(config: &Checked) -> ConnectionLimits {
    ConnectionLimits {
        head_bytes: config.limits.head_bytes,
        head_fields: config.limits.head_fields,
        head_timeout: config.limits.head_timeout,
        client_idle: config.limits.client_idle,
        half_close: config.half_close,
        allow_upgrade: config.allow_upgrade,
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
