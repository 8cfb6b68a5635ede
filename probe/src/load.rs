//! From an engine's metrics to its load.
//!
//! Several series of one family are added up: engines of one server, models, sources of a cache. Those that differ only in
//! the rank that tells them are one thing told several times, of which the largest holds.

use crate::exposition::{Lines, Sample};
use measure::EngineLoad;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Series of one quantity that are kept apart; what comes after is left out.
const SERIES_MAX: usize = 64;

/// Labels that name a rank.
const RANKS: &[&str] = &["tp_rank", "pp_rank", "moe_ep_rank", "ep_rank", "pid"];

/// Reads a load out of an exposition, as its bytes come.
#[derive(Debug, Default)]
pub struct LoadReader {
    lines: Lines,
    found: Found,
}

#[derive(Debug, Default)]
struct Found {
    running: Series,
    waiting: Series,
    kv_usage: Series,
    prefix_hits: Series,
    prefix_queries: Series,
}

/// Values by the hash of name and labels, ranks left out.
#[derive(Debug, Default)]
struct Series(Vec<(u64, f64)>);

// ---- LoadReader

impl LoadReader {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let found = &mut self.found;
        self.lines.push(bytes, |line| found.line(line));
    }

    /// The load, if the exposition says anything of it. Its age is yet to be set.
    pub fn finish(mut self) -> Option<EngineLoad> {
        let found = &mut self.found;
        self.lines.finish(|line| found.line(line));
        let load = EngineLoad {
            running: found.running.count(),
            waiting: found.waiting.count(),
            kv_usage: found.kv_usage.mean(),
            prefix_hits: found.prefix_hits.count(),
            prefix_queries: found.prefix_queries.count(),
            ..EngineLoad::default()
        };
        (load != EngineLoad::default()).then_some(load)
    }
}

impl Found {
    fn line(&mut self, line: &[u8]) {
        // Most of an exposition is comments and buckets: they are told by the first byte or the name.
        if line.first() == Some(&b'#') {
            return;
        }
        let Some(sample) = Sample::parse(line) else {
            return;
        };
        let series = match sample.name {
            "vllm:num_requests_running"
            | "sglang:num_running_reqs"
            | "trtllm_num_requests_running"
            | "tgi_batch_current_size"
            | "llamacpp:requests_processing" => &mut self.running,
            "vllm:num_requests_waiting"
            | "sglang:num_queue_reqs"
            | "trtllm_num_requests_waiting"
            | "tgi_queue_size"
            | "llamacpp:requests_deferred" => &mut self.waiting,
            "vllm:kv_cache_usage_perc"
            | "vllm:gpu_cache_usage_perc"
            | "sglang:token_usage"
            | "trtllm_kv_cache_utilization"
            | "llamacpp:kv_cache_usage_ratio" => &mut self.kv_usage,
            "vllm:prefix_cache_hits_total"
            | "sglang:cached_tokens_total"
            | "trtllm_prompt_cached_tokens_total" => &mut self.prefix_hits,
            "vllm:prefix_cache_queries_total"
            | "sglang:prompt_tokens_total"
            | "trtllm_prompt_tokens_total"
            // What was processed; what came from the cache comes on top.
            | "llamacpp:prompt_tokens_total" => &mut self.prefix_queries,
            "llamacpp:prompt_tokens_cached_total" => {
                self.prefix_queries.add(&sample);
                &mut self.prefix_hits
            }
            "nv_trt_llm_request_metrics" => match sample.label("request_type").as_deref() {
                Some("scheduled") => &mut self.running,
                Some("waiting") => &mut self.waiting,
                _ => return,
            },
            "nv_trt_llm_kv_cache_block_metrics" => {
                match sample.label("kv_cache_block_type").as_deref() {
                    Some("fraction") => &mut self.kv_usage,
                    _ => return,
                }
            }
            _ => return,
        };
        series.add(&sample);
    }
}

// ---- Series

impl Series {
    fn add(&mut self, sample: &Sample<'_>) {
        if !sample.value.is_finite() || sample.value < 0.0 {
            return;
        }
        let mut hasher = DefaultHasher::new();
        sample.name.hash(&mut hasher);
        for label in sample.labels().filter(|(name, _)| !RANKS.contains(name)) {
            label.hash(&mut hasher);
        }
        let key = hasher.finish();
        if let Some((_, value)) = self.0.iter_mut().find(|(other, _)| *other == key) {
            *value = value.max(sample.value);
        } else if self.0.len() < SERIES_MAX {
            self.0.push((key, sample.value));
        }
    }

    fn sum(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().map(|(_, value)| value).sum())
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and what is above 2⁶⁴ saturates"
    )]
    fn count(&self) -> Option<u64> {
        self.sum().map(|sum| sum.round() as u64)
    }

    #[expect(clippy::cast_precision_loss, reason = "at most 64")]
    fn mean(&self) -> Option<f64> {
        self.sum().map(|sum| sum / self.0.len() as f64)
    }
}
