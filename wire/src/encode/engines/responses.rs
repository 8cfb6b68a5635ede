//! `/v1/responses`, as four engines write it. What trtllm-serve writes has not been seen; it is taken to be vLLM's.

use super::super::shape::{Block, Recall, Shape, Silent, Total};

const STATUS: &str = concat!(
    "$?ended{$?length{incomplete$}$!length{completed$}$}",
    "$!ended{in_progress$}"
);

/// vLLM sorts the members of every event.
pub(super) static VLLM: Shape = SORTED;

const SORTED: Shape = Shape {
    parts: &[("status", STATUS), ("response", VLLM_RESPONSE)],
    at_once: &[
        concat!(
            "event: response.created\n",
            r#"data: {"response":$response,"sequence_number":$seq,"type":"response.created"}"#,
        ),
        concat!(
            "event: response.in_progress\n",
            r#"data: {"response":$response,"sequence_number":$seq,"type":"response.in_progress"}"#,
        ),
    ],
    reasoning: Block {
        open: &[concat!(
            "event: response.output_item.added\n",
            r#"data: {"item":{"id":"rs_$id","summary":[],"type":"reasoning","content":null,"encrypted_content":null,"#,
            r#""status":"in_progress"},"output_index":$block,"sequence_number":$seq,"type":"response.output_item.added"}"#,
        )],
        close: &[
            concat!(
                "event: response.reasoning_text.done\n",
                r#"data: {"content_index":0,"item_id":"rs_$id","output_index":$block,"sequence_number":$seq,"#,
                r#""text":"$all_reasoning","type":"response.reasoning_text.done"}"#,
            ),
            concat!(
                "event: response.output_item.done\n",
                r#"data: {"item":{"id":"rs_$id","summary":[],"type":"reasoning","#,
                r#""content":[{"text":"$all_reasoning","type":"reasoning_text"}],"encrypted_content":null,"#,
                r#""status":"completed"},"output_index":$block,"sequence_number":$seq,"#,
                r#""type":"response.output_item.done"}"#,
            ),
        ],
    },
    answer: Block {
        open: &[
            concat!(
                "event: response.output_item.added\n",
                r#"data: {"item":{"id":"msg_$id","content":[],"role":"assistant","status":"in_progress","#,
                r#""type":"message","phase":null},"output_index":$block,"sequence_number":$seq,"#,
                r#""type":"response.output_item.added"}"#,
            ),
            concat!(
                "event: response.content_part.added\n",
                r#"data: {"content_index":0,"item_id":"msg_$id","output_index":$block,"#,
                r#""part":{"annotations":[],"text":"","type":"output_text","logprobs":[]},"#,
                r#""sequence_number":$seq,"type":"response.content_part.added"}"#,
            ),
        ],
        close: &[
            TEXT_DONE,
            concat!(
                "event: response.content_part.done\n",
                r#"data: {"content_index":0,"item_id":"msg_$id","output_index":$block,"#,
                r#""part":{"annotations":[],"text":"$all_text","type":"output_text","logprobs":null},"#,
                r#""sequence_number":$seq,"type":"response.content_part.done"}"#,
            ),
            concat!(
                "event: response.output_item.done\n",
                r#"data: {"item":{"id":"msg_$id","content":[{"annotations":[],"text":"$all_text","#,
                r#""type":"output_text","logprobs":null}],"role":"assistant","status":"completed","#,
                r#""type":"message","phase":null},"output_index":$block,"sequence_number":$seq,"#,
                r#""type":"response.output_item.done"}"#,
            ),
        ],
    },
    delta: TEXT_DELTA,
    reasoning_delta: Some(concat!(
        "event: response.reasoning_text.delta\n",
        r#"data: {"content_index":0,"delta":"$reasoning","item_id":"rs_$id","output_index":$block,"#,
        r#""sequence_number":$seq,"type":"response.reasoning_text.delta"}"#,
    )),
    silent: Silent::None,
    recall: Recall::All,
    total: Total::Anyway,
    end: &[concat!(
        "event: response.$status\n",
        r#"data: {"response":$response,"sequence_number":$seq,"type":"response.$status"}"#,
    )],
    error_end: &[],
    whole: "$response",
    ..Shape::PLAIN
};

const TEXT_DELTA: &str = concat!(
    "event: response.output_text.delta\n",
    r#"data: {"content_index":0,"delta":"$text","item_id":"msg_$id","logprobs":[],"output_index":$block,"#,
    r#""sequence_number":$seq,"type":"response.output_text.delta"}"#,
);

const TEXT_DONE: &str = concat!(
    "event: response.output_text.done\n",
    r#"data: {"content_index":0,"item_id":"msg_$id","logprobs":[],"output_index":$block,"#,
    r#""sequence_number":$seq,"text":"$all_text","type":"response.output_text.done"}"#,
);

const VLLM_RESPONSE: &str = concat!(
    r#"{"id":"resp_$id","created_at":$created,"#,
    r#""incomplete_details":$?ended{$?length{{"reason":"max_output_tokens"}$}$!length{null$}$}$!ended{null$},"#,
    r#""instructions":null,"metadata":null,"model":"$model","object":"response","output":[],"#,
    r#""parallel_tool_calls":true,"temperature":0.0,"tool_choice":"auto","tools":[],"top_p":1.0,"#,
    r#""background":false,"max_output_tokens":$limit,"max_tool_calls":null,"previous_response_id":null,"#,
    r#""prompt":null,"reasoning":null,"service_tier":"auto","status":"$status","text":null,"top_logprobs":null,"#,
    r#""truncation":"disabled","usage":$!ended{null$}$?ended{{"input_tokens":$prompt,"#,
    r#""input_tokens_details":{"cached_tokens":$cached,"cache_write_tokens":0,"input_tokens_per_turn":[],"#,
    r#""cached_tokens_per_turn":[]},"output_tokens":$count,"output_tokens_details":{"reasoning_tokens":$reasoned,"#,
    r#""tool_output_tokens":0,"output_tokens_per_turn":[],"tool_output_tokens_per_turn":[]},"total_tokens":$sum}$},"#,
    r#""user":null}"#,
);

/// The same names. A part has no event of its own for its end, and a failure has an event.
pub(super) static SGLANG: Shape = Shape {
    parts: &[("status", STATUS), ("response", SGLANG_RESPONSE)],
    answer: Block {
        open: &[
            concat!(
                "event: response.output_item.added\n",
                r#"data: {"item":{"id":"msg_$id","content":[],"role":"assistant","status":"in_progress","#,
                r#""type":"message"},"output_index":$block,"sequence_number":$seq,"type":"response.output_item.added"}"#,
            ),
            concat!(
                "event: response.content_part.added\n",
                r#"data: {"content_index":0,"item_id":"msg_$id","output_index":$block,"#,
                r#""part":{"annotations":[],"text":"","type":"output_text","logprobs":null},"#,
                r#""sequence_number":$seq,"type":"response.content_part.added"}"#,
            ),
        ],
        close: &[
            TEXT_DONE,
            concat!(
                "event: response.output_item.done\n",
                r#"data: {"item":{"id":"msg_$id","content":[{"annotations":[],"text":"$all_text","#,
                r#""type":"output_text","logprobs":null}],"role":"assistant","status":"completed","#,
                r#""type":"message"},"output_index":$block,"sequence_number":$seq,"type":"response.output_item.done"}"#,
            ),
        ],
    },
    error: &[concat!(
        "event: response.failed\n",
        r#"data: {"response":{"id":"resp_$id","created_at":$created,"model":"$model","object":"response","#,
        r#""output":[],"status":"failed","error":{"code":"server_error","message":"$message"},"usage":null,"tools":[]},"#,
        r#""sequence_number":$seq,"type":"response.failed"}"#,
    )],
    ..SORTED
};

const SGLANG_RESPONSE: &str = concat!(
    r#"{"id":"resp_$id","created_at":$created,"model":"$model","object":"response","output":[],"#,
    r#""status":"$status","usage":$!ended{null$}$?ended{{"input_tokens":$prompt,"#,
    r#""input_tokens_details":{"cached_tokens":$cached},"output_tokens":$count,"#,
    r#""output_tokens_details":{"reasoning_tokens":$reasoned},"total_tokens":$sum}$},"tools":[]}"#,
);

/// Nothing is numbered, a limit is completed too, and timings stand beside the response.
pub(super) static LLAMACPP: Shape = Shape {
    parts: &[
        ("timings", super::llamacpp::TIMINGS),
        (
            "begun",
            r#"{"id":"resp_$id","object":"response","status":"in_progress"}"#,
        ),
        (
            "response",
            concat!(
                r#"{"completed_at":$created,"created_at":$created,"id":"resp_$id","model":"$model","object":"response","#,
                r#""output":[{"type":"message","status":"completed","id":"msg_$id","#,
                r#""content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"$all_text"}],"#,
                r#""role":"assistant"}],"status":"completed","usage":{"input_tokens":$prompt,"#,
                r#""output_tokens":$count,"total_tokens":$sum,"input_tokens_details":{"cached_tokens":$cached}}}"#,
            ),
        ),
    ],
    first: &[
        concat!(
            "event: response.created\n",
            r#"data: {"type":"response.created","response":$begun}"#,
        ),
        concat!(
            "event: response.in_progress\n",
            r#"data: {"type":"response.in_progress","response":$begun}"#,
        ),
    ],
    reasoning: Block {
        open: &[concat!(
            "event: response.output_item.added\n",
            r#"data: {"type":"response.output_item.added","item":{"id":"rs_$id","summary":[],"type":"reasoning","#,
            r#""content":[],"encrypted_content":"","status":"in_progress"}}"#,
        )],
        close: &[concat!(
            "event: response.output_item.done\n",
            r#"data: {"type":"response.output_item.done","item":{"id":"rs_$id","summary":[],"type":"reasoning","#,
            r#""content":[{"text":"$all_reasoning","type":"reasoning_text"}],"encrypted_content":""}}"#,
        )],
    },
    answer: Block {
        open: &[
            concat!(
                "event: response.output_item.added\n",
                r#"data: {"type":"response.output_item.added","item":{"content":[],"id":"msg_$id","role":"assistant","#,
                r#""status":"in_progress","type":"message"}}"#,
            ),
            concat!(
                "event: response.content_part.added\n",
                r#"data: {"type":"response.content_part.added","item_id":"msg_$id","#,
                r#""part":{"type":"output_text","text":""}}"#,
            ),
        ],
        close: &[
            concat!(
                "event: response.output_text.done\n",
                r#"data: {"type":"response.output_text.done","item_id":"msg_$id","text":"$all_text"}"#,
            ),
            concat!(
                "event: response.content_part.done\n",
                r#"data: {"type":"response.content_part.done","item_id":"msg_$id","#,
                r#""part":{"type":"output_text","annotations":[],"logprobs":[],"text":"$all_text"}}"#,
            ),
            concat!(
                "event: response.output_item.done\n",
                r#"data: {"type":"response.output_item.done","item":{"type":"message","status":"completed","#,
                r#""id":"msg_$id","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"$all_text"}],"#,
                r#""role":"assistant"}}"#,
            ),
        ],
    },
    delta: concat!(
        "event: response.output_text.delta\n",
        r#"data: {"type":"response.output_text.delta","item_id":"msg_$id","delta":"$text"}"#,
    ),
    reasoning_delta: Some(concat!(
        "event: response.reasoning_text.delta\n",
        r#"data: {"type":"response.reasoning_text.delta","delta":"$reasoning","item_id":"rs_$id"}"#,
    )),
    silent: Silent::None,
    recall: Recall::All,
    total: Total::Anyway,
    end: &[concat!(
        "event: response.completed\n",
        r#"data: {"type":"response.completed","response":$response,"timings":$timings}"#,
    )],
    error: &[super::llamacpp::ERROR],
    error_end: &[],
    whole: "$response",
    ..Shape::PLAIN
};
