//! llama.cpp's server, of autumn 2026. A choice's timings count that choice.

use super::super::shape::{Counts, Shape, Silent, Total};
use super::{anthropic, responses};
use crate::Endpoint;

pub(super) fn shape(endpoint: Endpoint) -> Option<&'static Shape> {
    match endpoint {
        Endpoint::Completion => Some(&COMPLETION),
        Endpoint::Completions => Some(&COMPLETIONS),
        Endpoint::ChatCompletions => Some(&CHAT),
        Endpoint::Responses => Some(&responses::LLAMACPP),
        Endpoint::Messages => Some(&anthropic::LLAMACPP),
        _ => None,
    }
}

pub(super) const ERROR: &str =
    r#"data: {"error":{"code":500,"message":"$message","type":"server_error"}}"#;

pub(super) const TIMINGS: &str = concat!(
    r#"{"cache_n":$cached,"prompt_n":$uncached,"prompt_ms":$prefill_ms,"prompt_per_token_ms":$prefill_token_ms,"#,
    r#""prompt_per_second":$prefill_rate,"predicted_n":$count,"predicted_ms":$decode_ms,"#,
    r#""predicted_per_token_ms":$decode_token_ms,"predicted_per_second":$decode_rate}"#,
);

const USAGE: &str = concat!(
    r#"{"completion_tokens":$count,"prompt_tokens":$prompt,"total_tokens":$sum,"#,
    r#""prompt_tokens_details":{"cached_tokens":$cached}}"#,
);

/// A queued prompt is announced by a null.
const NULL: &str = "$?batch{$?leads{data: null$}$}";

static COMPLETION: Shape = Shape {
    parts: &[
        ("timings", TIMINGS),
        ("last", LAST),
        ("head", r#""index":$index,"content":"#),
    ],
    at_once: &[NULL],
    delta: concat!(
        r#"data: {$head"$text$reasoning","tokens":[$last_id],"stop":false,"id_slot":-1,"#,
        r#""tokens_predicted":$count,"tokens_evaluated":$prompt$?running{,"timings":$timings$}}"#,
    ),
    finish: &[r#"data: {$head"","tokens":[],$last}"#],
    total: Total::Anyway,
    end: &[],
    error: &[ERROR],
    error_end: &[],
    finishes: ("eos", "limit"),
    whole: "$?several{[$}$choices$?several{]$}",
    whole_choice: r#"{$head"$all_reasoning$all_text","tokens":[],$last}"#,
    ..Shape::PLAIN
};

/// The prompt, which the engine repeats here, is left out of what it says.
const LAST: &str = concat!(
    r#""id_slot":0,"stop":true,"model":"$model","tokens_predicted":$count,"tokens_evaluated":$prompt,"#,
    r#""generation_settings":{"n_predict":$limit},"prompt":"","has_new_line":false,"truncated":false,"#,
    r#""stop_type":$finish,"stopping_word":"","tokens_cached":$sum,"timings":$timings"#,
);

static COMPLETIONS: Shape = Shape {
    parts: &[
        ("timings", TIMINGS),
        ("usage", USAGE),
        (
            "middle",
            r#""created":$created,"model":"$model","system_fingerprint":"$fingerprint","object":"text_completion""#,
        ),
    ],
    at_once: &[NULL],
    delta: concat!(
        r#"data: {"choices":[{"text":"$text","index":$index,"logprobs":null,"finish_reason":null}],$middle,"#,
        r#""id":"chatcmpl-$id"$?running{,"timings":$timings$}}"#,
    ),
    silent: Silent::None,
    finish: &[concat!(
        r#"data: {"choices":[{"text":"","index":$index,"logprobs":null,"finish_reason":$finish}],$middle,"#,
        r#""usage":$usage,"id":"chatcmpl-$id","timings":$timings}"#,
    )],
    total: Total::Anyway,
    error: &[ERROR],
    error_end: &[],
    whole: r#"{"choices":[$choices],$middle,"usage":$usage,"id":"chatcmpl-$id","timings":$timings}"#,
    whole_choice: r#"{"text":"$all_text","index":$index,"logprobs":null,"finish_reason":$finish}"#,
    whole_counts: Counts::First,
    ..Shape::PLAIN
};

/// Timings are on the usage chunk, or on the finish chunk where there is none.
static CHAT: Shape = Shape {
    parts: &[
        ("timings", TIMINGS),
        ("usage", USAGE),
        ("closing", CHAT_CLOSING),
    ],
    first: &[
        r#"data: {"choices":[{"finish_reason":null,"index":$index,"delta":{"role":"assistant","content":null}}],$closing}"#,
    ],
    delta: concat!(
        r#"data: {"choices":[{"finish_reason":null,"index":$index,"delta":{"content":"$text"}}],$closing"#,
        r#"$?running{,"timings":$timings$}}"#,
    ),
    reasoning_delta: Some(concat!(
        r#"data: {"choices":[{"finish_reason":null,"index":$index,"delta":{"reasoning_content":"$reasoning"}}],"#,
        r#"$closing$?running{,"timings":$timings$}}"#,
    )),
    silent: Silent::None,
    finish: &[concat!(
        r#"data: {"choices":[{"finish_reason":$finish,"index":$index,"delta":{}}],$closing"#,
        r#"$!usage{,"timings":$timings$}}"#,
    )],
    total: Total::EachChoice(r#"data: {"choices":[],$closing,"usage":$usage,"timings":$timings}"#),
    error: &[ERROR],
    error_end: &[],
    whole: concat!(
        r#"{"choices":[$choices],"created":$created,"model":"$model","system_fingerprint":"$fingerprint","#,
        r#""object":"chat.completion","usage":$usage,"id":"chatcmpl-$id","timings":$timings}"#,
    ),
    whole_choice: concat!(
        r#"{"finish_reason":$finish,"index":$index,"message":{"role":"assistant","content":"$all_text""#,
        r#"$?reasons{,"reasoning_content":"$all_reasoning"$}}}"#,
    ),
    whole_counts: Counts::First,
    ..Shape::PLAIN
};

const CHAT_CLOSING: &str = concat!(
    r#""created":$created,"id":"chatcmpl-$id","model":"$model","system_fingerprint":"$fingerprint","#,
    r#""object":"chat.completion.chunk""#,
);
