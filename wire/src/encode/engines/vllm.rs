//! vLLM 0.33, Python front-end.

use super::super::shape::{Shape, Total};
use super::{anthropic, responses};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::InferenceGenerate => Some(&TOKENS),
        Endpoint::Responses => Some(&responses::VLLM),
        Endpoint::Messages => Some(&anthropic::VLLM),
        _ => None,
    }
}

/// Counts on a chunk, running or total: nulls are dropped.
const TOTAL: &str = concat!(
    r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count"#,
    r#"$?cached{,"prompt_tokens_details":{"cached_tokens":$cached,"created_cache_tokens":0}$}"#,
    r#"$?reasons{,"completion_tokens_details":{"reasoning_tokens":$reasoned}$}}"#,
);

/// Counts in a body: nulls are kept.
const BODY_TOTAL: &str = concat!(
    r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count,"prompt_tokens_details":"#,
    r#"$?cached{{"cached_tokens":$cached,"created_cache_tokens":0,"multimodal_tokens":null}$}$!cached{null$},"#,
    r#""completion_tokens_details":$reasoned_or_null}"#,
);

const REASONED: &str = r#"$?reasons{{"reasoning_tokens":$reasoned}$}$!reasons{null$}"#;

const USAGE: &str = concat!(
    r#"data: {$opening,"choices":[],"usage":$total,"system_fingerprint":"vllm-$fingerprint""#,
    r#"$?metrics{,"metrics":$metrics_now$}}"#,
);

const METRICS: &str = concat!(
    r#"{"time_to_first_token_ms":$ttft_ms,"generation_time_ms":$decode_ms,"queue_time_ms":$queue_ms,"#,
    r#"$?gaps{"mean_itl_ms":$gap_ms,$}"tokens_per_second":$rate}"#,
);

const IDS: &str = "$?ids{$new_ids$}$!ids{null$}";
const WHOLE_IDS: &str = "$?ids{$all_ids$}$!ids{null$}";

const ERROR: &str = concat!(
    r#"data: {"error": {"message": "$ascii_message", "type": "InternalServerError", "param": null, "#,
    r#""code": 500}}"#,
);

const COMPACT_ERROR: &str = concat!(
    r#"data: {"error":{"message":"$message","type":"InternalServerError","param":null,"#,
    r#""code":500}}"#,
);

static COMPLETIONS: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"cmpl-$id","object":"text_completion","created":$created,"model":"$model""#,
        ),
        (
            "counts",
            r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count}"#,
        ),
        ("total", TOTAL),
        ("body_total", BODY_TOTAL),
        ("reasoned_or_null", REASONED),
        ("metrics_now", METRICS),
        ("ids_asked", IDS),
        ("whole_ids_asked", WHOLE_IDS),
    ],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"text":"$text","logprobs":null,"finish_reason":$finish,"#,
        r#""stop_reason":null,"prompt_token_ids":null,"token_ids":$ids_asked,"weight_versions":null}]"#,
        r#"$?running{,"usage":$counts$}"#,
        r#"$?finish{$!usage{,"system_fingerprint":"vllm-$fingerprint"$}$},"kv_transfer_params":null}"#,
    ),
    total: Total::Once(USAGE),
    error: &[ERROR],
    whole: concat!(
        r#"{$opening,"choices":[$choices],"service_tier":null,"system_fingerprint":"vllm-$fingerprint","#,
        r#""usage":$body_total,"kv_transfer_params":null,"ec_transfer_params":null,"#,
        r#""metrics":$?metrics{$metrics_now$}$!metrics{null$}}"#,
    ),
    whole_choice: concat!(
        r#"{"index":$index,"text":"$all_text","logprobs":null,"finish_reason":$finish,"stop_reason":null,"#,
        r#""token_ids":$whole_ids_asked,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null,"#,
        r#""weight_versions":null}"#,
    ),
    ..Shape::PLAIN
};

static CHAT: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"chatcmpl-$id","object":"chat.completion.chunk","created":$created,"model":"$model""#,
        ),
        (
            "counts",
            concat!(
                r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count,"#,
                r#""completion_tokens_details":$reasoned_or_null}"#,
            ),
        ),
        ("total", TOTAL),
        ("body_total", BODY_TOTAL),
        ("reasoned_or_null", REASONED),
        ("metrics_now", METRICS),
        ("ids_asked", IDS),
        ("whole_ids_asked", WHOLE_IDS),
    ],
    first: &[concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"role":"assistant","content":""},"#,
        r#""logprobs":null,"finish_reason":null}]$?running{,"usage":$counts$},"#,
        r#""prompt_token_ids":null,"prompt_text":null}"#,
    )],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"#,
        r#""delta":{$?text{,"content":"$text"$}$?reasoning{,"reasoning":"$reasoning"$}},"logprobs":null,"#,
        r#""finish_reason":$finish$?finish{,"stop_reason":null$},"token_ids":$ids_asked"#,
        r#"$?finish{,"weight_versions":null$}}]$?running{,"usage":$counts$}"#,
        r#"$?finish{$!usage{,"system_fingerprint":"vllm-$fingerprint"$}$},"kv_transfer_params":null}"#,
    ),
    error: &[COMPACT_ERROR],
    whole: concat!(
        r#"{"id":"chatcmpl-$id","object":"chat.completion","created":$created,"model":"$model","#,
        r#""choices":[$choices],"service_tier":null,"system_fingerprint":"vllm-$fingerprint","#,
        r#""usage":$body_total,"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"#,
        r#""kv_transfer_params":null,"ec_transfer_params":null,"#,
        r#""metrics":$?metrics{$metrics_now$}$!metrics{null$}}"#,
    ),
    whole_choice: concat!(
        r#"{"index":$index,"message":{"role":"assistant","content":"$all_text","refusal":null,"#,
        r#""annotations":null,"audio":null,"function_call":null,"tool_calls":[],"#,
        r#""reasoning":$?reasons{"$all_reasoning"$}$!reasons{null$}},"logprobs":null,"finish_reason":$finish,"#,
        r#""stop_reason":null,"token_ids":$whole_ids_asked,"routed_experts":null,"weight_versions":null}"#,
    ),
    total: Total::Once(USAGE),
    ..Shape::PLAIN
};

/// `/inference/v1/generate`
static TOKENS: Shape = Shape {
    parts: &[
        (
            "counts",
            concat!(
                r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count,"#,
                r#""prompt_tokens_details":$?cached{{"cached_tokens":$cached}$}$!cached{null$}}"#,
            ),
        ),
        ("mode", r#""output_mode":"$?words{text$}$!words{tokens$}""#),
        (
            "middle",
            r#""routed_experts":null,"sampling_mask":null,"weight_versions":null"#,
        ),
    ],
    delta: concat!(
        r#"data: {"request_id":"$id","usage":$?running{$counts$}$!running{null$},$mode,"#,
        r#""choices":[{"index":$index,"finish_reason":$finish,"stop_reason":null,"token_ids":$new_ids,$middle"#,
        r#"$?words{,"text":"$text"$},"logprobs":null}]}"#,
    ),
    total: Total::Once(r#"data: {"request_id":"$id","usage":$counts,$mode,"choices":[]}"#),
    error: &[COMPACT_ERROR],
    whole: r#"{"request_id":"$id","usage":$counts,$mode,"choices":[$choices]}"#,
    whole_choice: concat!(
        r#"{"index":$index,"finish_reason":$finish,"stop_reason":null,"token_ids":$all_ids,$middle"#,
        r#"$?words{,"text":"$all_text"$},"logprobs":null}"#,
    ),
    ..Shape::PLAIN
};
