//! TensorRT-LLM's `trtllm-serve`. A failure after the start breaks the stream off without a word.

use super::super::shape::{Shape, Total};
use super::{anthropic, responses};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::Responses => Some(&responses::VLLM),
        Endpoint::Messages => Some(&anthropic::TRTLLM),
        _ => None,
    }
}

const COUNTS: &str = concat!(
    r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count,"#,
    r#""prompt_tokens_details":{"cached_tokens":$cached}}"#,
);

/// One usage chunk for each prompt.
static COMPLETIONS: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"cmpl-$id","object":"text_completion","created":$created,"model":"$model""#,
        ),
        ("counts", COUNTS),
    ],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"text":"$text","token_ids":null,"logprobs":null,"#,
        r#""finish_reason":$finish,"stop_reason":null,"avg_decoded_tokens_per_iter":$per_step}],"#,
        r#""usage":$?running{$counts$}$!running{null$}}"#,
    ),
    total: Total::EachPrompt(r#"data: {$opening,"choices":[],"usage":$counts}"#),
    error_end: &[],
    whole: r#"{$opening,"choices":[$choices],"usage":$counts,"prompt_token_ids":null}"#,
    whole_choice: concat!(
        r#"{"index":$index,"text":"$all_text","token_ids":null,"logprobs":null,"context_logits":null,"#,
        r#""finish_reason":$finish,"stop_reason":null,"disaggregated_params":null,"#,
        r#""avg_decoded_tokens_per_iter":$per_step}"#,
    ),
    ..Shape::PLAIN
};

/// The role line ends with a blank.
static CHAT: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"chatcmpl-$id","object":"chat.completion.chunk","created":$created,"model":"$model""#,
        ),
        ("counts", COUNTS),
    ],
    first: &[concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"role":"assistant"}}]"#,
        r#"$?running{,"usage":$counts$}} "#,
    )],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"content":"$text","reasoning_content":"$reasoning"}"#,
        r#"$?finish{,"finish_reason":$finish$},"avg_decoded_tokens_per_iter":$per_step}]"#,
        r#"$?running{,"usage":$counts$}}"#,
    ),
    total: Total::Once(r#"data: {$opening,"choices":[],"usage":$counts}"#),
    error_end: &[],
    whole: concat!(
        r#"{"id":"chatcmpl-$id","object":"chat.completion","created":$created,"model":"$model","#,
        r#""choices":[$choices],"usage":$counts,"prompt_token_ids":null}"#,
    ),
    whole_choice: concat!(
        r#"{"index":$index,"message":{"role":"assistant","content":"$all_text","#,
        r#""reasoning_content":"$all_reasoning","tool_calls":[]},"logprobs":null,"finish_reason":$finish,"#,
        r#""stop_reason":null,"disaggregated_params":null,"avg_decoded_tokens_per_iter":$per_step}"#,
    ),
    ..Shape::PLAIN
};
