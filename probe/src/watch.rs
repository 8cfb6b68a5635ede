//! Asks the engine about itself for as long as the process runs.
//!
//! Two rounds side by side. One asks for the list of models every 30 s; when the engine has just appeared or has come back,
//! and else every few minutes, it asks the other routes too, one after the other. The other reads the metrics, by default
//! each second. Neither knows of an exchange.

use crate::answers::{self, MODELS, ROUTES};
use crate::get::{Asked, METRICS_BYTES, Unanswered, get, get_whole};
use crate::{Facts, LoadReader, Told};
use http::Version;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use upstream::{Clock, Upstream};

/// Until the engine has answered, and twice as long each time that it answers without a list.
const RETRY: Duration = Duration::from_secs(2);

/// Afterwards: a model that was loaded meanwhile gets its name within this.
const REFRESH: Duration = Duration::from_secs(30);

/// Every so many lists, all is asked again: after 5 minutes.
const ALL_EVERY: u32 = 10;

/// Longest pause between two tries to read the metrics of an engine that has none.
const NO_METRICS_PAUSE: Duration = Duration::from_secs(60);

/// The same of one that can't be reached: its return should be noticed.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(5);

/// Where metrics are looked for.
const METRICS: [&str; 2] = ["/metrics", "/prometheus/metrics"];

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Whether the engine is asked who it is.
    pub identity: bool,
    /// Whether its list of models is passed on.
    pub models: bool,
    /// How often its metrics are read, if at all.
    pub scrape: Option<Duration>,
}

/// How reading the engine's metrics went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scraped {
    /// They say something of its load.
    Ok,
    /// There are none, or none that is known.
    NoMetrics,
    /// No connection, or it broke.
    Unreachable,
    /// Not whole within [`crate::DEADLINE`].
    Timeout,
    /// Longer than [`crate::METRICS_BYTES`].
    TooLarge,
}

/// Receives what a watch finds.
pub trait Audience: Send + Sync {
    /// The engine's list of models.
    fn models(&self, names: &[String]);

    /// Who the engine is: for the first time, or since it has become another.
    fn engine(&self, facts: &Facts);

    /// It was away, or not ready, and is back: what it does may have changed, whatever it says.
    fn returned(&self);

    /// Its metrics were read, or not.
    fn scraped(&self, result: Scraped);
}

/// A watch over one engine.
pub struct Watch {
    /// The engine. Not the traffic's: with connections and limits of its own.
    pub engine: Upstream,
    /// What is spoken to it.
    pub version: Version,
    /// The process's clock.
    pub clock: Clock,
    /// What is asked.
    pub plan: Plan,
    /// Where the answers are kept.
    pub told: Arc<Told>,
    /// Who hears of them.
    pub audience: Arc<dyn Audience>,
}

/// What the round of identity remembers.
#[derive(Debug, Default)]
struct Round {
    /// Routes that the engine doesn't have; asked again when it has come back.
    refused: Vec<&'static str>,
    /// Lists since all was asked; `None`: all is to be asked as soon as it answers.
    lists: Option<u32>,
    /// Answers without a list, one after the other.
    without_list: u32,
    /// That names are unknown was said.
    complained: bool,
}

// ---- Scraped

impl Scraped {
    /// Each, once.
    pub const ALL: [Self; 5] = [
        Self::Ok,
        Self::NoMetrics,
        Self::Unreachable,
        Self::Timeout,
        Self::TooLarge,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NoMetrics => "no_metrics",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
        }
    }

    fn of(failure: &Unanswered) -> Self {
        match failure {
            Unanswered::Unreachable(_) | Unanswered::Broken(_) => Self::Unreachable,
            Unanswered::Timeout => Self::Timeout,
            Unanswered::TooLarge(_) => Self::TooLarge,
            Unanswered::Status(_) | Unanswered::Request(_) => Self::NoMetrics,
        }
    }

    /// How long to wait after this many failures in a row, this one included.
    fn pause(self, interval: Duration, failures: u32) -> Duration {
        let longest = match self {
            Self::Ok => return interval,
            Self::NoMetrics | Self::TooLarge => NO_METRICS_PAUSE,
            Self::Unreachable | Self::Timeout => UNREACHABLE_PAUSE,
        };
        let doubled = interval.saturating_mul(1 << failures.min(6));
        doubled.clamp(interval, longest.max(interval))
    }
}

// ---- Watch

impl Watch {
    /// Asks, again and again. It ends only if nothing is to be asked.
    pub async fn run(self) {
        let came_back = Notify::new();
        tokio::join!(self.identify(&came_back), self.scrape(&came_back));
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            engine: &self.engine,
            version: self.version,
        }
    }

    async fn identify(&self, came_back: &Notify) {
        if !self.plan.identity && !self.plan.models {
            return;
        }
        let mut round = Round::default();
        loop {
            let list = get_whole(self.asked(), MODELS).await;
            let pause = self.on_list(&mut round, list).await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = came_back.notified() => round.lists = None,
            }
        }
    }

    /// Takes an answer to the question for models, asks the rest if it is due, and says how long to wait.
    async fn on_list(&self, round: &mut Round, list: Result<Vec<u8>, Unanswered>) -> Duration {
        let names = list
            .as_ref()
            .ok()
            .and_then(|body| answers::model_names(body));
        match &names {
            Some(names) if self.plan.models => self.audience.models(names),
            None if self.plan.models && !std::mem::replace(&mut round.complained, true) => {
                tracing::info!(
                    error = list.as_ref().err().map(|error| error as &dyn Error),
                    "model names are not known yet, requests count as model \"other\"; asking again (or set models.names)"
                );
            }
            _ => {}
        }
        if list.as_ref().is_err_and(Unanswered::is_down) {
            *round = Round {
                complained: round.complained,
                ..Round::default()
            };
            return RETRY;
        }
        if self.plan.identity && round.lists.is_none_or(|lists| lists >= ALL_EVERY) {
            self.ask_all(round).await;
        }
        round.lists = Some(round.lists.unwrap_or(0).saturating_add(1));
        if names.is_some() {
            round.without_list = 0;
            return REFRESH;
        }
        round.without_list = round.without_list.saturating_add(1);
        REFRESH.min(RETRY.saturating_mul(1 << round.without_list.min(4)))
    }

    async fn ask_all(&self, round: &mut Round) {
        let anew = round.lists.is_none();
        if anew {
            round.refused.clear();
            if self.told.facts().is_some() {
                self.audience.returned();
            }
        }
        round.lists = Some(0);
        let mut facts = Facts::default();
        for route in ROUTES {
            if round.refused.contains(&route.path) {
                continue;
            }
            match get_whole(self.asked(), route.path).await {
                Ok(body) => facts = facts.or((route.read)(&body)),
                Err(error) => {
                    tracing::debug!(route = route.path, error = &error as &dyn Error, "not told");
                    if error.is_refusal() {
                        round.refused.push(route.path);
                    }
                }
            }
        }
        let before = self.told.facts();
        if let (false, Some(before)) = (anew, &before) {
            // What it does not say this time it has not taken back.
            facts = facts.or((**before).clone());
        }
        if before.as_deref() != Some(&facts) {
            self.told.set_facts(facts.clone());
            self.audience.engine(&facts);
        }
    }

    async fn scrape(&self, came_back: &Notify) {
        let Some(interval) = self.plan.scrape else {
            return;
        };
        let mut place = 0;
        let mut failures: u32 = 0;
        let mut was_down = false;
        loop {
            let result = self.scrape_once(METRICS[place]).await;
            self.audience.scraped(result);
            failures = match result {
                Scraped::Ok => 0,
                _ => failures.saturating_add(1),
            };
            if result == Scraped::NoMetrics {
                place = (place + 1) % METRICS.len();
            }
            let is_down = result == Scraped::Unreachable;
            if was_down && !is_down {
                came_back.notify_one();
            }
            was_down = is_down;
            tokio::time::sleep(result.pause(interval, failures)).await;
        }
    }

    async fn scrape_once(&self, path: &str) -> Scraped {
        // The load is that of some instant after the question: its age is never understated.
        let asked = self.clock.now();
        let mut reader = LoadReader::default();
        let read = get(self.asked(), path, METRICS_BYTES, |bytes| {
            reader.push(bytes);
        });
        if let Err(failure) = read.await {
            tracing::debug!(path, error = &failure as &dyn Error, "no metrics read");
            return Scraped::of(&failure);
        }
        match reader.finish() {
            Some(load) => {
                self.told.set_load(asked, load);
                Scraped::Ok
            }
            None => Scraped::NoMetrics,
        }
    }
}
