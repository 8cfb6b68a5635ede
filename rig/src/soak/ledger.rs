//! How requests ended, by the engine's own log and by the proxy's records, in groups that both can tell apart.
//!
//! Who of two leaves first is for neither to know exactly: a client's leave may cross the engine's last byte on the way. So
//! whole answers, clients that left and clients that were too slow are one group.

use serde::Serialize;
use sim::Ended;
use std::collections::BTreeMap;

/// The name of the counter of records.
const REQUESTS: &str = "loadproof_requests_total{";

/// The name of the counter of requests that the proxy answered by itself.
const REFUSED: &str = "loadproof_rejected_requests_total{";

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Answered whole, or its client left, or was too slow.
    Answered,
    /// Another status of 400 to 499.
    ClientError,
    /// 429.
    TooMany,
    /// 500 to 599 from the engine.
    ServerError,
    /// An error event in a 200.
    ErrorEvent,
    /// The end mark is missing.
    NoDone,
    /// The engine's connection ended before the answer did.
    Broken,
    /// None of these: nothing of the kind is asked for.
    Other,
}

/// Counts by route and group.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Ledger(BTreeMap<(String, Group), u64>);

impl Group {
    /// As the engine's log has it.
    fn of_truth(record: &sim::Record) -> Self {
        match (record.ended, record.status) {
            (Ended::Died | Ended::Reset, _) => Self::Broken,
            (Ended::Errored, _) => Self::ErrorEvent,
            (Ended::Stopped, _) => Self::Other,
            (_, Some(429)) => Self::TooMany,
            (_, Some(500..)) => Self::ServerError,
            (_, Some(400..)) => Self::ClientError,
            _ if record.faults.contains("no-done") => Self::NoDone,
            _ => Self::Answered,
        }
    }

    /// Of the label `outcome`.
    fn of_outcome(outcome: &str) -> Self {
        match outcome {
            "ok" | "client_abort_prefill" | "client_abort_decode" | "slow_client" => Self::Answered,
            "upstream_4xx" => Self::ClientError,
            "upstream_429" => Self::TooMany,
            "upstream_5xx" => Self::ServerError,
            "sse_error_event" => Self::ErrorEvent,
            "sse_no_done" => Self::NoDone,
            "upstream_reset" | "upstream_truncated" => Self::Broken,
            _ => Self::Other,
        }
    }
}

impl Ledger {
    /// Counts a record of the engine's log.
    pub(super) fn log(&mut self, record: &sim::Record) {
        self.add(record.endpoint.as_str(), Group::of_truth(record), 1);
    }

    /// The proxy's records, from its metrics in text form.
    pub(super) fn of_metrics(metrics: &str) -> Self {
        let mut ledger = Self::default();
        for (labels, count) in series(metrics, REQUESTS) {
            if let (Some(route), Some(outcome)) =
                (label(labels, "endpoint"), label(labels, "outcome"))
            {
                ledger.add(route, Group::of_outcome(outcome), count);
            }
        }
        ledger
    }

    /// All of them.
    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Every route and group that either has.
    pub(super) fn rows<'a>(&'a self, other: &'a Self) -> Vec<&'a (String, Group)> {
        let mut rows: Vec<_> = self.0.keys().chain(other.0.keys()).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// The count of a row.
    pub(super) fn of_row(&self, row: &(String, Group)) -> u64 {
        self.0.get(row).copied().unwrap_or(0)
    }

    fn add(&mut self, route: &str, group: Group, count: u64) {
        if count > 0 {
            *self.0.entry((route.to_owned(), group)).or_default() += count;
        }
    }
}

/// The reason of a refusal that nobody is there to read: whether a client that leaves its upload is met as a body that broke
/// off or as a client that left first is for neither side to know.
const UNREAD: &str = "body_broke";

/// Requests that the proxy answered by itself, from the metrics.
pub(super) fn refused(metrics: &str) -> u64 {
    series(metrics, REFUSED)
        .filter(|(labels, _)| label(labels, "reason") != Some(UNREAD))
        .map(|(_, count)| count)
        .sum()
}

/// Labels and value of the series whose lines begin so.
fn series<'a>(metrics: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
    metrics.lines().filter_map(move |line| {
        let (labels, value) = line.strip_prefix(name)?.rsplit_once("} ")?;
        Some((labels, value.trim().parse().ok()?))
    })
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = labels.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_are_read_from_the_metrics() {
        let metrics = "# TYPE loadproof_requests_total counter\n\
            loadproof_requests_total{model=\"m\",endpoint=\"/v1/messages\",outcome=\"ok\"} 7\n\
            loadproof_requests_total{model=\"other\",endpoint=\"/v1/messages\",outcome=\"client_abort_decode\"} 2\n\
            loadproof_requests_total{model=\"m\",endpoint=\"/v1/messages\",outcome=\"drained\"} 1\n\
            loadproof_requests_total{model=\"m\",endpoint=\"/v1/messages\",outcome=\"upstream_429\"} 0\n\
            loadproof_rejected_requests_total{reason=\"bad_host\"} 3\n\
            loadproof_rejected_requests_total{reason=\"body_broke\"} 5\n";
        let ledger = Ledger::of_metrics(metrics);
        let count = |group| ledger.of_row(&("/v1/messages".to_owned(), group));
        assert_eq!((count(Group::Answered), count(Group::Other)), (9, 1));
        assert_eq!((ledger.total(), refused(metrics)), (10, 3));
        assert_eq!(ledger.rows(&Ledger::default()).len(), 2);
    }
}
