//! Arithmetic of planning figures: what a quoted TTFT, TPOT and throughput would mean together.
//!
//! These are estimates, never measurements. In particular TTFT + N·TPOT overstates the time to the last token by one TPOT,
//! since of N tokens only N − 1 come after the first. No function here turns a mean into a p95: that has to be measured
//! under one's own concurrency.
//!
//! Times are in milliseconds where a name says so.

use crate::numeric::floor;

/// By how much more than stated a load may need before the statement is taken as inconsistent: figures are rounded.
const ROUNDING: f64 = 1.02;

/// Quoted figures of one answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Time to first token.
    pub ttft_ms: f64,
    /// Time per output token.
    pub tpot_ms: f64,
    /// N.
    pub output_tokens: f64,
}

/// What would have to change for an end-to-end target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Remedy {
    /// The planning estimate.
    pub e2e_ms: f64,
    /// It is above the target.
    pub misses_target: bool,
    /// TTFT alone is above the target: neither faster decoding nor shorter output helps.
    pub ttft_alone_misses: bool,
    /// TPOT that would keep the target: (T − TTFT)/N.
    pub required_tpot_ms: Option<f64>,
    /// Tokens that would keep the target: ⌊(T − TTFT)/TPOT⌋.
    pub most_output_tokens: Option<u64>,
}

/// Quoted figures that are said to hold together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatingPoint {
    /// Output tokens per second, over all streams.
    pub throughput_tok_s: f64,
    /// Tokens of an answer.
    pub output_tokens: f64,
    /// End to end, in seconds.
    pub e2e_s: f64,
    /// Streams at once, as stated.
    pub stated_concurrency: f64,
}

// Answer

impl Answer {
    /// N·TPOT.
    pub fn decode_ms(&self) -> f64 {
        self.output_tokens * self.tpot_ms
    }

    /// The planning estimate TTFT + N·TPOT.
    pub fn planned_e2e_ms(&self) -> f64 {
        self.ttft_ms + self.decode_ms()
    }

    /// TTFT + (N − 1)·TPOT, the identity for TPOT = (last − first)/(N − 1).
    pub fn e2e_ms(&self) -> f64 {
        self.ttft_ms + (self.output_tokens - 1.0) * self.tpot_ms
    }

    /// What would have to change to answer within `target_ms`.
    pub fn remedy(&self, target_ms: f64) -> Remedy {
        let e2e_ms = self.planned_e2e_ms();
        let left = target_ms - self.ttft_ms;
        let helps = left >= 0.0;
        Remedy {
            e2e_ms,
            misses_target: e2e_ms > target_ms,
            ttft_alone_misses: !helps,
            required_tpot_ms: helps.then(|| left / self.output_tokens),
            most_output_tokens: helps.then(|| floor(left / self.tpot_ms)),
        }
    }
}

/// Milliseconds as seconds with one decimal, halves up.
pub fn rounded_seconds(ms: f64) -> f64 {
    floor(ms / 100.0 + 0.5) as f64 / 10.0
}

/// Completions per second: throughput over output tokens.
pub fn completions_per_s(throughput_tok_s: f64, output_tokens: f64) -> f64 {
    throughput_tok_s / output_tokens
}

/// The same rounded down to a whole number, as quotes do.
pub fn whole_completions_per_s(throughput_tok_s: f64, output_tokens: f64) -> u64 {
    floor(completions_per_s(throughput_tok_s, output_tokens))
}

/// Cost of one of `rate` units a second, at a price of a GPU-hour: C/(X·3600).
pub fn cost_per_unit(gpu_hour: f64, rate: f64) -> f64 {
    gpu_hour / (rate * 3600.0)
}

// OperatingPoint

impl OperatingPoint {
    /// In flight that the throughput takes, by Little's law: X·R.
    pub fn required_concurrency(&self) -> f64 {
        completions_per_s(self.throughput_tok_s, self.output_tokens) * self.e2e_s
    }

    /// Requests per second that the stated concurrency can give: n/R.
    pub fn most_req_s(&self) -> f64 {
        self.stated_concurrency / self.e2e_s
    }

    /// Output tokens per second that it can give: n·N/R.
    pub fn most_tok_s(&self) -> f64 {
        self.stated_concurrency * self.output_tokens / self.e2e_s
    }

    /// Throughput of one stream at the stated concurrency.
    pub fn tok_s_per_stream(&self) -> f64 {
        self.throughput_tok_s / self.stated_concurrency
    }

    /// TPOT that the throughput implies at the stated concurrency: n over tokens per second.
    pub fn implied_tpot_ms(&self) -> f64 {
        1000.0 * self.stated_concurrency / self.throughput_tok_s
    }

    /// The figures can be one operating point: X·R ≤ 1.02·n.
    pub fn is_consistent(&self) -> bool {
        self.required_concurrency() <= ROUNDING * self.stated_concurrency
    }
}
