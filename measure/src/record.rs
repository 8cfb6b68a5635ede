//! The record of one exchange: what was asked, when things happened, how much of it there was, how it ended.
//!
//! The facts only; what follows from them (TTFT, TPOT, …) is in the methods beside it.

use crate::{EngineLoad, Flags, GapHistogram, InFlightMeans, Nanos, Outcome};
use wire::{Anomaly, CountSource, Endpoint, EngineTimes, RequestFacts};

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
///
/// `arrival` is the first and `end` the last. `first_token` lies neither before `body_sent` nor after `first_answer` or
/// `last_token`. More is not promised: an engine may answer before it has the whole request.
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

/// One exchange, finished. Fixed size but for the model names, the kinds of anomaly and the bounded histogram.
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
    /// How busy the engine was when it arrived, by the engine's word.
    pub engine_load: Option<EngineLoad>,
    /// How it ended.
    pub outcome: Outcome,
    /// Prompt tokens, cached ones included.
    pub input_tokens: Option<u64>,
    /// Where `input_tokens` comes from: the answer's usage, else the token ids of the request.
    pub input_source: CountSource,
    /// Generated tokens of all choices.
    pub output_tokens: Option<u64>,
    /// Lower bound of the same from the token events alone.
    pub output_tokens_min: u64,
    /// Where `output_tokens` comes from.
    pub output_source: CountSource,
    /// Every token event said how many tokens it carries.
    pub counts_exact: bool,
    /// Generated tokens handed out before the end, by [`crate::Exchange::poll_progress`].
    pub counted_tokens: u64,
    /// Prompt tokens from a cache, by the engine's word.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens, by the engine's word.
    pub reasoning_tokens: Option<u64>,
    /// Times of the request, by the engine's word.
    pub engine_times: EngineTimes,
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
    pub gaps: GapHistogram,
    /// What could not be read as it was meant, each kind once, with its count.
    pub anomalies: Vec<(Anomaly, u64)>,
    /// What limits its use.
    pub flags: Flags,
}
