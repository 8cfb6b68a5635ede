//! One side of a comparison, and its figures.

use crate::censoring::CensoredQuantile;
use crate::dependence::QuantileInterval;
use crate::observation::{Ending, Observation, Quantity};
use crate::quantile::Level;
use crate::saturation::Saturation;
use crate::warm_up::WarmUp;
use measure::{Blame, Nanos, Outcome, Record};

/// Two-sided confidence of the intervals that are shown.
const SHOWN: f64 = 0.95;

/// One side.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'a> {
    /// Its records, in order of arrival.
    pub records: &'a [&'a Record],
    /// Engines that served them.
    pub replicas: u32,
}

/// Quantiles of a latency on one side, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Exchanges that have it or were cut before they had it.
    pub n: u64,
    /// Of those, cut before.
    pub censored: u64,
    /// Median, with what was cut as longer than everything.
    pub p50: f64,
    /// The same at 95 %.
    pub p95: f64,
    /// The same at 99 %.
    pub p99: f64,
    /// 95 % interval of p95, dependence allowed for; `None` of too few.
    pub p95_interval: Option<QuantileInterval>,
    /// p95 by Kaplan and Meier, where what was cut makes a difference.
    pub p95_kaplan_meier: Option<f64>,
}

/// Figures of one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmFigures {
    /// Requests.
    pub requests: u64,
    /// Answered whole.
    pub ok: u64,
    /// Bad: the engine's fault, or too slow for a limit.
    pub bad: u64,
    /// From the first arrival to the last end, in seconds.
    pub seconds: f64,
    /// Arrivals a second.
    pub rate: Option<f64>,
    /// Generated tokens a second.
    pub output_rate: Option<f64>,
    /// Median input, in tokens.
    pub input_p50: Option<f64>,
    /// Median output, in tokens.
    pub output_p50: Option<f64>,
    /// Mean number in flight that a request met.
    pub in_flight: Option<f64>,
    /// Share of the input tokens that came from a cache, by the engine's word.
    pub hit_rate: Option<f64>,
    /// Time to first token.
    pub ttft: Option<Spread>,
    /// Time per output token.
    pub tpot: Option<Spread>,
}

/// Whether an answer counts against an engine: its own failure, or a limit of ours that it ran into.
pub(super) fn is_bad(record: &Record) -> bool {
    record.outcome.blame() == Blame::Engine
        || matches!(record.outcome, Outcome::TimeoutTtft | Outcome::TimeoutIdle)
}

/// Requests until the side has settled: by the cut of MSER-5 on TTFT, and not before as long as 99 % of the exchanges take.
/// `None` if it never settles.
pub(super) fn warm_up(records: &[&Record]) -> Option<usize> {
    let seen = |record: &&&Record| Quantity::Ttft.of(record).is_some();
    let with_ttft: Vec<usize> = records
        .iter()
        .enumerate()
        .filter(|(_, record)| seen(record))
        .map(|(at, _)| at)
        .collect();
    let values: Vec<f64> = records
        .iter()
        .filter_map(|record| Quantity::Ttft.of(record))
        .map(|one| one.at(Ending::Value))
        .collect();
    if values.is_empty() {
        return Some(0);
    }
    let cut = WarmUp::of(&values);
    if !cut.stationary {
        return None;
    }
    let by_values = with_ttft.get(cut.values()).copied().unwrap_or(0);
    Some(by_values.max(first_lives(records)))
}

/// Requests that arrived before as much time had passed as 99 % of the exchanges take.
fn first_lives(records: &[&Record]) -> usize {
    let lives = records.iter().filter_map(|record| record.e2e().value());
    let lives: Vec<f64> = lives.map(Nanos::as_secs_f64).collect();
    let Some(life) = crate::quantile::nearest_rank(&lives, Level::P99) else {
        return 0;
    };
    let began = records
        .first()
        .map_or(Nanos::ZERO, |first| first.stamps.arrival);
    records
        .iter()
        .take_while(|record| record.stamps.arrival.since(began).as_secs_f64() < life)
        .count()
}

impl<'a> Arm<'a> {
    /// Without its first `count` requests.
    pub(super) fn after(self, count: usize) -> Self {
        Self {
            records: self.records.get(count..).unwrap_or_default(),
            ..self
        }
    }

    /// From the first arrival to the last end, in seconds.
    fn seconds(&self) -> f64 {
        let began = self.records.first().map(|first| first.stamps.arrival);
        let ended = self.records.iter().map(|record| record.stamps.end).max();
        match (began, ended) {
            (Some(began), Some(ended)) => ended.since(began).as_secs_f64(),
            _ => 0.0,
        }
    }

    /// Arrivals a second, from the first to the last.
    pub(super) fn rate(&self) -> Option<f64> {
        let first = self.records.first()?.stamps.arrival;
        let last = self.records.last()?.stamps.arrival;
        let gaps = self.records.len().checked_sub(1)? as f64;
        let span = last.since(first).as_secs_f64();
        (span > 0.0).then(|| gaps / span)
    }

    /// Arrivals a second at each replica.
    pub(super) fn rate_each(&self) -> Option<f64> {
        Some(self.rate()? / f64::from(self.replicas.max(1)))
    }

    /// Share of the input tokens that came from a cache, where the engine says it of every request.
    pub(super) fn hit_rate(&self) -> Option<f64> {
        let (mut cached, mut input) = (0_u64, 0_u64);
        for record in self
            .records
            .iter()
            .filter(|record| record.outcome == Outcome::Ok)
        {
            cached += record.cached_tokens?;
            input += record.input_tokens?;
        }
        (input > 0).then(|| cached as f64 / input as f64)
    }

    /// Its queue grows.
    pub(super) fn saturated(&self) -> bool {
        let with_ttft = self
            .records
            .iter()
            .filter_map(|record| Some((record, Quantity::Ttft.of(record)?)));
        let (in_flight, ttft): (Vec<f64>, Vec<f64>) = with_ttft
            .map(|(record, ttft)| {
                let met = f64::from(record.in_flight.at_arrival);
                (met, ttft.at(Ending::Value))
            })
            .unzip();
        Saturation::of(&in_flight, &ttft).is_some_and(|trend| trend.saturated())
    }

    /// Its figures.
    pub(super) fn figures(&self) -> ArmFigures {
        let count = |that: fn(&Record) -> bool| {
            self.records.iter().filter(|record| that(record)).count() as u64
        };
        let median = |of: fn(&Record) -> Option<u64>| {
            let values = self.records.iter().filter_map(|record| of(record));
            let values: Vec<f64> = values.map(|value| value as f64).collect();
            crate::quantile::nearest_rank(&values, Level::P50)
        };
        let met = self
            .records
            .iter()
            .map(|record| record.in_flight.at_arrival);
        let met: f64 = met.map(f64::from).sum();
        let tokens: u64 = self
            .records
            .iter()
            .map(|one| one.output_tokens_seen())
            .sum();
        let (seconds, requests) = (self.seconds(), self.records.len() as u64);
        ArmFigures {
            requests,
            ok: count(|record| record.outcome == Outcome::Ok),
            bad: count(is_bad),
            seconds,
            rate: self.rate(),
            output_rate: (seconds > 0.0).then(|| tokens as f64 / seconds),
            input_p50: median(|record| record.input_tokens),
            output_p50: median(|record| record.output_tokens),
            in_flight: (requests > 0).then(|| met / requests as f64),
            hit_rate: self.hit_rate(),
            ttft: self.spread(Quantity::Ttft),
            tpot: self.spread(Quantity::Tpot),
        }
    }

    fn spread(&self, quantity: Quantity) -> Option<Spread> {
        let values = quantity.population(self.records.iter().copied());
        let seen: Vec<f64> = values.iter().map(|one| one.at(Ending::Infinite)).collect();
        let at = |level| crate::quantile::nearest_rank(&seen, level);
        let interval = QuantileInterval::of(&values, Ending::Infinite, Level::P95, SHOWN);
        let censored = values
            .iter()
            .filter(|one: &&Observation| one.censored)
            .count();
        let kaplan_meier = CensoredQuantile::of(&values, Level::P95);
        Some(Spread {
            n: values.len() as u64,
            censored: censored as u64,
            p50: at(Level::P50)?,
            p95: at(Level::P95)?,
            p99: at(Level::P99)?,
            p95_interval: interval.ok().flatten(),
            p95_kaplan_meier: kaplan_meier
                .filter(|_| censored > 0)
                .and_then(|quantile| quantile.kaplan_meier),
        })
    }
}
