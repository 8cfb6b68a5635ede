//! Brings together what the proxy reported about a request and what is true of it.
//!
//! Either may come first. Limits: figures of [`KEPT`] requests, [`WAITING_MOST`] that wait for their other half; what goes
//! beyond is counted. Gaps are only pooled in histograms of fixed size.

use crate::demo::truth::Truth;
use hdrhistogram::Histogram;
use measure::{GapHistogram, Nanos, Outcome, Record, Shape, ShapeEdges};
use std::collections::{BTreeMap, HashMap};

/// Requests whose figures are kept.
pub const KEPT: usize = 100_000;

/// Halves that wait for the other one.
const WAITING_MOST: usize = 16_384;

/// Longest gap that a histogram of ours tells from longer ones, in nanoseconds: an hour.
const GAP_MOST_NS: u64 = 3_600_000_000_000;

/// One quantity of one request on both sides, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Both {
    pub(crate) reported: Nanos,
    pub(crate) truth: Nanos,
}

/// The figures of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) shape: Shape,
    pub(crate) ttft: Option<Both>,
    pub(crate) tpot: Option<Both>,
    pub(crate) longest_gap: Option<Both>,
}

/// What the proxy reported about a request, as far as it is compared.
#[derive(Debug)]
struct Reported {
    shape: Shape,
    outcome: Outcome,
    ttft: Option<Nanos>,
    tpot: Option<Nanos>,
    longest_gap: Option<Nanos>,
    gaps: GapHistogram,
}

/// All that has come together so far.
#[derive(Debug)]
pub(crate) struct Pairing {
    edges: ShapeEdges,
    records_waiting: HashMap<i64, Reported>,
    truths_waiting: HashMap<i64, Truth>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) counts: Counts,
    /// By outcome.
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    /// TTFT as reported, of all records: for the figure that is shown meanwhile.
    pub(crate) ttft: Histogram<u64>,
    pub(crate) gaps_reported: GapHistogram,
    pub(crate) gaps_true: Histogram<u64>,
}

/// How many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) records: u64,
    pub(crate) truths: u64,
    pub(crate) paired: u64,
    /// Halves that could not wait, or carried no number.
    pub(crate) lost: u64,
    /// Pairs beyond [`KEPT`].
    pub(crate) not_kept: u64,
    pub(crate) tokens_reported: u64,
    pub(crate) tokens_true: u64,
}

impl Pair {
    fn of(reported: &Reported, truth: &Truth) -> Self {
        let both = |reported: Option<Nanos>, truth: Option<u64>| {
            Some(Both {
                reported: reported?,
                truth: Nanos(truth?),
            })
        };
        Self {
            shape: reported.shape,
            ttft: both(reported.ttft, truth.ttft),
            tpot: both(reported.tpot, truth.tpot),
            longest_gap: both(reported.longest_gap, truth.gaps.iter().copied().max()),
        }
    }
}

impl Reported {
    fn of(record: Record, edges: &ShapeEdges) -> Self {
        Self {
            shape: Shape::of(&record, edges),
            outcome: record.outcome,
            ttft: record.ttft().value(),
            tpot: record.tpot().value().map(nanos),
            longest_gap: record.max_stall().value(),
            gaps: record.gaps,
        }
    }
}

impl Pairing {
    pub(crate) fn new(edges: ShapeEdges) -> Self {
        Self {
            edges,
            records_waiting: HashMap::new(),
            truths_waiting: HashMap::new(),
            pairs: Vec::new(),
            counts: Counts::default(),
            outcomes: BTreeMap::new(),
            ttft: histogram(),
            gaps_reported: GapHistogram::default(),
            gaps_true: histogram(),
        }
    }

    /// Takes what the proxy reported.
    pub(crate) fn record(&mut self, record: Record) {
        self.counts.records += 1;
        *self.outcomes.entry(record.outcome.as_str()).or_default() += 1;
        self.counts.tokens_reported += record.output_tokens_seen();
        let number = record.request.seed;
        let reported = Reported::of(record, &self.edges);
        if let Some(ttft) = reported.ttft {
            self.ttft.saturating_record(ttft.0);
        }
        match number.map(|number| (number, self.truths_waiting.remove(&number))) {
            Some((_, Some(truth))) => self.pair(&reported, &truth),
            Some((number, None)) if self.records_waiting.len() < WAITING_MOST => {
                self.records_waiting.insert(number, reported);
            }
            _ => self.counts.lost += 1,
        }
    }

    /// Takes what the engine wrote down.
    pub(crate) fn truth(&mut self, record: &sim::Record) {
        self.counts.truths += 1;
        let Some(truth) = Truth::of(record) else {
            self.counts.lost += 1;
            return;
        };
        self.counts.tokens_true += truth.tokens;
        match self.records_waiting.remove(&truth.number) {
            Some(reported) => self.pair(&reported, &truth),
            None if self.truths_waiting.len() < WAITING_MOST => {
                self.truths_waiting.insert(truth.number, truth);
            }
            None => self.counts.lost += 1,
        }
    }

    /// Halves that have found no other.
    pub(crate) fn unpaired(&self) -> u64 {
        let waiting = self.records_waiting.len() + self.truths_waiting.len();
        self.counts.lost + u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    pub(crate) fn edges(&self) -> &ShapeEdges {
        &self.edges
    }

    fn pair(&mut self, reported: &Reported, truth: &Truth) {
        self.counts.paired += 1;
        // Of an answer that was cut, what was read and what was written differ, rightly.
        if reported.outcome == Outcome::Ok && reported.longest_gap.is_some() {
            self.gaps_reported.merge(&reported.gaps);
            for gap in &truth.gaps {
                self.gaps_true.saturating_record(*gap);
            }
        }
        if self.pairs.len() < KEPT {
            self.pairs.push(Pair::of(reported, truth));
        } else {
            self.counts.not_kept += 1;
        }
    }
}

/// From 1 µs to an hour, to 3 digits: 180 KB.
#[expect(
    clippy::expect_used,
    reason = "the bounds are constants, and every run and test makes one"
)]
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, GAP_MOST_NS, 3).expect("the bounds are in order")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time per token is positive and shorter than 584 years"
)]
fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

#[cfg(test)]
mod tests;
