//! One answer in the words of other tools: what they call TPOT and ITL, to compare with what they print.
//!
//! What *we* call by these names is `measure`'s and comes from its records. A record keeps its gaps as a histogram; who
//! wants the sequence keeps the bursts, and reads it here. Other tools' formulas differ in the first token and in the
//! denominator:
//!
//! | form | formula | used by |
//! | --- | --- | --- |
//! | N − 1 | (last − first)/(N − 1) | MLPerf LoadGen, vLLM's `bench serve`; AIPerf calls it ITL |
//! | including the first | (last − body_sent)/N | GuideLLM |
//! | e2e per token | (end − body_sent)/N | inference-perf |
//!
//! Times are in seconds.

use measure::{Nanos, Record};

/// The token-bearing events of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// When it was read.
    pub at: Nanos,
    /// Its tokens, at least one.
    pub tokens: u32,
}

/// The time before a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstGap {
    /// Since the burst before.
    pub gap: Nanos,
    /// Tokens of the burst that ended it.
    pub tokens: u32,
}

/// The forms of other tools. Each is `None` where it is not defined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignForms {
    /// (last − first)/(N − 1), of two bursts or more.
    pub tpot_n_minus_1: Option<f64>,
    /// The same without asking for two bursts: 0 for a body that was not streamed.
    pub tpot_n_minus_1_unguarded: Option<f64>,
    /// (last − body_sent)/N.
    pub tpot_including_first: Option<f64>,
    /// (end − body_sent)/N.
    pub e2e_per_token: Option<f64>,
}

/// Bursts of events in order: those of one instant are one.
pub fn bursts(events: impl IntoIterator<Item = Burst>) -> Vec<Burst> {
    let mut bursts: Vec<Burst> = Vec::new();
    for event in events.into_iter().filter(|event| event.tokens > 0) {
        match bursts.last_mut() {
            Some(open) if event.at <= open.at => {
                open.tokens = open.tokens.saturating_add(event.tokens);
            }
            _ => bursts.push(event),
        }
    }
    bursts
}

/// The gaps between bursts.
pub fn gaps(bursts: &[Burst]) -> Vec<BurstGap> {
    bursts
        .iter()
        .zip(bursts.iter().skip(1))
        .map(|(before, burst)| BurstGap {
            gap: burst.at.since(before.at),
            tokens: burst.tokens,
        })
        .collect()
}

/// Inter-token latencies, shared: a gap g before n tokens is n times g/n.
pub fn itl_spread(gaps: &[BurstGap]) -> Vec<f64> {
    let shares = |gap: &BurstGap| {
        let share = gap.gap.as_secs_f64() / f64::from(gap.tokens);
        (0..gap.tokens).map(move |_| share)
    };
    gaps.iter().flat_map(shares).collect()
}

/// Inter-token latencies, as tools report them that count zeros: g, then n − 1 times 0. For comparison only.
pub fn itl_burst(gaps: &[BurstGap]) -> Vec<f64> {
    let zeros = |gap: &BurstGap| (1..gap.tokens).map(|_| 0.0);
    gaps.iter()
        .flat_map(|gap| std::iter::once(gap.gap.as_secs_f64()).chain(zeros(gap)))
        .collect()
}

impl ForeignForms {
    /// Of one record.
    pub fn of(record: &Record) -> Self {
        let stamps = &record.stamps;
        let ends = stamps.first_token.zip(stamps.last_token);
        let tokens = record.output_tokens_seen() as f64;
        let unguarded = ends
            .filter(|_| tokens > 1.0)
            .map(|(first, last)| last.since(first).as_secs_f64() / (tokens - 1.0));
        let per_token = |until: Nanos| {
            let sent = stamps
                .body_sent
                .filter(|_| ends.is_some() && tokens > 0.0)?;
            Some(until.since(sent).as_secs_f64() / tokens)
        };
        Self {
            tpot_n_minus_1: unguarded.filter(|_| record.bursts >= 2),
            tpot_n_minus_1_unguarded: unguarded,
            tpot_including_first: ends.and_then(|(_, last)| per_token(last)),
            e2e_per_token: per_token(stamps.end),
        }
    }
}
