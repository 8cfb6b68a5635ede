//! Distributions, exchanges at once, shared prefixes, sessions.

use std::collections::HashMap;

use judge::prefix::{PrefixCache, Row as Served};
use judge::quantile::{Level, Sorted};
use serde::Serialize;

use super::Seen;
use super::arrivals::{PARTS, part};
use crate::Unit;

/// How values are spread. Quantiles are nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// 90 % are at most this.
    pub p90: f64,
    /// 99 % are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// What a cache without bounds would have reused of the prompts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prefixes {
    /// What blocks are counted in. Of bytes, both rates are approximate.
    pub unit: Unit,
    /// Units a block.
    pub block: u32,
    /// Rows with hashes.
    pub rows: u64,
    /// Share of the blocks that were there before.
    pub block_hit_rate: f64,
    /// Share of the prompts, in the unit, that was there before.
    pub hit_rate: f64,
    /// Rows that begin with a block that was there before.
    pub rows_that_share: u64,
}

/// Sessions and turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sessions {
    /// Sessions.
    pub sessions: u64,
    /// Rows of a session.
    pub rows: u64,
    /// Rows whose session was told by their prompts alone.
    pub inferred: u64,
    /// Turns a session, as far as they were captured.
    pub turns: Distribution,
    /// From an answer's end to the next turn, s.
    pub think_s: Option<Distribution>,
}

impl Distribution {
    /// `None` of nothing.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let values = Sorted::new(values);
        let at = |p: f64| Level::new(p).ok().and_then(|level| values.quantile(level));
        Some(Self {
            count: values.len(),
            mean: values.as_slice().iter().sum::<f64>() / values.len() as f64,
            min: values.min()?,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: values.max()?,
        })
    }
}

impl Prefixes {
    pub(super) fn of(seen: &[Seen], (unit, block): (Unit, u32)) -> Option<Self> {
        let hashed = || seen.iter().filter(|seen| !seen.hashes.is_empty());
        let size = u64::from(block.max(1));
        let served = hashed().map(|seen| Served {
            blocks: &seen.hashes,
            input_tokens: seen.units,
        });
        let reuse = PrefixCache::new(size, None).serve(served);
        let blocks: u64 = hashed().map(|seen| seen.hashes.len() as u64).sum();
        let cached: u64 = reuse
            .cached_tokens
            .iter()
            .map(|cached| cached.div_ceil(size))
            .sum();
        Some(Self {
            unit,
            block,
            rows: hashed().count() as u64,
            block_hit_rate: (blocks > 0).then(|| cached as f64 / blocks as f64)?,
            hit_rate: reuse.token_hit_rate()?,
            rows_that_share: reuse
                .cached_tokens
                .iter()
                .filter(|cached| **cached > 0)
                .count() as u64,
        })
    }
}

impl Sessions {
    pub(super) fn of(seen: &[Seen]) -> Option<Self> {
        let mut turns: HashMap<u64, u64> = HashMap::new();
        for session in seen.iter().filter_map(|seen| seen.session) {
            *turns.entry(session).or_default() += 1;
        }
        let later = seen
            .iter()
            .filter(|seen| seen.turn.is_none_or(|turn| turn > 1));
        Some(Self {
            sessions: turns.len() as u64,
            rows: turns.values().sum(),
            inferred: seen
                .iter()
                .filter(|seen| seen.session.is_some() && seen.inferred)
                .count() as u64,
            turns: Distribution::of(turns.values().map(|turns| *turns as f64))?,
            think_s: Distribution::of(
                later
                    .filter_map(|seen| seen.think_ns)
                    .map(|ns| ns as f64 / 1e9),
            ),
        })
    }
}

/// Exchanges at once: how long there were how many, and their mean in parts of the time. Only rows with an end count.
pub(super) fn concurrency(seen: &[Seen], first: i64) -> (Option<Distribution>, Vec<f64>) {
    let mut moves: Vec<(u64, i64)> = Vec::new();
    for seen in seen.iter().filter(|seen| seen.end_ns > 0) {
        let at = seen.at_ns.saturating_sub(first).max(0).unsigned_abs();
        moves.extend([(at, 1), (at.saturating_add(seen.end_ns), -1)]);
    }
    // An exchange that ends as another begins was not there with it.
    moves.sort_unstable();
    let Some((end, _)) = moves.last().copied().filter(|(end, _)| *end > 0) else {
        return (None, Vec::new());
    };
    let mut levels = Levels {
        end: end as f64,
        sums: vec![0.0; PARTS],
        held: HashMap::new(),
    };
    let (mut before, mut level) = (0, 0_i64);
    for (at, change) in moves {
        levels.hold((before as f64, at as f64), level);
        (before, level) = (at, level + change);
    }
    let width = levels.end / PARTS as f64;
    let series = levels.sums.iter().map(|sum| sum / width).collect();
    (levels.distribution(), series)
}

/// How long each level was held.
struct Levels {
    end: f64,
    /// Level times time, in each part.
    sums: Vec<f64>,
    held: HashMap<i64, f64>,
}

impl Levels {
    fn hold(&mut self, (from, to): (f64, f64), level: i64) {
        *self.held.entry(level).or_default() += to - from;
        let width = self.end / PARTS as f64;
        let last = part(to, self.end, PARTS);
        for at in part(from, self.end, PARTS)..=last {
            let inside = to.min((at as f64 + 1.0) * width) - from.max(at as f64 * width);
            if let Some(sum) = self.sums.get_mut(at) {
                *sum += inside.max(0.0) * level as f64;
            }
        }
    }

    /// Weighted by time.
    fn distribution(&self) -> Option<Distribution> {
        let mut held: Vec<(i64, f64)> = self
            .held
            .iter()
            .filter(|(_, time)| **time > 0.0)
            .map(|(level, time)| (*level, *time))
            .collect();
        held.sort_by_key(|(level, _)| *level);
        let all: f64 = held.iter().map(|(_, time)| time).sum();
        let at = |p: f64| {
            let mut sum = 0.0;
            let reached = held.iter().find(|(_, time)| {
                sum += time;
                sum >= p * all
            });
            reached.or(held.last()).map(|(level, _)| *level as f64)
        };
        Some(Distribution {
            count: held.len() as u64,
            mean: held
                .iter()
                .map(|(level, time)| *level as f64 * time)
                .sum::<f64>()
                / all,
            min: held.first()?.0 as f64,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            max: held.last()?.0 as f64,
        })
    }
}
