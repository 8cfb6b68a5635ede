//! SGLang 0.5, Python server.

use super::super::shape::{Recall, Shape, Silent, Total};
use super::{anthropic, responses};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::Generate => Some(&GENERATE),
        Endpoint::Responses => Some(&responses::SGLANG),
        Endpoint::Messages => Some(&anthropic::SGLANG),
        Endpoint::OllamaChat => Some(&OLLAMA_CHAT),
        Endpoint::OllamaGenerate => Some(&OLLAMA_GENERATE),
        _ => None,
    }
}

const ERROR: &str = concat!(
    r#"data: {"error": {"object": "error", "message": "$ascii_message", "type": "InternalServerError", "#,
    r#""param": null, "code": 500}}"#,
);

/// Counts with their nulls.
const COUNTS: &str = concat!(
    r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count,"prompt_tokens_details":"#,
    r#"$?cached{{"cached_tokens":$cached}$}$!cached{null$},"reasoning_tokens":$reasoned,"#,
    r#""completion_tokens_details":null}"#,
);

/// Counts without them.
const TOTAL: &str = concat!(
    r#"{"prompt_tokens":$prompt,"total_tokens":$sum,"completion_tokens":$count"#,
    r#"$?cached{,"prompt_tokens_details":{"cached_tokens":$cached}$},"reasoning_tokens":$reasoned}"#,
);

/// The end-of-text token's number in this vocabulary, or null where the choice ends otherwise.
const MATCHED: &str = "$?finish{$!length{$last_id$}$?length{null$}$}$!finish{null$}";

static COMPLETIONS: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"$id","object":"text_completion","created":$created,"model":"$model""#,
        ),
        ("counts", COUNTS),
        ("total", TOTAL),
        ("matched", MATCHED),
    ],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"text":"$text","logprobs":null,"finish_reason":$finish,"#,
        r#""matched_stop":$matched$?ids{,"token_ids":$new_ids$}}],"usage":$?running{$counts$}$!running{null$}}"#,
    ),
    total: Total::Once(r#"data: {$opening,"choices":[],"usage":$total}"#),
    error: &[ERROR],
    whole: r#"{$opening,"choices":[$choices],"usage":$counts,"metadata":{"weight_version":"default"}}"#,
    whole_choice: concat!(
        r#"{"index":$index,"text":"$all_text","logprobs":null,"finish_reason":$finish,"matched_stop":$matched"#,
        r#"$?ids{,"token_ids":$all_ids$}}"#,
    ),
    ..Shape::PLAIN
};

/// A step that shows nothing sends nothing; the finish has a chunk of its own, without running counts.
static CHAT: Shape = Shape {
    parts: &[
        (
            "opening",
            r#""id":"$id","object":"chat.completion.chunk","created":$created,"model":"$model""#,
        ),
        (
            "rest",
            r#""logprobs":null,"finish_reason":null,"matched_stop":null}]"#,
        ),
        ("counts", COUNTS),
        ("matched", MATCHED),
    ],
    first: &[concat!(
        r#"data: {$opening,"choices":[{"index":$index,"#,
        r#""delta":{"reasoning_content":null,"role":"assistant","content":""},$rest}"#,
    )],
    delta: concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"reasoning_content":null,"content":"$text"},$rest"#,
        r#"$?running{,"usage":$counts$}}"#,
    ),
    reasoning_delta: Some(concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"reasoning_content":"$reasoning"},$rest"#,
        r#"$?running{,"usage":$counts$}}"#,
    )),
    silent: Silent::None,
    finish: &[concat!(
        r#"data: {$opening,"choices":[{"index":$index,"delta":{"reasoning_content":null},"logprobs":null,"#,
        r#""finish_reason":$finish,"matched_stop":$matched}]}"#,
    )],
    total: Total::Once(r#"data: {$opening,"choices":[],"usage":$counts}"#),
    error: &[ERROR],
    whole: concat!(
        r#"{"id":"$id","object":"chat.completion","created":$created,"model":"$model","choices":[$choices],"#,
        r#""usage":$counts,"metadata":{"weight_version":"default"}}"#,
    ),
    whole_choice: concat!(
        r#"{"index":$index,"message":{"role":"assistant","content":"$all_text","#,
        r#""reasoning_content":$?reasons{"$all_reasoning"$}$!reasons{null$},"tool_calls":null},"logprobs":null,"#,
        r#""finish_reason":$finish,"matched_stop":$matched}"#,
    ),
    ..Shape::PLAIN
};

/// Text and ids are all so far, or what is new, as the server was started; the count always runs up.
static GENERATE: Shape = Shape {
    parts: &[
        ("own_index", r#"$?several{,"index":$index$}"#),
        (
            "reason",
            concat!(
                r#"$!finish{null$}$?finish{{"type":$finish,"#,
                r#"$!length{"matched":$last_id$}$?length{"length":$limit$}}$}"#,
            ),
        ),
        (
            "meta",
            concat!(
                r#"{"id":"$id","finish_reason":$reason,"prompt_tokens":$prompt,"weight_version":"default","#,
                r#""num_retractions":0,"reasoning_tokens":$reasoned,"completion_tokens":$count,"#,
                r#""cached_tokens":$cached,"response_sent_to_client_ts":$sent_s$?finish{,"e2e_latency":$latency_s$}}"#,
            ),
        ),
    ],
    recall: Recall::All,
    delta: r#"data: {"text":"$step_text","output_ids":$step_ids,"meta_info":$meta$own_index}"#,
    total: Total::Anyway,
    error: &[concat!(
        r#"data: {"error":{"message":"$message","type":"internal_server_error","code":500,"#,
        r#""retryable":false}}"#,
    )],
    whole: "$?several{[$}$choices$?several{]$}",
    whole_choice: r#"{"text":"$all_text","output_ids":$all_ids,"meta_info":$meta$own_index}"#,
    ..Shape::PLAIN
};

/// Nothing is counted, and what the last step has to show is lost.
const OLLAMA: Shape = Shape {
    event_end: "\n",
    silent: Silent::Last,
    end: &[],
    error: &[r#"{"error":"$message"}"#],
    error_end: &[],
    ..Shape::PLAIN
};

static OLLAMA_CHAT: Shape = Shape {
    parts: &[(
        "opening",
        r#""model":"$model","created_at":"$date","message":{"role":"assistant","content":"#,
    )],
    delta: r#"{$opening"$reasoning$text","images":null},"done":false,"done_reason":null}"#,
    finish: &[r#"{$opening"","images":null},"done":true,"done_reason":$finish}"#],
    whole: r#"{$opening"$all_reasoning$all_text","images":null},"done":true,"done_reason":$finish}"#,
    ..OLLAMA
};

static OLLAMA_GENERATE: Shape = Shape {
    parts: &[(
        "opening",
        r#""model":"$model","created_at":"$date","response":"#,
    )],
    delta: r#"{$opening"$reasoning$text","done":false,"done_reason":null}"#,
    finish: &[r#"{$opening"","done":true,"done_reason":$finish}"#],
    whole: r#"{$opening"$all_reasoning$all_text","done":true,"done_reason":$finish}"#,
    ..OLLAMA
};
