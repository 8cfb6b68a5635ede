//! Triton: `generate` and `generate_stream`, as the model of its vLLM backend answers them, and the OpenAI front-end.

use super::super::shape::{Recall, Shape, Total};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::TritonGenerate | Endpoint::TritonGenerateStream => Some(&GENERATE),
        _ => None,
    }
}

/// Outputs in alphabetical order, those alone that were asked for. Nothing marks the end.
static GENERATE: Shape = Shape {
    parts: &[
        (
            "model_asked",
            concat!(
                r#""model_name":"$model","model_version":"1""#,
                r#"$?in_count{,"num_input_tokens":$prompt$}"#,
            ),
        ),
        (
            "reason_asked",
            r#"$?details{"finish_reason":$?finish{$finish$}$!finish{"None"$},$}"#,
        ),
    ],
    recall: Recall::All,
    delta: concat!(
        r#"data: {$reason_asked$model_asked$?out_count{,"num_output_tokens":$step_count$},"#,
        r#""text_output":"$step_text"}"#,
    ),
    end: &[],
    error: &[r#"data: {"error":"$message"}"#],
    error_end: &[],
    whole: concat!(
        r#"{$reason_asked$model_asked$?out_count{,"num_output_tokens":$count$},"#,
        r#""text_output":"$all_text"}"#,
    ),
    ..Shape::PLAIN
};

const COUNTS: &str = r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count}"#;

static COMPLETIONS: Shape = Shape {
    parts: &[
        (
            "middle",
            r#""created":$created,"model":"$model","system_fingerprint":null,"object":"text_completion""#,
        ),
        ("counts", COUNTS),
    ],
    delta: concat!(
        r#"data: {"id":"cmpl-$id","choices":[{"finish_reason":$finish,"index":$index,"logprobs":null,"#,
        r#""text":"$text"}],$middle,"usage":null}"#,
    ),
    whole_choice: r#"{"finish_reason":$finish,"index":$index,"logprobs":null,"text":"$all_text"}"#,
    ..FRONT_END
};

/// A limit is no reason that it knows, and an error breaks the stream off.
const FRONT_END: Shape = Shape {
    total: Total::Once(r#"data: {"id":"cmpl-$id","choices":[],$middle,"usage":$counts}"#),
    error_end: &[],
    finishes: ("stop", "stop"),
    whole: r#"{"id":"cmpl-$id","choices":[$choices],$middle,"usage":$counts}"#,
    ..Shape::PLAIN
};

/// The role chunk comes before the model has answered.
static CHAT: Shape = Shape {
    parts: &[
        (
            "middle",
            r#""created":$created,"model":"$model","system_fingerprint":null,"object":"chat.completion.chunk""#,
        ),
        ("counts", COUNTS),
    ],
    at_once: &[concat!(
        r#"data: {"id":"cmpl-$id","choices":[{"delta":{"content":"","function_call":null,"role":"assistant"},"#,
        r#""logprobs":null,"finish_reason":null,"index":$index}],$middle,"usage":null}"#,
    )],
    delta: concat!(
        r#"data: {"id":"cmpl-$id","choices":[{"delta":{"content":"$text","function_call":null,"role":null},"#,
        r#""logprobs":null,"finish_reason":$finish,"index":$index}],$middle,"usage":null}"#,
    ),
    whole: concat!(
        r#"{"id":"cmpl-$id","choices":[$choices],"created":$created,"model":"$model","#,
        r#""system_fingerprint":null,"object":"chat.completion","usage":$counts}"#,
    ),
    whole_choice: concat!(
        r#"{"finish_reason":$finish,"index":$index,"message":{"content":"$all_text","tool_calls":null,"#,
        r#""role":"assistant","function_call":null},"logprobs":null}"#,
    ),
    ..FRONT_END
};
