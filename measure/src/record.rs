//! The record of one exchange: what was asked, when things happened, how much of it there was, how it ended.

use crate::{Nanos, Outcome};
use wire::{CountSource, Endpoint, RequestFacts};

/// Which load an exchange belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Real traffic.
    Production,
    /// A copy sent to a candidate.
    Shadow,
    /// Sent from a capture.
    Replay,
}

/// Who an exchange is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Unique in this process, counting from 1.
    pub id: u64,
    /// Which load it belongs to.
    pub role: Role,
    /// The generating route.
    pub endpoint: Endpoint,
}

/// Instants of one exchange, on one monotonic clock. `None`: it did not happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Request head received.
    pub arrival: Nanos,
    /// Request head handed to the engine's socket.
    pub head_sent: Option<Nanos>,
    /// Whole request handed to the engine's socket: the zero of TTFT and e2e.
    pub body_sent: Option<Nanos>,
    /// Response head received. Never TTFT.
    pub response_head: Option<Nanos>,
    /// First event of any kind. Never TTFT.
    pub first_event: Option<Nanos>,
    /// Read that completed the first event with at least one generated token of any kind.
    pub first_token: Option<Nanos>,
    /// The same, reasoning excluded.
    pub first_answer: Option<Nanos>,
    /// Read that completed the last token-bearing event.
    pub last_token: Option<Nanos>,
    /// End of the exchange, whatever ended it.
    pub end: Nanos,
}

/// Exchanges in flight around this one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InFlightMeans {
    /// In flight when it arrived, itself excluded.
    pub at_arrival: u32,
    /// Time average over its life, itself included. `None` over an empty span.
    pub life: Option<f64>,
    /// Time average from arrival to first token (to the end, if none came).
    pub prefill: Option<f64>,
    /// Time average from first token to the end.
    pub decode: Option<f64>,
    /// The same, counting only exchanges in their own decode.
    pub decoders: Option<f64>,
}

/// What limits the use of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// The queue to the client was full once: later stamps are the client's pace.
    pub client_limited: bool,
    /// Many bursts with gaps far below a decode step: something above the engine buffers.
    pub buffered_upstream: bool,
    /// Stamps may belong to a later read than the bytes (HTTP/2 to the engine).
    pub shared_stamps: bool,
    /// The body ended without its framing's end.
    pub truncated: bool,
    /// The body was compressed and not decoded.
    pub opaque: bool,
    /// A line above the limit: decoding stopped there.
    pub oversize_event: bool,
    /// Usage was injected into the request.
    pub usage_injected: bool,
    /// The total stated and the tokens counted differ.
    pub usage_mismatch: bool,
    /// TPOT rests on a first burst whose token count is a lower bound.
    pub tpot_estimated: bool,
    /// The observer failed (a caught panic); bytes went on.
    pub unobserved: bool,
}

/// A quantity of one exchange, for a criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Defined<T> {
    /// Its value.
    Value(T),
    /// It ended before the value was determined: at least this much.
    Censored(T),
    /// It can't have one (TTFT of a body that was not streamed, TPOT of one burst).
    NotApplicable,
}

/// One exchange, finished. Fixed size but for the model names and the bounded histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Who it is.
    pub identity: Identity,
    /// What was asked.
    pub request: RequestFacts,
    /// Model name in the answer, as the engine spells it.
    pub answer_model: Option<String>,
    /// HTTP status of the engine's answer, if a head came.
    pub status: Option<u16>,
    /// The answer was an event stream.
    pub streamed: bool,
    /// When things happened.
    pub stamps: Stamps,
    /// Around how many others.
    pub in_flight: InFlightMeans,
    /// How it ended.
    pub outcome: Outcome,
    /// Prompt tokens, cached ones included.
    pub input_tokens: Option<u64>,
    /// Generated tokens of all choices.
    pub output_tokens: Option<u64>,
    /// Lower bound of the same from the token events alone.
    pub output_tokens_min: u64,
    /// Where `output_tokens` comes from.
    pub output_source: CountSource,
    /// Prompt tokens from a cache, by the engine's word.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens, by the engine's word.
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the first burst (a lower bound if `tpot_estimated`).
    pub first_burst_tokens: u64,
    /// Events of any kind.
    pub events: u64,
    /// Token-bearing bursts.
    pub bursts: u64,
    /// Bytes of the response body.
    pub response_bytes: u64,
    /// Bytes of the request body.
    pub request_bytes: u64,
    /// Gaps between token-bearing bursts.
    pub gaps: crate::GapHistogram,
    /// What limits its use.
    pub flags: Flags,
}
