//! A capture at a glance: lengths, arrivals, concurrency, shared prefixes, sessions, what ended how and what is missing.
//!
//! Rows go in, in any order; what comes out is plain figures, which serialise as JSON, and are written for a terminal
//! ([`Inspection`]'s `Display`) and as a page ([`Inspection::html`]). Lengths are tokens, durations seconds. Quantiles are
//! nearest rank. A figure that can't be had is absent.
//!
//! Holds in memory some 100 bytes of each row, and its hashes.

mod arrivals;
mod deployment;
mod figures;
mod html;
mod lengths;
mod spark;
mod text;

pub use arrivals::{Arrivals, Dispersion};
pub use deployment::Deployment;
pub use figures::{Distribution, Prefixes, Sessions};
pub use lengths::{Joint, Lengths};

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::{About, Level, Row, Timeline, Unit};

/// What a capture holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// Rows.
    pub rows: u64,
    /// Captures that they are of.
    pub captures: u64,
    /// Pods that wrote them.
    pub pods: u64,
    /// The most that is kept of a row.
    pub level: Option<Level>,
    /// Share of the sessions that was kept.
    pub sample: f64,
    /// First arrival, µs after 1970-01-01 UTC.
    pub first_us: i64,
    /// First arrival to last, s.
    pub span_s: f64,
    /// Prompt and output lengths.
    pub lengths: Lengths,
    /// Arrivals over time.
    pub arrivals: Arrivals,
    /// Exchanges at once, over time.
    pub concurrency: Option<Distribution>,
    /// Mean of the exchanges at once in each of up to 60 parts of the time.
    pub concurrency_series: Vec<f64>,
    /// Time to the first token, s.
    pub ttft_s: Option<Distribution>,
    /// Time per token after the first burst, s.
    pub tpot_s: Option<Distribution>,
    /// Duration, s.
    pub e2e_s: Option<Distribution>,
    /// What an infinite cache would have reused.
    pub prefixes: Option<Prefixes>,
    /// Sessions and turns.
    pub sessions: Option<Sessions>,
    /// Rows by model asked for.
    pub models: BTreeMap<String, u64>,
    /// Rows by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Rows that are missing, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// The kind of deployment that it looks like.
    pub deployment: Deployment,
}

/// Takes rows, and makes an [`Inspection`] of them.
#[derive(Debug, Default)]
pub struct Inspector {
    timeline: Timeline,
    seen: Vec<Seen>,
    captures: HashSet<String>,
    pods: HashSet<String>,
    level: Option<Level>,
    sample: Option<f64>,
    blocks: Option<(Unit, u32)>,
    /// Blocks of two kinds were met: what they share can't be told.
    mixed: bool,
    models: HashMap<String, u64>,
    outcomes: BTreeMap<String, u64>,
    dropped: BTreeMap<String, u64>,
}

/// What is kept of a row until all are there.
#[derive(Debug, Clone, Default)]
struct Seen {
    at_ns: i64,
    end_ns: u64,
    input: Option<u64>,
    output: Option<u64>,
    ttft_ns: Option<u64>,
    tpot_ns: Option<f64>,
    e2e_ns: Option<u64>,
    streamed: Option<bool>,
    session: Option<u64>,
    inferred: bool,
    turn: Option<u32>,
    think_ns: Option<u64>,
    units: u64,
    hashes: Vec<u64>,
}

impl Inspector {
    /// Takes a row of a segment.
    pub fn take(&mut self, about: &About, row: Row) {
        self.head(about);
        if let Some(count) = self
            .models
            .get_mut(row.model.as_deref().unwrap_or("unknown"))
        {
            *count += 1;
        } else {
            self.models
                .insert(row.model.clone().unwrap_or_else(|| "unknown".to_owned()), 1);
        }
        *self.outcomes.entry(row.outcome.clone()).or_default() += 1;
        self.seen.push(Seen {
            at_ns: self.timeline.at_ns(about, &row),
            end_ns: row.end_ns,
            input: row.input_tokens,
            output: row.output_tokens,
            ttft_ns: row.ttft_ns(),
            tpot_ns: row.tpot_ns(),
            e2e_ns: row.e2e_ns().filter(|ns| *ns > 0),
            streamed: row.stream,
            session: row.session,
            inferred: row.session_by.as_deref() == Some("prefix"),
            turn: row.turn,
            think_ns: row.think_ns,
            units: row.prompt_units.unwrap_or(0),
            hashes: row.blocks,
        });
    }

    /// Counts rows that were not kept.
    pub fn dropped(&mut self, reason: &str, rows: u64) {
        *self.dropped.entry(reason.to_owned()).or_default() += rows;
    }

    /// All rows were taken.
    pub fn finish(mut self) -> Inspection {
        self.seen.sort_by_key(|seen| seen.at_ns);
        let first = self.seen.first().map_or(0, |seen| seen.at_ns);
        let after = |seen: &Seen| seen.at_ns.saturating_sub(first) as f64 / 1e9;
        let times: Vec<f64> = self.seen.iter().map(after).collect();
        let span_s = times.last().copied().unwrap_or(0.0);
        let lengths = Lengths::of(&self.seen);
        let (concurrency, concurrency_series) = figures::concurrency(&self.seen, first);
        let seconds =
            |of: fn(&Seen) -> Option<f64>| Distribution::of(self.seen.iter().filter_map(of));
        Inspection {
            rows: self.seen.len() as u64,
            captures: self.captures.len() as u64,
            pods: self.pods.len() as u64,
            level: self.level,
            sample: self.sample.unwrap_or(1.0),
            first_us: first.div_euclid(1000),
            span_s,
            arrivals: Arrivals::of(&times, span_s),
            concurrency,
            concurrency_series,
            ttft_s: seconds(|seen| seen.ttft_ns.map(|ns| ns as f64 / 1e9)),
            tpot_s: seconds(|seen| seen.tpot_ns.map(|ns| ns / 1e9)),
            e2e_s: seconds(|seen| seen.e2e_ns.map(|ns| ns as f64 / 1e9)),
            prefixes: self
                .blocks
                .filter(|_| !self.mixed)
                .and_then(|blocks| Prefixes::of(&self.seen, blocks)),
            sessions: Sessions::of(&self.seen),
            deployment: Deployment::of(&lengths, &self.seen),
            lengths,
            models: self.models.into_iter().collect(),
            outcomes: self.outcomes,
            dropped: self.dropped,
        }
    }

    fn head(&mut self, about: &About) {
        if !self.captures.contains(&about.capture) {
            self.captures.insert(about.capture.clone());
        }
        if !self.pods.contains(&about.pod) {
            self.pods.insert(about.pod.clone());
        }
        self.level = self.level.max(Some(about.level));
        self.sample = Some(self.sample.unwrap_or(1.0).min(about.sample));
        let blocks = (about.unit, about.block);
        self.mixed |= self.blocks.is_some_and(|before| before != blocks);
        self.blocks = Some(blocks);
    }
}

#[cfg(test)]
mod tests;
