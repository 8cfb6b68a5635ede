//! Routes on which engines say who they are and how they feel. What is said is the simulated deployment: its model's name,
//! its limits, bf16 weights; versions are those that the dialects were taken from.

use serde_json::{Value, json};
use wire::EngineKind;

use crate::answer::Voice;
use crate::engine::{Load, Work};
use crate::gauges;
use crate::personality::VLLM_VERSION;
use crate::profile::Profile;

/// A body with its content type; nothing for an empty one.
pub(crate) type Said = (Option<&'static str>, String);

/// Who is asked.
pub(crate) struct Identity<'a> {
    pub(crate) voice: &'a Voice,
    pub(crate) profile: &'a Profile,
    pub(crate) state: (Load, Work),
}

const JSON: &str = "application/json";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

impl Identity<'_> {
    /// What the engine says on a route, or nothing if it has no such one.
    pub(crate) fn say(&self, path: &str) -> Option<Said> {
        let engine = self.voice.personality.engine;
        if is_metrics(engine, path) {
            let text = gauges::text(self.voice, self.profile, self.state);
            return Some((Some(PROMETHEUS), text));
        }
        let value = match engine {
            EngineKind::Vllm => self.vllm(path),
            EngineKind::Sglang => self.sglang(path),
            EngineKind::Trtllm => self.trtllm(path),
            EngineKind::Triton => self.triton(path),
            EngineKind::Tgi => self.tgi(path),
            EngineKind::LlamaCpp => self.llamacpp(path),
        };
        match value? {
            Value::Null => Some((None, String::new())),
            value => Some((Some(JSON), value.to_string())),
        }
    }

    fn vllm(&self, path: &str) -> Option<Value> {
        let model = &self.voice.model;
        Some(match path {
            "/health" => Value::Null,
            "/version" => json!({ "version": format!("{VLLM_VERSION}+sim") }),
            "/v1/models" => self.models(json!({
                "owned_by": "vllm",
                "root": model,
                "parent": null,
                "max_model_len": self.profile.max_model_len,
            })),
            "/server_info" => json!({ "vllm_config": {
                "model_config": { "model": model, "dtype": "torch.bfloat16", "quantization": null },
                "cache_config": { "cache_dtype": "auto", "block_size": self.profile.block_tokens.get() },
                "parallel_config": { "tensor_parallel_size": 1 },
            }}),
            _ => return None,
        })
    }

    fn sglang(&self, path: &str) -> Option<Value> {
        let model = &self.voice.model;
        Some(match path {
            "/health" => Value::Null,
            "/v1/models" => self.models(json!({
                "owned_by": "sglang",
                "root": model,
                "max_model_len": self.profile.max_model_len,
            })),
            "/model_info" | "/get_model_info" => json!({
                "model_path": model,
                "served_model_name": model,
                "tokenizer_path": model,
                "is_generation": true,
                "weight_version": "default",
                "load_format": "auto",
            }),
            "/server_info" | "/get_server_info" => json!({
                "model_path": model,
                "served_model_name": model,
                "dtype": "bfloat16",
                "quantization": null,
                "kv_cache_dtype": "auto",
                "tp_size": 1,
                "context_length": self.profile.max_model_len,
                "version": "0.5.23",
            }),
            _ => return None,
        })
    }

    fn trtllm(&self, path: &str) -> Option<Value> {
        Some(match path {
            "/health" => Value::Null,
            "/version" => json!({ "version": "1.3.0" }),
            "/v1/models" => self.models(json!({ "owned_by": "tensorrt_llm" })),
            "/server_info" => json!({ "disaggregated_params": {} }),
            // Statistics of iterations, of which there are none to tell.
            "/metrics" => json!([]),
            _ => return None,
        })
    }

    fn triton(&self, path: &str) -> Option<Value> {
        let model = self.voice.model.as_str();
        let own = path.strip_prefix("/v2/models/");
        Some(
            match own.map(|own| own.split_once('/').unwrap_or((own, ""))) {
                Some((name, "")) if name == model => json!({
                    "name": model,
                    "versions": ["1"],
                    "platform": "python",
                    "inputs": [{ "name": "text_input", "datatype": "BYTES", "shape": [1] }],
                    "outputs": [{ "name": "text_output", "datatype": "BYTES", "shape": [-1] }],
                }),
                Some((name, "config")) if name == model => json!({
                    "name": model,
                    "backend": "vllm",
                    "max_batch_size": 0,
                    "model_transaction_policy": { "decoupled": true },
                }),
                Some((name, "ready")) if name == model => Value::Null,
                Some(_) => return None,
                None => match path {
                    "/v2/health/live" | "/v2/health/ready" => Value::Null,
                    "/v2" => json!({
                        "name": "triton",
                        "version": "2.73.0",
                        "extensions": ["generate", "schedule_policy", "statistics"],
                    }),
                    "/v1/models" => self.models(json!({ "owned_by": "Triton Inference Server" })),
                    _ => return None,
                },
            },
        )
    }

    fn tgi(&self, path: &str) -> Option<Value> {
        let model = &self.voice.model;
        Some(match path {
            "/health" => Value::Null,
            "/v1/models" => self.models(json!({ "owned_by": model })),
            "/info" => json!({
                "model_id": model,
                "model_sha": null,
                "model_pipeline_tag": "text-generation",
                "max_concurrent_requests": self.profile.max_waiting,
                "max_best_of": 1,
                "max_input_tokens": self.profile.max_model_len.saturating_sub(1),
                "max_total_tokens": self.profile.max_model_len,
                "router": "text-generation-router",
                "version": "3.3.6-dev0",
                "docker_label": null,
            }),
            _ => return None,
        })
    }

    fn llamacpp(&self, path: &str) -> Option<Value> {
        let model = &self.voice.model;
        Some(match path {
            "/health" => json!({ "status": "ok" }),
            "/props" => json!({
                "default_generation_settings": { "n_ctx": self.profile.max_model_len },
                "total_slots": self.profile.max_running.get(),
                "model_path": model,
                "model_ftype": "BF16",
                "build_info": self.voice.fingerprint,
            }),
            "/v1/models" => self.models(json!({
                "owned_by": "llamacpp",
                "meta": { "n_ctx_train": self.profile.max_model_len, "ftype": "BF16" },
            })),
            _ => return None,
        })
    }

    /// A list of the one model, with the members that all have and the engine's own.
    fn models(&self, own: Value) -> Value {
        let mut model = json!({
            "id": self.voice.model,
            "object": "model",
            "created": self.voice.created,
        });
        if let (Value::Object(model), Value::Object(own)) = (&mut model, own) {
            model.extend(own);
        }
        json!({ "object": "list", "data": [model] })
    }
}

/// trtllm-serve has its metrics for Prometheus elsewhere.
fn is_metrics(engine: EngineKind, path: &str) -> bool {
    match engine {
        EngineKind::Trtllm => path == "/prometheus/metrics",
        _ => path == "/metrics",
    }
}
