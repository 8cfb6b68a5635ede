//! How an exchange ended: a closed set, and who is to blame.

/// The party whose doing an outcome is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Blame {
    /// Nobody: it went well.
    Nobody,
    /// The client left, was too slow, or asked for something impossible.
    Client,
    /// The engine failed.
    Engine,
    /// We cut it, by a limit the operator set or at shutdown.
    Us,
}

/// Outcome of an exchange, the value of the label `outcome`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Terminal mark of the dialect seen and the transport ended whole, or the client hung up on the mark. Where the
    /// answer could not be read ([`crate::Flags::sight_lost`]), only the transport's word stands behind it.
    Ok,
    /// The client left before the first token; or the engine ended its gRPC call as cancelled or past its deadline.
    ClientAbortPrefill,
    /// The same after the first token.
    ClientAbortDecode,
    /// The client did not take its bytes within the write limit.
    SlowClient,
    /// Refused by us before the engine saw it whole: ambiguous or malformed.
    RejectedMalformed,
    /// Refused by us before the engine saw it whole: over a limit.
    RejectedLimit,
    /// No connection to the engine.
    ConnectFailed,
    /// The engine's connection broke before the response head, or was reset at any time.
    UpstreamReset,
    /// The body ended without its framing's end.
    UpstreamTruncated,
    /// Framing whole, terminal mark missing.
    SseNoDone,
    /// An error object inside a 200, whatever follows, or a finish reason that says the engine gave up, or a gRPC call that
    /// failed after its first token.
    SseErrorEvent,
    /// Status 4xx other than 429, or a gRPC status that blames the request.
    Upstream4xx,
    /// Status 429, or gRPC's `RESOURCE_EXHAUSTED`.
    Upstream429,
    /// Status 5xx, or a gRPC status that blames the engine.
    Upstream5xx,
    /// Our optional limit on the time to the first token.
    TimeoutTtft,
    /// Our optional limit on the engine's silence mid-stream.
    TimeoutIdle,
    /// Cut by the hard stop of a drain.
    Drained,
}

impl Outcome {
    /// Every outcome, in label order: for series that exist before they happen.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::ClientAbortPrefill,
        Self::ClientAbortDecode,
        Self::SlowClient,
        Self::RejectedMalformed,
        Self::RejectedLimit,
        Self::ConnectFailed,
        Self::UpstreamReset,
        Self::UpstreamTruncated,
        Self::SseNoDone,
        Self::SseErrorEvent,
        Self::Upstream4xx,
        Self::Upstream429,
        Self::Upstream5xx,
        Self::TimeoutTtft,
        Self::TimeoutIdle,
        Self::Drained,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ClientAbortPrefill => "client_abort_prefill",
            Self::ClientAbortDecode => "client_abort_decode",
            Self::SlowClient => "slow_client",
            Self::RejectedMalformed => "rejected_malformed",
            Self::RejectedLimit => "rejected_limit",
            Self::ConnectFailed => "connect_failed",
            Self::UpstreamReset => "upstream_reset",
            Self::UpstreamTruncated => "upstream_truncated",
            Self::SseNoDone => "sse_no_done",
            Self::SseErrorEvent => "sse_error_event",
            Self::Upstream4xx => "upstream_4xx",
            Self::Upstream429 => "upstream_429",
            Self::Upstream5xx => "upstream_5xx",
            Self::TimeoutTtft => "timeout_ttft",
            Self::TimeoutIdle => "timeout_idle",
            Self::Drained => "drained",
        }
    }

    /// Who is to blame.
    pub const fn blame(self) -> Blame {
        match self {
            Self::Ok => Blame::Nobody,
            Self::ClientAbortPrefill
            | Self::ClientAbortDecode
            | Self::SlowClient
            | Self::RejectedMalformed
            | Self::RejectedLimit
            | Self::Upstream4xx => Blame::Client,
            Self::ConnectFailed
            | Self::UpstreamReset
            | Self::UpstreamTruncated
            | Self::SseNoDone
            | Self::SseErrorEvent
            | Self::Upstream429
            | Self::Upstream5xx => Blame::Engine,
            Self::TimeoutTtft | Self::TimeoutIdle | Self::Drained => Blame::Us,
        }
    }
}
