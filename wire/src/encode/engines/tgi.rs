//! Text Generation Inference 3.3. One token has one event, the end-of-text token too.

use super::super::shape::{Pace, Recall, Shape, Total};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::Generate | Endpoint::GenerateStream => Some(&GENERATE),
        Endpoint::Root => Some(&ROOT),
        _ => None,
    }
}

const COUNTS: &str = r#"{"prompt_tokens":$prompt,"completion_tokens":$count,"total_tokens":$sum}"#;

const ERROR: &str = r#"data: {"error":{"message":"$message","http_status_code":424}}"#;

/// The reasons are the model's own, empty up to the end, and the last event counts.
static COMPLETIONS: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""object":"text_completion","id":"","created":$created"#,
        ),
        (
            "server",
            r#""model":"$model","system_fingerprint":"$fingerprint""#,
        ),
        ("counts", COUNTS),
    ],
    pace: Pace::Token,
    delta: concat!(
        r#"data: {$opening,$?finish{$server,"choices":[{"index":$index,"text":"$text","logprobs":null,"#,
        r#""finish_reason":$finish}],"usage":$counts}$}$!finish{"choices":[{"index":$index,"text":"$text","#,
        r#""logprobs":null,"finish_reason":""}],$server}$}"#,
    ),
    total: Total::Anyway,
    error: &[ERROR],
    finishes: ("eos_token", "length"),
    whole: r#"{$opening,$server,"choices":[$choices],"usage":$counts}"#,
    whole_choice: r#"{"index":$index,"text":"$all_text","logprobs":null,"finish_reason":$finish}"#,
    ..Shape::PLAIN
};

/// The role is in every chunk. There is no parser for reasoning.
static CHAT: Shape = Shape {
    parts: &[
        (
            "middle",
            r#""id":"","created":$created,"model":"$model","system_fingerprint":"$fingerprint""#,
        ),
        ("counts", COUNTS),
    ],
    pace: Pace::Token,
    delta: concat!(
        r#"data: {"object":"chat.completion.chunk",$middle,"choices":[{"index":$index,"#,
        r#""delta":{"role":"assistant","content":"$reasoning$text"},"logprobs":null,"finish_reason":$finish}],"#,
        r#""usage":null}"#,
    ),
    total: Total::Once(
        r#"data: {"object":"chat.completion.chunk",$middle,"choices":[],"usage":$counts}"#,
    ),
    error: &[ERROR],
    whole: r#"{"object":"chat.completion",$middle,"choices":[$choices],"usage":$counts}"#,
    whole_choice: concat!(
        r#"{"index":$index,"message":{"role":"assistant","content":"$all_reasoning$all_text"},"#,
        r#""logprobs":null,"finish_reason":$finish}"#,
    ),
    ..Shape::PLAIN
};

/// Nothing marks the end but the text as a whole.
static GENERATE: Shape = OWN;

const OWN: Shape = Shape {
    parts: &[(
        "details_asked",
        concat!(
            r#"{"finish_reason":$finish,"generated_tokens":$count,"input_length":$prompt,"#,
            r#""seed":null}"#,
        ),
    )],
    pace: Pace::Token,
    recall: Recall::All,
    delta: concat!(
        r#"data: {"index":$count,"token":{"id":$last_id,"text":"$?silent{</s>$}$reasoning$text","logprob":-0.5,"#,
        r#""special":$?silent{true$}$!silent{false$}},"#,
        r#""generated_text":$?finish{"$all_reasoning$all_text"$}$!finish{null$},"#,
        r#""details":$?finish{$?details{$details_asked$}$!details{null$}$}$!finish{null$}}"#,
    ),
    total: Total::Detailed,
    end: &[],
    error: &[r#"data: {"error":"$message","error_type":"generation"}"#],
    error_end: &[],
    finishes: ("eos_token", "length"),
    whole: concat!(
        r#"{"generated_text":"$all_reasoning$all_text"$?details{,"details":{"finish_reason":$finish,"#,
        r#""generated_tokens":$count,"seed":null,"prefill":[],"tokens":[]}$}}"#,
    ),
    ..Shape::PLAIN
};

/// `/`: a body is a list.
static ROOT: Shape = Shape {
    whole: concat!(
        r#"[{"generated_text":"$all_reasoning$all_text"$?details{,"details":{"finish_reason":$finish,"#,
        r#""generated_tokens":$count,"seed":null,"prefill":[],"tokens":[]}$}}]"#,
    ),
    ..OWN
};
