//! The book of exchanges: which are open, and where the records of those that ended go.

use crate::accepted::Tally;
use dashmap::DashMap;
use exporter::Exporter;
use measure::{End, Exchange, InFlight, Nanos, Progress, Record, Recorder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::sync::mpsc;
use upstream::Live;
use wire::Passing;

/// Open exchanges by id, the exporter, and whoever else wants the records.
pub(crate) struct Ledger {
    exporter: Arc<Exporter>,
    open: DashMap<u64, Arc<Live>>,
    /// A bounded feed of whole records; full is dropped and counted.
    feed: Option<mpsc::Sender<Record>>,
    feed_dropped: AtomicU64,
    /// The engine's last bytes in any exchange that has ended.
    last_read: AtomicU64,
}

impl Ledger {
    pub(crate) fn new(exporter: Arc<Exporter>, feed: Option<mpsc::Sender<Record>>) -> Self {
        Self {
            exporter,
            open: DashMap::new(),
            feed,
            feed_dropped: AtomicU64::new(0),
            last_read: AtomicU64::new(0),
        }
    }

    pub(crate) fn opened(&self, live: &Arc<Live>) {
        self.open.insert(live.id, Arc::clone(live));
    }

    /// A request of a route that no tokens answer.
    pub(crate) fn passed(&self, kind: Passing) {
        self.exporter.count_passed(kind.as_str());
    }

    /// Records that the feed had no room for.
    pub(crate) fn feed_dropped(&self) -> u64 {
        self.feed_dropped.load(Relaxed)
    }

    /// An exchange that the engine never saw.
    pub(crate) fn end_refused(&self, mut exchange: Exchange, at: Nanos, end: End) {
        exchange.on_end(at, end);
        self.record(exchange.finish(None));
    }

    /// The gauges as of `now`.
    pub(crate) fn gauges(&self, in_flight: &InFlight, now: Nanos) -> exporter::Live {
        let open = self.open();
        let waiting = open
            .iter()
            .filter(|live| live.first_token().is_none())
            .map(|live| live.arrival)
            .min();
        // Nobody waits for an idle engine: its silence begins with the oldest request that is open.
        let heard = open.iter().filter_map(|live| live.last_read()).max();
        let silent_since = open.first().map(|oldest| {
            oldest
                .arrival
                .max(Nanos(self.last_read.load(Relaxed)))
                .max(heard.unwrap_or(Nanos::ZERO))
        });
        exporter::Live {
            prefill: u64::from(in_flight.prefill()),
            decode: u64::from(in_flight.decode()),
            oldest_without_token: waiting.map(|arrival| now.since(arrival).as_secs_f64()),
            silent: silent_since.map_or(0.0, |since| now.since(since).as_secs_f64()),
        }
    }

    /// Open exchanges, oldest first.
    pub(crate) fn open(&self) -> Vec<Arc<Live>> {
        let mut open: Vec<_> = self
            .open
            .iter()
            .map(|entry| Arc::clone(entry.value()))
            .collect();
        open.sort_unstable_by_key(|live| live.id);
        open
    }
}

impl Recorder for Ledger {
    fn progress(&self, progress: &Progress<'_>) {
        self.exporter.output_progress(progress);
    }

    fn record(&self, record: Record) {
        if let Some((_, live)) = self.open.remove(&record.identity.id) {
            self.last_read
                .fetch_max(live.last_read().unwrap_or(Nanos::ZERO).0, Relaxed);
        }
        self.exporter.observe(&record);
        for &(kind, count) in &record.anomalies {
            self.exporter.count_anomaly(kind.as_str(), count);
        }
        if let Some(feed) = &self.feed
            && feed.try_send(record).is_err()
        {
            self.feed_dropped.fetch_add(1, Relaxed);
        }
    }

    fn connected(&self, took: Nanos) {
        self.exporter.observe_upstream_connect(took);
    }

    fn usage_not_asked(&self) {
        self.exporter.count_usage_not_asked();
    }

    fn panicked(&self) {
        self.exporter.count_panic();
    }
}

impl Tally for Ledger {
    fn delays(&self, delays: &[Nanos]) {
        for &delay in delays {
            self.exporter.observe_proxy_delay(delay);
        }
    }

    fn refused(&self, code: &'static str) {
        self.exporter.count_rejected(code);
    }
}
