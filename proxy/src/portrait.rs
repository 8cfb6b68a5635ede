//! What is known of the engine: by its own word, which a watch brings, and by the operator's.
//!
//! It goes into the metrics, into each record as the load that it met, and to `/engine`.

use config::{Checked, EngineAt, EngineProtocol};
use exporter::Exporter;
use http::Version;
use measure::Nanos;
use parking_lot::Mutex;
use probe::{Audience, Facts, Identity, Plan, Scraped, Told, Watch, Words};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use upstream::{
    Budget, Clock, Connector, Limits, PatienceLimits, PoolLimits, QueueLimits, Upstream,
    UsageInjection,
};

/// What an answer to a watch may queue, in bytes. It is read at once.
const QUEUE_BYTES: usize = 64 * 1024;

/// A load is of use for so many intervals between two looks at it.
const FRESH_INTERVALS: u32 = 3;

/// What is known of the engine.
pub(crate) struct Portrait {
    /// One of the engine's ports.
    at: EngineAt,
    pub(crate) told: Arc<Told>,
    words: Words,
    plan: Plan,
    exporter: Arc<Exporter>,
    /// Depends on which engine it is.
    usage: Option<Arc<UsageInjection>>,
    connect_timeout: Duration,
    version: Version,
    reachable_around: Mutex<Option<bool>>,
}

/// The same, as `/engine` shows it.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    /// Which of the engine's ports, unless it is a Unix socket.
    engine_port: Option<u16>,
    engine: WordView,
    version: WordView,
    model: WordView,
    precision: WordView,
    max_model_len: WordView,
    tensor_parallel: Option<u64>,
    pipeline_parallel: Option<u64>,
    /// Whether requests can go to it around us; none if that is not known.
    reachable_around: Option<bool>,
    /// What it last said of its load; none if that is too long ago.
    load: Option<LoadView>,
}

#[derive(Debug, Serialize)]
struct WordView {
    text: String,
    /// `operator`, `engine`, or nobody.
    by: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct LoadView {
    running: Option<u64>,
    waiting: Option<u64>,
    kv_usage: Option<f64>,
    prefix_hits: Option<u64>,
    prefix_queries: Option<u64>,
    age_seconds: f64,
}

// Portrait

impl Portrait {
    /// Nothing is known but the operator's word.
    pub(crate) fn new(config: &Checked, at: EngineAt, exporter: Arc<Exporter>) -> Self {
        let engine = &config.engine;
        let fresh_for = engine
            .scrape_interval
            .map_or(Duration::ZERO, |interval| interval * FRESH_INTERVALS);
        let fresh_for = Nanos(u64::try_from(fresh_for.as_nanos()).unwrap_or(u64::MAX));
        let portrait = Self {
            at,
            told: Arc::new(Told::new(fresh_for)),
            words: Words {
                engine: engine.kind.map(str::to_owned),
                version: engine.version.clone(),
                model: engine.model.clone(),
                precision: engine.precision.clone(),
                max_model_len: engine.max_model_len,
            },
            plan: Plan {
                identity: engine.probe,
                models: config.models.learn,
                scrape: engine.scrape_interval,
            },
            exporter,
            usage: None,
            connect_timeout: config.upstream.connect_timeout,
            version: match config.upstream.protocol {
                EngineProtocol::Http2 => Version::HTTP_2,
                EngineProtocol::Auto | EngineProtocol::Http1 => Version::HTTP_11,
            },
            reachable_around: Mutex::default(),
        };
        if !portrait.plan.identity {
            portrait.show(&Facts::default());
        }
        portrait
    }

    /// What the answers to its questions say decides on `usage`.
    pub(crate) fn with_usage(mut self, usage: Option<Arc<UsageInjection>>) -> Self {
        self.usage = usage;
        self
    }

    /// What asks the engine: over connections of its own, each used once, so that it meets the traffic nowhere.
    pub(crate) fn watch(self: &Arc<Self>, connector: Arc<dyn Connector>, clock: Clock) -> Watch {
        let limits = Limits {
            pool: PoolLimits {
                connect_timeout: self.connect_timeout,
                idle_timeout: Duration::ZERO,
                max_idle: 0,
            },
            patience: PatienceLimits::default(),
            queue: QueueLimits {
                own: QUEUE_BYTES,
                most: QUEUE_BYTES,
            },
            body_bytes: 0,
        };
        Watch {
            engine: Upstream::new(connector, clock, limits, Budget::new(0)),
            version: self.version,
            clock,
            plan: self.plan,
            told: Arc::clone(&self.told),
            audience: self.clone(),
        }
    }

    pub(crate) fn set_reachable_around(&self, is: Option<bool>) {
        *self.reachable_around.lock() = is;
    }

    /// As of `now`.
    pub(crate) fn view(&self, now: Nanos) -> View {
        let facts = self.told.facts().unwrap_or_default();
        let identity = Identity::of(&self.words, &facts);
        let word = |word: probe::Word| WordView {
            by: word.by.as_str(),
            text: word.text,
        };
        View {
            engine_port: self.at.port(),
            engine: word(identity.engine),
            version: word(identity.version),
            model: word(identity.model),
            precision: word(identity.precision),
            max_model_len: word(identity.max_model_len),
            tensor_parallel: facts.tensor_parallel,
            pipeline_parallel: facts.pipeline_parallel,
            reachable_around: *self.reachable_around.lock(),
            load: self.told.load(now).map(|load| LoadView {
                running: load.running,
                waiting: load.waiting,
                kv_usage: load.kv_usage,
                prefix_hits: load.prefix_hits,
                prefix_queries: load.prefix_queries,
                age_seconds: load.age.as_secs_f64(),
            }),
        }
    }

    fn show(&self, facts: &Facts) {
        let identity = Identity::of(&self.words, facts);
        let labels = identity.words().map(|(_, word)| word.text.clone());
        tracing::info!(
            at = %self.at,
            engine = labels[0],
            version = labels[1],
            model = labels[2],
            precision = labels[3],
            max_model_len = labels[4],
            "the figures from here on belong to this engine"
        );
        self.exporter.set_engine(labels);
    }
}

impl Audience for Portrait {
    fn models(&self, names: &[String]) {
        self.exporter.learn_models(names);
    }

    fn engine(&self, facts: &Facts) {
        if let (Some(usage), None) = (&self.usage, &self.words.engine) {
            usage.set_engine(facts.engine);
        }
        self.show(facts);
    }

    fn returned(&self) {
        if let Some(usage) = &self.usage {
            usage.forget_routes();
        }
    }

    fn scraped(&self, result: Scraped) {
        self.exporter.count_engine_scrape(result.as_str());
    }
}
