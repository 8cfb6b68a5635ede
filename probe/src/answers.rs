//! The routes by which engines say who they are, and what is read from each answer.
//!
//! Engines add members from version to version, and other programs answer on the same routes: a member of an unexpected type
//! reads as absent, and an engine is recognised only by what nobody else sends.

use crate::exposition::{Lines, Sample};
use crate::facts::{Facts, kept};
use serde_json::Value;
use wire::EngineKind;

/// A question, and how its answer is read.
pub(crate) struct Route {
    pub(crate) path: &'static str,
    pub(crate) read: fn(&[u8]) -> Facts,
}

/// The list of models.
pub(crate) const MODELS: &str = "/v1/models";

/// Every route, the one that knows best first.
pub(crate) const ROUTES: &[Route] = &[
    Route {
        // SGLang; vLLM in its development mode.
        path: "/server_info?config_format=json",
        read: |body| json(body, server_info),
    },
    Route {
        // SGLang until 2025.
        path: "/get_server_info",
        read: |body| json(body, server_info),
    },
    Route {
        // llama.cpp.
        path: "/props",
        read: |body| json(body, props),
    },
    Route {
        // TGI.
        path: "/info",
        read: |body| json(body, info),
    },
    Route {
        // Triton.
        path: "/v2",
        read: |body| json(body, v2),
    },
    Route {
        // SGLang.
        path: "/model_info",
        read: |body| json(body, model_info),
    },
    Route {
        // vLLM and trtllm-serve.
        path: "/version",
        read: |body| json(body, version),
    },
    Route {
        path: MODELS,
        read: |body| json(body, models),
    },
    Route {
        path: "/metrics",
        read: metrics,
    },
    Route {
        // trtllm-serve, whose `/metrics` is something else.
        path: "/prometheus/metrics",
        read: metrics,
    },
];

/// The names in a list of models; `None` if it is no such list.
pub(crate) fn model_names(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let models = list.get("data")?.as_array()?;
    let name = |model: &Value| Some(model.get("id")?.as_str()?.to_owned());
    Some(models.iter().filter_map(name).collect())
}

fn json(body: &[u8], read: fn(&Value) -> Option<Facts>) -> Facts {
    let value = serde_json::from_slice(body).ok();
    value.as_ref().and_then(read).unwrap_or_default()
}

/// A text, or the first of a list of them.
fn text(value: &Value, pointer: &str) -> Option<String> {
    let value = value.pointer(pointer)?;
    let one = value.as_array().map_or(Some(value), |list| list.first())?;
    kept(one.as_str()?)
}

fn count(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer)?.as_u64()
}

/// PyTorch's types are written `torch.bfloat16`, or without the module.
fn dtype(value: &Value, pointer: &str) -> Option<String> {
    let text = text(value, pointer)?;
    Some(text.strip_prefix("torch.").unwrap_or(&text).to_owned())
}

// ---- JSON

fn server_info(answer: &Value) -> Option<Facts> {
    if let Some(config) = answer
        .get("vllm_config")
        .filter(|config| config.is_object())
    {
        return Some(vllm_config(config));
    }
    answer.get("tp_size")?;
    answer.get("model_path")?;
    Some(Facts {
        engine: Some(EngineKind::Sglang),
        version: text(answer, "/version"),
        model: text(answer, "/served_model_name").or_else(|| text(answer, "/model_path")),
        max_model_len: count(answer, "/context_length"),
        weights: dtype(answer, "/dtype"),
        // Null is an option that was not given: the model's own configuration may still ask for a method.
        quantization: text(answer, "/quantization"),
        kv_cache: dtype(answer, "/kv_cache_dtype"),
        tensor_parallel: count(answer, "/tp_size"),
        pipeline_parallel: count(answer, "/pp_size"),
    })
}

/// What is in force, after vLLM has read the model's own configuration: no method means none.
fn vllm_config(config: &Value) -> Facts {
    let quantization = config.pointer("/model_config/quantization");
    let is_none = quantization.is_some_and(Value::is_null);
    Facts {
        engine: Some(EngineKind::Vllm),
        version: None,
        model: text(config, "/model_config/served_model_name")
            .or_else(|| text(config, "/model_config/model")),
        max_model_len: count(config, "/model_config/max_model_len"),
        weights: dtype(config, "/model_config/dtype"),
        quantization: text(config, "/model_config/quantization")
            .or_else(|| is_none.then(|| "none".to_owned())),
        kv_cache: dtype(config, "/cache_config/cache_dtype"),
        tensor_parallel: count(config, "/parallel_config/tensor_parallel_size"),
        pipeline_parallel: count(config, "/parallel_config/pipeline_parallel_size"),
    }
}

fn props(answer: &Value) -> Option<Facts> {
    answer.get("build_info")?;
    answer.get("default_generation_settings")?;
    Some(Facts {
        engine: Some(EngineKind::LlamaCpp),
        version: text(answer, "/build_info"),
        model: text(answer, "/model_alias").or_else(|| text(answer, "/model_path")),
        max_model_len: count(answer, "/default_generation_settings/n_ctx"),
        weights: text(answer, "/model_ftype"),
        ..Facts::default()
    })
}

fn info(answer: &Value) -> Option<Facts> {
    answer.get("model_id")?;
    answer.get("max_total_tokens")?;
    Some(Facts {
        engine: Some(EngineKind::Tgi),
        version: text(answer, "/version"),
        model: text(answer, "/model_id"),
        max_model_len: count(answer, "/max_total_tokens"),
        // Versions before 3 told it.
        weights: dtype(answer, "/model_dtype"),
        ..Facts::default()
    })
}

fn v2(answer: &Value) -> Option<Facts> {
    (answer.get("name")? == "triton").then(|| Facts {
        engine: Some(EngineKind::Triton),
        version: text(answer, "/version"),
        ..Facts::default()
    })
}

fn model_info(answer: &Value) -> Option<Facts> {
    answer.get("is_generation")?;
    Some(Facts {
        engine: Some(EngineKind::Sglang),
        model: text(answer, "/served_model_name").or_else(|| text(answer, "/model_path")),
        ..Facts::default()
    })
}

fn version(answer: &Value) -> Option<Facts> {
    Some(Facts {
        version: text(answer, "/version"),
        ..Facts::default()
    })
}

fn models(answer: &Value) -> Option<Facts> {
    let first = answer.get("data")?.get(0)?;
    let engine = match first.get("owned_by").and_then(Value::as_str) {
        Some("vllm") => Some(EngineKind::Vllm),
        Some("sglang") => Some(EngineKind::Sglang),
        Some("tensorrt_llm") => Some(EngineKind::Trtllm),
        Some("llamacpp") => Some(EngineKind::LlamaCpp),
        _ => None,
    };
    Some(Facts {
        engine,
        model: text(first, "/id"),
        max_model_len: count(first, "/max_model_len"),
        weights: text(first, "/meta/ftype"),
        ..Facts::default()
    })
}

// ---- Metrics

/// The families whose labels are a configuration, and whose families there are at all.
fn metrics(body: &[u8]) -> Facts {
    let mut facts = Facts::default();
    let mut family = None;
    let mut line = |line: &[u8]| {
        let Some(sample) = Sample::parse(line) else {
            return;
        };
        // A backend of Triton's shows its own beside the server's.
        if family != Some(EngineKind::Triton) {
            family = engine_of(sample.name).or(family);
        }
        let told = configuration(&sample);
        facts = std::mem::take(&mut facts).or(told);
    };
    let mut lines = Lines::default();
    lines.push(body, &mut line);
    lines.finish(&mut line);
    facts.engine = family;
    facts
}

fn configuration(sample: &Sample<'_>) -> Facts {
    let label = |name| sample.label(name).and_then(|text| kept(&text));
    let number = |name| label(name).and_then(|text| text.parse().ok());
    match sample.name {
        "vllm:cache_config_info" => Facts {
            kv_cache: label("cache_dtype"),
            ..Facts::default()
        },
        "trtllm_model_config_info" => Facts {
            model: label("served_model_name"),
            weights: label("dtype"),
            quantization: label("quantization"),
            max_model_len: number("max_model_len"),
            ..Facts::default()
        },
        "trtllm_kv_cache_config_info" => Facts {
            kv_cache: label("cache_dtype"),
            ..Facts::default()
        },
        "trtllm_parallel_config_info" => Facts {
            tensor_parallel: number("tensor_parallel_size"),
            pipeline_parallel: number("pipeline_parallel_size"),
            ..Facts::default()
        },
        _ => Facts::default(),
    }
}

fn engine_of(family: &str) -> Option<EngineKind> {
    [
        ("vllm:", EngineKind::Vllm),
        ("sglang:", EngineKind::Sglang),
        ("trtllm_", EngineKind::Trtllm),
        ("nv_inference_", EngineKind::Triton),
        ("tgi_", EngineKind::Tgi),
        ("llamacpp:", EngineKind::LlamaCpp),
    ]
    .into_iter()
    .find_map(|(prefix, engine)| family.starts_with(prefix).then_some(engine))
}
