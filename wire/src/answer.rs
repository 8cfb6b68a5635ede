//! What can be known about an answer once it has ended.

use crate::EngineTimes;

/// How the transport ended the body. It decides between a whole answer and a cut one where no end mark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportEnd {
    /// As its framing says: closing chunk, full length, end of a body that only the close delimits.
    Clean,
    /// Before that.
    Cut,
}

/// Where a token count comes from, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CountSource {
    /// Stated for the whole answer by a usage object.
    Usage,
    /// Last values of running usage counters, added over choices.
    Continuous,
    /// Lengths of token id lists.
    TokenIds,
    /// Lengths of log-probability lists.
    Logprobs,
    /// An engine's own counter (llama.cpp `timings.predicted_n` and `tokens_predicted`, SGLang `completion_tokens`, TGI
    /// `index`, Triton `num_output_tokens`).
    Counter,
    /// The response's head (TGI `x-generated-tokens`).
    Headers,
    /// Nothing said it.
    None,
}

impl CountSource {
    /// Each, once.
    pub const ALL: [Self; 7] = [
        Self::Usage,
        Self::Continuous,
        Self::TokenIds,
        Self::Logprobs,
        Self::Counter,
        Self::Headers,
        Self::None,
    ];

    /// The label value, a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Continuous => "continuous",
            Self::TokenIds => "ids",
            Self::Logprobs => "logprobs",
            Self::Counter => "counter",
            Self::Headers => "headers",
            Self::None => "unknown",
        }
    }
}

/// State of an answer; the first that holds, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FinishState {
    /// HTTP status ≥ 400.
    Rejected,
    /// An error object came, also inside a 200.
    Errored,
    /// A finish reason says abort, cancelled or timeout.
    Aborted,
    /// The end mark came, or every choice has a finish reason.
    Complete,
    /// Everything else.
    Cut,
}

/// The end mark that was seen, in whatever state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Terminator {
    /// `data: [DONE]`
    Done,
    /// `response.completed` of `/v1/responses`; the status in it may say `incomplete`.
    ResponseCompleted,
    /// `response.incomplete`
    ResponseIncomplete,
    /// `response.failed`
    ResponseFailed,
    /// `message_stop` of `/v1/messages`; servers send it after an error too.
    MessageStop,
    /// `stop` of llama.cpp's `/completion`, for every prompt.
    Stop,
    /// `done` of the last line, in Ollama's dialect.
    OllamaDone,
    /// The message that completes each choice, of vLLM's and SGLang's gRPC services.
    GrpcComplete,
    /// A response of Triton's gRPC service with `triton_final_response`.
    TritonFinalResponse,
    /// The end of the body, where nothing else marks the end: TGI after `generated_text`, Triton after any event.
    Eof,
    /// A whole JSON body that is no error.
    Body,
    /// No end mark, but all choices have a finish reason.
    Missing,
}

/// Something in the bytes that could not be read as it was meant. Counted by name, never fatal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Anomaly {
    /// A line or body above its limit: decoding of this answer stopped.
    OversizeEvent,
    /// The body is compressed and was not decoded, or not to its end.
    Opaque,
    /// An event's data was no JSON, or JSON that broke off; in gRPC, no protobuf.
    BadJson,
    /// More choices than [`crate::limits::CHOICES`].
    TooManyChoices,
    /// A whole JSON body came although a stream was asked for.
    BodyOnStream,
    /// A running counter went down.
    CounterWentBack,
    /// The compressed body is damaged, or broke off although the transport ended whole.
    CorruptCoding,
    /// The compressed body unpacks to more than [`crate::limits::UNPACKED_RATIO`] times its size: decoding stopped.
    DenseCoding,
}

impl Anomaly {
    /// Each of them, once.
    pub const ALL: [Self; 8] = [
        Self::OversizeEvent,
        Self::Opaque,
        Self::BadJson,
        Self::TooManyChoices,
        Self::BodyOnStream,
        Self::CounterWentBack,
        Self::CorruptCoding,
        Self::DenseCoding,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OversizeEvent => "oversize_event",
            Self::Opaque => "opaque",
            Self::BadJson => "bad_json",
            Self::TooManyChoices => "too_many_choices",
            Self::BodyOnStream => "body_on_stream",
            Self::CounterWentBack => "counter_went_back",
            Self::CorruptCoding => "corrupt_coding",
            Self::DenseCoding => "dense_coding",
        }
    }
}

/// The facts of a finished answer. `None` is "not knowable from these bytes", never 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The body was an event stream (as opposed to one JSON body).
    pub streamed: bool,
    /// Events.
    pub events: u64,
    /// Comment lines.
    pub comments: u64,
    /// Events that prove at least one token.
    pub token_events: u64,
    /// Token events that show something.
    pub visible_events: u64,
    /// Prompt tokens, cached ones included, each prompt once.
    pub input_tokens: Option<u64>,
    /// Generated tokens of all choices.
    pub output_tokens: Option<u64>,
    /// Lower bound of the same, from the token events alone.
    pub output_tokens_min: u64,
    /// Where `output_tokens` comes from.
    pub output_source: CountSource,
    /// Prompt tokens that the engine says it took from a cache.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens that the engine states.
    pub reasoning_tokens: Option<u64>,
    /// Times that the engine states of the request, where the answer is one choice: of several, each has its own.
    pub engine_times: EngineTimes,
    /// One entry per choice seen, by index, as the engine spells it; `None` where none came.
    pub finish_reasons: Vec<Option<String>>,
    /// See [`FinishState`].
    pub state: FinishState,
    /// See [`Terminator`].
    pub terminator: Option<Terminator>,
    /// Message of the error object, cut at [`crate::limits::TEXT_BYTES`].
    pub error: Option<String>,
    /// First non-empty model name in the answer.
    pub model: Option<String>,
    /// First non-empty id of the answer. It is no key: engines repeat, omit and change it.
    pub response_id: Option<String>,
    /// What went wrong while reading, each with its count.
    pub anomalies: Vec<(Anomaly, u64)>,
}
