//! `/metrics` of each engine: its own names, with what the simulated engine truly holds and has done.
//!
//! Only metrics whose value the simulation knows are there; the info metrics describe it as a deployment in bf16.

use std::fmt::Write;

use wire::EngineKind;

use crate::answer::Voice;
use crate::engine::{Load, Work};
use crate::profile::Profile;

/// What a metric says.
#[derive(Debug, Clone, Copy)]
enum Value {
    Running,
    Waiting,
    /// Part of the KV cache that is held, from 0 to 1.
    KvUsage,
    KvTokens,
    PromptTokens,
    CachedTokens,
    /// Cached ÷ prompt tokens, from 0 to 1.
    HitRate,
    GeneratedTokens,
    Preemptions,
    Finished,
    One,
}

/// A metric with one series.
struct Metric {
    name: &'static str,
    kind: &'static str,
    /// Labels beside the model's.
    labels: &'static str,
    value: Value,
}

/// The metrics of an engine, in Prometheus' text format.
pub(crate) fn text(voice: &Voice, profile: &Profile, (load, work): (Load, Work)) -> String {
    let (model_label, metrics) = table(voice.personality.engine);
    let model = voice
        .model
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    let mut text = String::new();
    for metric in metrics.iter().flat_map(|metrics| metrics.iter()) {
        let Metric {
            name, kind, labels, ..
        } = metric;
        let value = metric.value.of(profile, load, work);
        let comma = if labels.is_empty() { "" } else { "," };
        // Writing to a string can't fail.
        let _ = match model_label {
            Some(label) => writeln!(
                text,
                "# TYPE {name} {kind}\n{name}{{{labels}{comma}{label}=\"{model}\"}} {value:?}"
            ),
            None => writeln!(text, "# TYPE {name} {kind}\n{name} {value:?}"),
        };
    }
    text
}

/// The name of the label with the model's name, and the metrics.
fn table(engine: EngineKind) -> (Option<&'static str>, &'static [&'static [Metric]]) {
    match engine {
        EngineKind::Vllm => (Some("model_name"), &[VLLM]),
        EngineKind::Sglang => (Some("model_name"), &[SGLANG]),
        EngineKind::Trtllm => (Some("model_name"), &[TRTLLM]),
        EngineKind::Triton => (Some("model"), &[TRITON, VLLM]),
        EngineKind::Tgi => (None, &[TGI]),
        EngineKind::LlamaCpp => (None, &[LLAMACPP]),
    }
}

const fn gauge(name: &'static str, labels: &'static str, value: Value) -> Metric {
    Metric {
        name,
        kind: "gauge",
        labels,
        value,
    }
}

const fn counter(name: &'static str, labels: &'static str, value: Value) -> Metric {
    Metric {
        name,
        kind: "counter",
        labels,
        value,
    }
}

const ENGINE: &str = "engine=\"0\"";

const VLLM: &[Metric] = &[
    gauge("vllm:num_requests_running", ENGINE, Value::Running),
    gauge("vllm:num_requests_waiting", ENGINE, Value::Waiting),
    gauge("vllm:kv_cache_usage_perc", ENGINE, Value::KvUsage),
    counter(
        "vllm:prefix_cache_queries_total",
        ENGINE,
        Value::PromptTokens,
    ),
    counter("vllm:prefix_cache_hits_total", ENGINE, Value::CachedTokens),
    counter("vllm:prompt_tokens_total", ENGINE, Value::PromptTokens),
    counter(
        "vllm:generation_tokens_total",
        ENGINE,
        Value::GeneratedTokens,
    ),
    counter("vllm:num_preemptions_total", ENGINE, Value::Preemptions),
    gauge(
        "vllm:cache_config_info",
        "block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\"",
        Value::One,
    ),
];

const SGLANG: &[Metric] = &[
    gauge("sglang:num_running_reqs", "tp_rank=\"0\"", Value::Running),
    gauge("sglang:num_queue_reqs", "tp_rank=\"0\"", Value::Waiting),
    gauge("sglang:token_usage", "tp_rank=\"0\"", Value::KvUsage),
    gauge("sglang:kv_used_tokens", "tp_rank=\"0\"", Value::KvTokens),
    gauge("sglang:cache_hit_rate", "tp_rank=\"0\"", Value::HitRate),
    counter(
        "sglang:num_retracted_reqs",
        "tp_rank=\"0\"",
        Value::Preemptions,
    ),
    counter("sglang:prompt_tokens_total", "", Value::PromptTokens),
    counter("sglang:generation_tokens_total", "", Value::GeneratedTokens),
    counter(
        "sglang:cached_tokens_total",
        "cache_source=\"device\"",
        Value::CachedTokens,
    ),
    counter("sglang:num_requests_total", "", Value::Finished),
];

const TRTLLM: &[Metric] = &[
    gauge("trtllm_num_requests_running", "", Value::Running),
    gauge("trtllm_num_requests_waiting", "", Value::Waiting),
    gauge("trtllm_kv_cache_utilization", "", Value::KvUsage),
    gauge("trtllm_kv_cache_hit_rate", "", Value::HitRate),
    counter("trtllm_prompt_tokens_total", "", Value::PromptTokens),
    counter("trtllm_prompt_cached_tokens_total", "", Value::CachedTokens),
    counter("trtllm_generation_tokens_total", "", Value::GeneratedTokens),
    gauge(
        "trtllm_model_config_info",
        "dtype=\"bfloat16\",gpu_type=\"simulated\",quantization=\"none\"",
        Value::One,
    ),
    gauge(
        "trtllm_kv_cache_config_info",
        "cache_dtype=\"auto\"",
        Value::One,
    ),
];

const TRITON: &[Metric] = &[
    counter(
        "nv_inference_request_success",
        "version=\"1\"",
        Value::Finished,
    ),
    gauge(
        "nv_inference_pending_request_count",
        "version=\"1\"",
        Value::Waiting,
    ),
];

const TGI: &[Metric] = &[
    gauge("tgi_batch_current_size", "", Value::Running),
    gauge("tgi_queue_size", "", Value::Waiting),
    counter("tgi_request_success", "", Value::Finished),
];

const LLAMACPP: &[Metric] = &[
    gauge("llamacpp:requests_processing", "", Value::Running),
    gauge("llamacpp:requests_deferred", "", Value::Waiting),
    counter("llamacpp:prompt_tokens_total", "", Value::PromptTokens),
    counter(
        "llamacpp:prompt_tokens_cached_total",
        "",
        Value::CachedTokens,
    ),
    counter(
        "llamacpp:tokens_predicted_total",
        "",
        Value::GeneratedTokens,
    ),
];

impl Value {
    fn of(self, profile: &Profile, load: Load, work: Work) -> f64 {
        let blocks = f64::from(load.kv_blocks);
        match self {
            Self::Running => load.running.into(),
            Self::Waiting => load.waiting.into(),
            Self::KvUsage => blocks / f64::from(profile.kv_blocks.max(1)),
            Self::KvTokens => blocks * f64::from(profile.block_tokens.get()),
            Self::PromptTokens => count(work.prompt_tokens),
            Self::CachedTokens => count(work.cached_tokens),
            Self::HitRate => count(work.cached_tokens) / count(work.prompt_tokens.max(1)),
            Self::GeneratedTokens => count(work.generated_tokens),
            Self::Preemptions => count(load.preemptions),
            Self::Finished => count(work.finished),
            Self::One => 1.0,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn count(whole: u64) -> f64 {
    whole as f64
}
