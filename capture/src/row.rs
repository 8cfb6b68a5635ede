//! One exchange as a capture stores it: the row of format version 1.
//!
//! The fields are the columns, under the same names, in the same order.
//! Instants are nanoseconds after `arrival_ns` on the monotonic clock of one process, but for `wall_us`. Absent is unknown,
//! or did not happen; nothing absent is ever 0. What a privacy level leaves out is absent, too.
//!
//! A column may be added at the end of a group within a version if readers of before can do without it. One that is there
//! keeps its name, unit and meaning for ever; a golden file holds it to that.

use serde::{Deserialize, Serialize};

/// One exchange, finished.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    // ---- who and when
    /// Number of the exchange in its process, from 1.
    pub exchange: u64,
    /// `production`, `shadow` or `replay`; `import` where another tool captured it.
    pub role: String,
    /// Arrival by the wall clock, µs after 1970-01-01 UTC. For joining with other logs and for calendar time; gaps between
    /// arrivals are taken from `arrival_ns`.
    pub wall_us: i64,
    /// Arrival on the monotonic clock of the process, ns since its start.
    pub arrival_ns: u64,
    /// Of a shadow: the exchange it copies. Of a replay: the number, in the order of the schedule, of the request it sends.
    pub pair: Option<u64>,
    /// Of a replay: when it was to be sent, on the clock of `arrival_ns`. Its lag is `arrival_ns` less this.
    pub planned_ns: Option<u64>,

    // ---- what was asked
    /// Path of the generating route, `/v1/chat/completions`, …
    pub endpoint: String,
    /// Model asked for.
    pub model: Option<String>,
    /// Streaming was asked for.
    pub stream: Option<bool>,
    /// Answers asked for per prompt.
    pub n: Option<u32>,
    /// Prompts in the request.
    pub prompts: Option<u32>,
    /// Messages of a chat.
    pub messages: Option<u32>,
    /// A system or developer message leads the chat.
    pub system: Option<bool>,
    /// Tools offered.
    pub tools: Option<u32>,
    /// Bytes of the tools' declarations.
    pub tool_bytes: Option<u64>,
    /// Kind of response format or grammar: `json_object`, `json_schema`, `regex`, `grammar`, `choice`, …
    pub response_format: Option<String>,
    /// Images in the prompt.
    pub images: Option<u32>,
    /// Sounds in the prompt.
    pub sounds: Option<u32>,
    /// Limit of generated tokens.
    pub max_tokens: Option<u32>,
    /// Stop strings.
    pub stops: Option<u32>,
    /// `temperature`
    pub temperature: Option<f64>,
    /// `top_p`
    pub top_p: Option<f64>,
    /// `top_k`
    pub top_k: Option<i64>,
    /// `min_p`
    pub min_p: Option<f64>,
    /// `presence_penalty`
    pub presence_penalty: Option<f64>,
    /// `frequency_penalty`
    pub frequency_penalty: Option<f64>,
    /// A seed was given.
    pub seeded: Option<bool>,
    /// `priority`
    pub priority: Option<i64>,
    /// Bytes of prompt text.
    pub prompt_bytes: Option<u64>,
    /// Bytes of the request's body.
    pub request_bytes: u64,

    // ---- how much there was
    /// Prompt tokens, cached ones included.
    pub input_tokens: Option<u64>,
    /// Where `input_tokens` comes from: `usage`, `token_ids`, `tokenizer`, …, `import`, `none`.
    pub input_source: String,
    /// Generated tokens of all choices.
    pub output_tokens: Option<u64>,
    /// Where `output_tokens` comes from.
    pub output_source: String,
    /// Lower bound of the generated tokens, from the token events alone.
    pub output_tokens_min: u64,
    /// Every token event said how many tokens it carries.
    pub counts_exact: bool,
    /// Prompt tokens from a cache, by the engine's word.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens, by the engine's word.
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the first burst.
    pub first_burst_tokens: u64,
    /// Events of any kind.
    pub events: u64,
    /// Token-bearing bursts.
    pub bursts: u64,
    /// Bytes of the answer's body.
    pub response_bytes: u64,

    // ---- how it went
    /// `ok`, `client_abort_decode`, …: the label `outcome` of the metrics.
    pub outcome: String,
    /// HTTP status of the engine's answer.
    pub status: Option<u16>,
    /// Model named in the answer.
    pub answer_model: Option<String>,
    /// The answer was an event stream.
    pub streamed: bool,
    /// What limits the use of the row: `client_limited`, `buffered_upstream`, `opaque`, …
    pub flags: Vec<String>,
    /// What could not be read as it was meant.
    pub anomalies: Vec<Count>,

    // ---- when things happened, ns after the arrival
    /// Request head handed to the engine's socket.
    pub head_sent_ns: Option<u64>,
    /// Whole request handed to the engine's socket: the zero of TTFT and e2e.
    pub body_sent_ns: Option<u64>,
    /// Response head received.
    pub response_head_ns: Option<u64>,
    /// First event of any kind.
    pub first_event_ns: Option<u64>,
    /// First generated token of any kind.
    pub first_token_ns: Option<u64>,
    /// First generated token that is no reasoning.
    pub first_answer_ns: Option<u64>,
    /// Last token.
    pub last_token_ns: Option<u64>,
    /// End, whatever ended it.
    pub end_ns: u64,
    /// Gaps between token-bearing bursts, in the buckets of a native histogram of schema 5 over seconds.
    pub gaps: Vec<Gap>,
    /// Sum of the gaps.
    pub gap_sum_ns: u64,
    /// Sum of the gaps before bursts of a known number of tokens.
    pub token_gap_sum_ns: u64,
    /// The longest gap.
    pub gap_max_ns: Option<u64>,

    // ---- what was around it
    /// Other exchanges in flight at its arrival.
    pub in_flight: u32,
    /// Time average of the exchanges in flight over its life, itself included.
    pub in_flight_life: Option<f64>,
    /// The same from its arrival to its first token.
    pub in_flight_prefill: Option<f64>,
    /// The same from its first token to its end.
    pub in_flight_decode: Option<f64>,
    /// Time average of those in their own decode, from its first token to its end.
    pub decoders: Option<f64>,
    /// Requests being decoded, by the engine's last word before the arrival.
    pub engine_running: Option<u64>,
    /// Requests waiting, by the same word.
    pub engine_waiting: Option<u64>,
    /// Share of the KV cache in use, from 0 to 1, by the same word.
    pub engine_kv_usage: Option<f64>,
    /// Age of that word at the arrival.
    pub engine_age_ns: Option<u64>,
    /// Time in the engine's queue, by its word.
    pub engine_queue_ns: Option<u64>,
    /// TTFT by the engine's word.
    pub engine_ttft_ns: Option<u64>,
    /// e2e by the engine's word.
    pub engine_e2e_ns: Option<u64>,

    // ---- whose it is, and what it shares with others
    /// Session, as a hash under the capture's key.
    pub session: Option<u64>,
    /// How the session is known: `header`, `field`, or `prefix` (inferred: the prompt goes on where an earlier one ended).
    pub session_by: Option<String>,
    /// Turn in its session, from 1.
    pub turn: Option<u32>,
    /// From the end of the session's turn before to this arrival.
    pub think_ns: Option<u64>,
    /// Tenant, as a hash under the capture's key.
    pub tenant: Option<u64>,
    /// Length of the prompt in the unit of its blocks (the segment says which). Absent beside blocks: the prompt was longer
    /// than what was kept of it, and the blocks are those of its beginning, whole ones only.
    pub prompt_units: Option<u64>,
    /// Chained hashes of the prompt's blocks under the capture's key, the last short block included. Two rows begin with the
    /// same blocks exactly as far as their hashes are equal.
    pub blocks: Vec<u64>,

    // ---- where the row was read from another tool's file
    /// What that file said beyond these columns: a JSON object. A capture of ours has none.
    pub extra: Option<String>,
}

/// Gaps of one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Index of the bucket in a native histogram of schema 5 over seconds: it ends at 2^(bucket ÷ 32) s.
    pub bucket: i32,
    /// Gaps in it.
    pub bursts: u64,
    /// Tokens whose share of a gap lies in it.
    pub tokens: u64,
}

/// How often something was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// What.
    pub kind: String,
    /// How often.
    pub count: u64,
}
