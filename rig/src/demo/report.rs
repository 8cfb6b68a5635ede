//! What a run found, ready to be written. Times in seconds.
//!
//! A quantile that rests on too few values is absent ([`Quantile::enough`]); the differences between the two sides are
//! there for any number, since both sides are of the same requests.

use crate::demo::pairing::{Both, Pair, Pairing};
use crate::demo::session::Finished;
use crate::process::Holding;
use crate::quantile::Quantile;
use hdrhistogram::Histogram;
use measure::{GapHistogram, Nanos, Shape};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest difference between a p95 as reported and as true that passes, in seconds.
const LIMIT_SECONDS: f64 = 0.001;

/// What a run found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What was run.
    pub settings: Settings,
    /// What became of the requests, as their clients saw it, and how their two halves found each other.
    pub requests: Requests,
    /// What became of them, as the proxy reported it, by outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// By shape, in ascending order.
    pub cells: Vec<Cell>,
    /// All together.
    pub total: Total,
    /// What the machine added to a message over a bare socket meanwhile.
    pub control: Control,
    /// Whether what is reported is true.
    pub agreement: Agreement,
    /// What this process held.
    pub process: Process,
    /// What each quantity is, by name.
    pub definitions: BTreeMap<&'static str, &'static str>,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settings {
    /// Product version.
    pub version: &'static str,
    /// The simulated deployment.
    pub engine: &'static str,
    /// How long requests were sent.
    pub seconds: f64,
    /// Requests a second, on average.
    pub rate: f64,
    /// Seed of everything.
    pub seed: u64,
}

/// Counts of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Sent: the sum of the next three and of what is still open.
    pub sent: u64,
    /// Answered to the end.
    pub answered: u64,
    /// Left by their client, as planned.
    pub left_early: u64,
    /// Without an answer, or with a broken one.
    pub failed: u64,
    /// Open at the end.
    pub in_flight_left: u64,
    /// Due but not sent, since too many were open.
    pub held_back: u64,
    /// Records that the proxy made.
    pub records: u64,
    /// Requests that the engine wrote down.
    pub truths: u64,
    /// Requests with both.
    pub paired: u64,
    /// Records and truths without the other.
    pub unpaired: u64,
    /// Pairs beyond those whose figures are kept.
    pub not_kept: u64,
    /// The most pairs whose figures are kept.
    pub kept_most: usize,
    /// Output tokens that reached clients.
    pub tokens_received: u64,
    /// Output tokens that the proxy reported.
    pub tokens_reported: u64,
    /// Output tokens that the engine wrote.
    pub tokens_true: u64,
}

/// Requests of one shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Range of the input length, tokens.
    pub input_len: String,
    /// Range of the output length, tokens; `unknown` of an answer that was cut.
    pub output_len: String,
    /// Range of the requests in flight at arrival.
    pub concurrency: String,
    /// How many.
    pub requests: usize,
    /// Time to first token.
    pub ttft: Compared,
    /// Time per output token.
    pub tpot: Compared,
}

/// All requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Total {
    /// How many.
    pub requests: usize,
    /// Time to first token.
    pub ttft: Compared,
    /// Time per output token.
    pub tpot: Compared,
    /// Largest gap of a request.
    pub longest_gap: Compared,
    /// All gaps of whole answers, whosever they are.
    pub gap: Pooled,
}

/// One quantity of several requests, on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Compared {
    /// Requests that have it.
    pub n: usize,
    /// As the proxy reported it.
    pub reported: Quantiles,
    /// As the engine wrote it down.
    pub truth: Quantiles,
    /// Reported − true, of each quantile, however few the values.
    pub difference: Quantiles,
    /// |reported − true| of a request: p95.
    pub request_difference_p95: Option<f64>,
    /// The same: largest.
    pub request_difference_max: Option<f64>,
}

/// One quantity, pooled over requests, on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pooled {
    /// Values on the proxy's side.
    pub n_reported: u64,
    /// Values on the engine's side. More, where two writes came in one read.
    pub n_true: u64,
    /// As the proxy reported it.
    pub reported: Quantiles,
    /// As the engine wrote it down, known to 0.1 %.
    pub truth: Quantiles,
    /// Reported − true, of each quantile, however few the values.
    pub difference: Quantiles,
    /// How much of the difference may be the resolution of the proxy's histogram: 1.09 % of the value.
    pub resolution: Quantiles,
}

/// Quantiles by nearest rank, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// Median.
    pub p50: Option<f64>,
    /// 95 in 100 are not larger.
    pub p95: Option<f64>,
    /// 99 in 100 are not larger.
    pub p99: Option<f64>,
}

/// A message over a bare socket of the loopback, from before its write to after its read in another thread: what the
/// machine adds to anything that crosses a socket, below which nobody can report.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Control {
    /// Messages.
    pub n: u64,
    /// How long they took.
    pub hop: Quantiles,
    /// The slowest.
    pub max: f64,
}

/// Whether what is reported is true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreement {
    /// Largest difference that passes.
    pub limit: f64,
    /// p95 of TTFT: reported − true.
    pub ttft_p95_difference: Option<f64>,
    /// p95 of the gaps: reported − true.
    pub gap_p95_difference: Option<f64>,
    /// How much of that may be the resolution of the proxy's histogram, 1.09 % of the value.
    pub gap_p95_resolution: Option<f64>,
    /// Both are within the limit, the second after its resolution; unknown if one of them is.
    pub agrees: Option<bool>,
}

/// What this process held, and what the machine gave it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Process {
    /// Before the first request.
    pub start: Holding,
    /// Half-way through the time in which requests were sent.
    pub half: Option<Holding>,
    /// When proxy and engine had stopped.
    pub end: Holding,
    /// Seconds of CPU that clients, proxy and engine have had.
    pub cpu_seconds: Option<f64>,
    /// Seconds that they were ready to run and waited for a CPU, since others had it. It is in the differences above, and is
    /// the machine's.
    pub cpu_wait_seconds: Option<f64>,
}

impl Report {
    pub(crate) fn new(finished: Finished, hops: &Histogram<u64>) -> Self {
        let Finished {
            settings,
            requests,
            process,
            pairing,
        } = finished;
        let total = Total::of(&pairing);
        Self {
            settings,
            requests,
            cells: cells(&pairing),
            agreement: Agreement::of(&total),
            total,
            control: Control::of(hops),
            process,
            outcomes: pairing.outcomes,
            definitions: definitions(),
        }
    }
}

impl Total {
    fn of(pairing: &Pairing) -> Self {
        let pairs: Vec<&Pair> = pairing.pairs.iter().collect();
        Self {
            requests: pairs.len(),
            ttft: Compared::of(&pairs, |pair| pair.ttft),
            tpot: Compared::of(&pairs, |pair| pair.tpot),
            longest_gap: Compared::of(&pairs, |pair| pair.longest_gap),
            gap: Pooled::of(&pairing.gaps_reported, &pairing.gaps_true),
        }
    }
}

fn cells(pairing: &Pairing) -> Vec<Cell> {
    let mut by_shape: BTreeMap<Shape, Vec<&Pair>> = BTreeMap::new();
    for pair in &pairing.pairs {
        by_shape.entry(pair.shape).or_default().push(pair);
    }
    let cell = |(shape, pairs): (Shape, Vec<&Pair>)| {
        let [input_len, output_len, concurrency] = shape.labels(pairing.edges()).map(str::to_owned);
        Cell {
            input_len,
            output_len,
            concurrency,
            requests: pairs.len(),
            ttft: Compared::of(&pairs, |pair| pair.ttft),
            tpot: Compared::of(&pairs, |pair| pair.tpot),
        }
    };
    by_shape.into_iter().map(cell).collect()
}

impl Compared {
    fn of(pairs: &[&Pair], quantity: impl Fn(&Pair) -> Option<Both>) -> Self {
        let both: Vec<Both> = pairs.iter().filter_map(|pair| quantity(pair)).collect();
        let sorted = |side: fn(&Both) -> Nanos| {
            let mut values: Vec<Nanos> = both.iter().map(side).collect();
            values.sort_unstable();
            values
        };
        let (reported, truth) = (sorted(|both| both.reported), sorted(|both| both.truth));
        let apart = sorted(|both| Nanos(both.reported.0.abs_diff(both.truth.0)));
        let seconds = |nanos: Nanos| nanos.as_secs_f64();
        Self {
            n: both.len(),
            reported: Quantiles::each(|quantile| quantile.stated(&reported).map(seconds)),
            truth: Quantiles::each(|quantile| quantile.stated(&truth).map(seconds)),
            difference: Quantiles::each(|quantile| {
                Some(seconds(quantile.of(&reported)?) - seconds(quantile.of(&truth)?))
            }),
            request_difference_p95: Quantile::P95.of(&apart).map(seconds),
            request_difference_max: apart.last().copied().map(seconds),
        }
    }
}

impl Pooled {
    fn of(reported: &GapHistogram, truth: &Histogram<u64>) -> Self {
        let (n_reported, n_true) = (reported.bursts(), truth.len());
        let of_reported =
            |quantile: Quantile| Some(reported.quantile(quantile.share())?.as_secs_f64());
        let of_truth = |quantile: Quantile| {
            let gap = || Nanos(truth.value_at_quantile(quantile.share())).as_secs_f64();
            (n_true > 0).then(gap)
        };
        Self {
            n_reported,
            n_true,
            reported: Quantiles::each(|quantile| {
                of_reported(quantile).filter(|_| enough(quantile, n_reported))
            }),
            truth: Quantiles::each(|quantile| {
                of_truth(quantile).filter(|_| enough(quantile, n_true))
            }),
            difference: Quantiles::each(|quantile| {
                Some(of_reported(quantile)? - of_truth(quantile)?)
            }),
            resolution: Quantiles::each(|quantile| Some(of_truth(quantile)? * half_a_bucket())),
        }
    }
}

fn enough(quantile: Quantile, n: u64) -> bool {
    n >= u64::try_from(quantile.enough()).unwrap_or(u64::MAX)
}

/// How far a value may lie from the geometric middle of its bucket in a histogram of gaps, relative to it.
fn half_a_bucket() -> f64 {
    (f64::from(-GapHistogram::SCHEMA).exp2() / 2.0).exp2() - 1.0
}

impl Quantiles {
    fn each(of: impl Fn(Quantile) -> Option<f64>) -> Self {
        let [p50, p95, p99] = Quantile::ALL.map(of);
        Self { p50, p95, p99 }
    }

    pub(crate) fn get(&self, quantile: Quantile) -> Option<f64> {
        match quantile {
            Quantile::P50 => self.p50,
            Quantile::P95 => self.p95,
            Quantile::P99 => self.p99,
        }
    }
}

impl Control {
    fn of(hops: &Histogram<u64>) -> Self {
        let seconds = |nanos| Nanos(nanos).as_secs_f64();
        let at = |quantile: Quantile| seconds(hops.value_at_quantile(quantile.share()));
        Self {
            n: hops.len(),
            hop: Quantiles::each(|quantile| enough(quantile, hops.len()).then(|| at(quantile))),
            max: seconds(hops.max()),
        }
    }
}

impl Agreement {
    fn of(total: &Total) -> Self {
        let ttft = total.ttft.difference.p95;
        let gap = total.gap.difference.p95;
        let resolution = total.gap.resolution.p95;
        let within =
            |difference: f64, resolution: f64| difference.abs() <= LIMIT_SECONDS + resolution;
        Self {
            limit: LIMIT_SECONDS,
            ttft_p95_difference: ttft,
            gap_p95_difference: gap,
            gap_p95_resolution: resolution,
            agrees: ttft
                .zip(gap)
                .zip(resolution)
                .map(|((ttft, gap), resolution)| within(ttft, 0.0) && within(gap, resolution)),
        }
    }
}

fn definitions() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        (
            "ttft",
            "first token read - last byte of the request handed to the engine; streamed answers with a first token",
        ),
        (
            "ttft_true",
            "first token written by the engine - the engine's read that completed the request",
        ),
        (
            "tpot",
            "(last token - first token) / (output tokens - tokens of the first burst); whole streamed answers",
        ),
        (
            "gap",
            "between two bursts with tokens; whole streamed answers, each gap once",
        ),
        (
            "quantile",
            "nearest rank; stated from 20 (p50), 100 (p95), 500 (p99) values on",
        ),
    ])
}
