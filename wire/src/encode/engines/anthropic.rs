//! `/v1/messages`, as four engines write it. They differ in the order of members, in what usage counts and in what follows
//! an error.

use super::super::shape::{Block, Shape, Silent, Total};

const START: &str = concat!(
    "event: message_start\n",
    r#"data: {"type":"message_start","message":{"id":"$message_id","type":"message","role":"assistant","#,
    r#"$message_start}}"#,
);

const BLOCK_STOP: &str = concat!(
    "event: content_block_stop\n",
    r#"data: {"type":"content_block_stop","index":$block}"#,
);

const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}";

const ERROR: &str = concat!(
    "event: error\n",
    r#"data: {"type":"error","error":{"type":"api_error","message":"$message"}}"#,
);

/// Members in the order that most have.
const MESSAGE_START: &str = concat!(
    r#""content":[],"model":"$model","stop_reason":null,"stop_sequence":null,"#,
    r#""usage":{"input_tokens":$prompt,"output_tokens":0}"#,
);

/// Only what is generated is counted at the end.
const OUTPUT_ALONE: &str = r#"{"output_tokens":$count}"#;

const WHOLE_INPUT: &str = r#"{"input_tokens":$prompt,"output_tokens":$count}"#;

const PLAIN: Shape = Shape {
    first: &[START],
    reasoning: Block {
        open: &[concat!(
            "event: content_block_start\n",
            r#"data: {"type":"content_block_start",$before"content_block":{"type":"thinking","thinking":""}$after}"#,
        )],
        close: &[BLOCK_STOP],
    },
    answer: Block {
        open: &[concat!(
            "event: content_block_start\n",
            r#"data: {"type":"content_block_start",$before"content_block":{"type":"text","text":""}$after}"#,
        )],
        close: &[BLOCK_STOP],
    },
    delta: concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta",$before"delta":{"type":"text_delta","text":"$text"}$after}"#,
    ),
    reasoning_delta: Some(concat!(
        "event: content_block_delta\n",
        r#"data: {"type":"content_block_delta",$before"delta":{"type":"thinking_delta","thinking":"$reasoning"}$after}"#,
    )),
    silent: Silent::None,
    finish: &[concat!(
        "event: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":$finish,"stop_sequence":null},"usage":$last}"#,
    )],
    total: Total::Anyway,
    end: &[STOP],
    error: &[ERROR],
    error_end: &[],
    finishes: ("end_turn", "max_tokens"),
    whole: concat!(
        r#"{"id":"$message_id","type":"message","role":"assistant","#,
        r#""content":[$?reasons{{"type":"thinking","thinking":"$all_reasoning"},$}{"type":"text","text":"$all_text"}],"#,
        r#""model":"$model","stop_reason":$finish,"stop_sequence":null,"usage":$body}"#,
    ),
    ..Shape::PLAIN
};

/// The block's index comes last. Cache reads are taken out of the input at the end, where they are told.
pub(super) static VLLM: Shape = Shape {
    parts: &[
        ("message_id", "chatcmpl-$id"),
        ("message_start", MESSAGE_START),
        ("before", ""),
        ("after", r#","index":$block"#),
        ("last", VLLM_COUNTS),
        ("body", VLLM_COUNTS),
    ],
    ..PLAIN
};

const VLLM_COUNTS: &str = concat!(
    r#"$?cached{{"input_tokens":$uncached,"output_tokens":$count,"cache_read_input_tokens":$cached}$}"#,
    r#"$!cached{{"input_tokens":$prompt,"output_tokens":$count}$}"#,
);

/// The message begins before an error if nothing else did, and ends after it.
pub(super) static SGLANG: Shape = Shape {
    parts: &[
        ("message_id", "msg_$id"),
        (
            "message_start",
            r#""content":[],"model":"$model","usage":{"input_tokens":$prompt,"output_tokens":0}"#,
        ),
        ("before", r#""index":$block,"#),
        ("after", ""),
        ("last", OUTPUT_ALONE),
        ("body", WHOLE_INPUT),
        ("start", START),
    ],
    error: &["$!opened{$start$}", ERROR],
    error_end: &[STOP],
    ..PLAIN
};

pub(super) static TRTLLM: Shape = Shape {
    parts: &[
        ("message_id", "msg_$id"),
        (
            "message_start",
            concat!(
                r#""model":"$model","content":[],"stop_reason":null,"stop_sequence":null,"#,
                r#""usage":{"input_tokens":$prompt,"output_tokens":0}"#,
            ),
        ),
        ("before", r#""index":$block,"#),
        ("after", ""),
        ("last", OUTPUT_ALONE),
        ("body", WHOLE_INPUT),
    ],
    ..PLAIN
};

/// The input never has the cache reads in it.
pub(super) static LLAMACPP: Shape = Shape {
    parts: &[
        ("message_id", "chatcmpl-$id"),
        (
            "message_start",
            concat!(
                r#""content":[],"model":"$model","stop_reason":null,"stop_sequence":null,"#,
                r#""usage":{"cache_read_input_tokens":$cached,"input_tokens":$uncached,"output_tokens":0}"#,
            ),
        ),
        ("before", r#""index":$block,"#),
        ("after", ""),
        ("last", OUTPUT_ALONE),
        (
            "body",
            concat!(
                r#"{"cache_read_input_tokens":$cached,"input_tokens":$uncached,"#,
                r#""output_tokens":$count}"#,
            ),
        ),
    ],
    error: &[super::llamacpp::ERROR],
    ..PLAIN
};
