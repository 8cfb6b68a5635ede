//! The report: what [`crate::decode`] found. Serialised, it is the JSON form, whose shape `docs/DECODE.md` describes.

use serde::Serialize;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A body without a head.
    Body,
    /// Heads and a body of HTTP/1.1, or as `curl -i` shows them.
    Http,
    /// A HAR file.
    Har,
    /// A timed recording.
    Timed,
}

/// How the route is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndpointFrom {
    /// It was said.
    Option,
    /// By the path of the request.
    Path,
    /// By the body.
    Body,
}

/// What an event is the first of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum First {
    /// The first event of any kind.
    Event,
    /// The first token.
    Token,
    /// The first token of the answer, reasoning excluded.
    Answer,
}

/// A file's answers.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What the file holds.
    pub form: Form,
    /// What is said of the file as a whole.
    pub notes: Vec<String>,
    /// Its answers.
    pub answers: Vec<AnswerReport>,
}

/// One answer.
#[derive(Debug, Serialize)]
pub struct AnswerReport {
    /// Which entry of a HAR file, counting from 0.
    pub entry: Option<usize>,
    /// Path of the request, if recorded.
    pub path: Option<String>,
    /// The route, of a closed set.
    pub endpoint: &'static str,
    /// How the route is known.
    pub endpoint_from: EndpointFrom,
    /// HTTP status.
    pub status: u16,
    /// `events`, `lines`, `messages` or `body`.
    pub framing: &'static str,
    /// The recording has times.
    pub timed: bool,
    /// What was assumed.
    pub notes: Vec<String>,
    /// What was understood of each event, in order.
    pub events: Vec<EventReport>,
    /// What was understood of the whole.
    pub summary: Summary,
}

/// One event.
#[derive(Debug, Serialize)]
pub struct EventReport {
    /// Counting from 0.
    pub index: usize,
    /// When it was whole, in milliseconds since the request was sent.
    pub at_ms: Option<f64>,
    /// Where it begins in the body, in bytes.
    pub offset: usize,
    /// Bytes of the body that it takes, with comments before it.
    pub length: usize,
    /// Tokens that it proves; `None` if at least one, and how many is not known.
    pub tokens: Option<u32>,
    /// `answer`, `reasoning`, or nothing.
    pub shows: Option<&'static str>,
    /// The decoder's rule, of a closed set.
    pub reason: &'static str,
    /// The same in a sentence.
    pub why: &'static str,
    /// What it is the first of.
    pub first: Vec<First>,
    /// A piece of its data, to be recognised by.
    pub data: String,
}

/// What was understood of the whole answer.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The outcome that a metric would count.
    pub outcome: &'static str,
    /// Why, in a sentence.
    pub outcome_why: &'static str,
    /// State of the answer by its content: `complete`, `cut`, `aborted`, `errored` or `rejected`.
    pub state: &'static str,
    /// The end mark that was seen.
    pub end_mark: Option<&'static str>,
    /// How the transport ended: `clean`, `truncated` or `reset`.
    pub transport: &'static str,
    /// Events.
    pub events: u64,
    /// Comment lines.
    pub comments: u64,
    /// Events that prove tokens.
    pub token_events: u64,
    /// Token events that show something.
    pub visible_events: u64,
    /// Prompt tokens.
    pub input_tokens: Count,
    /// Generated tokens.
    pub output_tokens: OutputCount,
    /// Prompt tokens from a cache, by the engine's word.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens, by the engine's word.
    pub reasoning_tokens: Option<u64>,
    /// One for each choice, as the engine spells it.
    pub finish_reasons: Vec<Option<String>>,
    /// Message of the error object.
    pub error: Option<String>,
    /// Model that the answer names.
    pub model: Option<String>,
    /// Id of the answer.
    pub response_id: Option<String>,
    /// What could not be read as it was meant.
    pub anomalies: Vec<AnomalyReport>,
    /// What limits the use of the record; those that follow from times only where there are any.
    pub flags: Vec<&'static str>,
    /// Times, where the recording has them.
    pub times: Option<Times>,
}

/// A count and where it comes from.
#[derive(Debug, Serialize)]
pub struct Count {
    /// `None`: nothing states it.
    pub count: Option<u64>,
    /// Of a closed set; `unknown` without a count.
    pub source: &'static str,
}

/// The count of generated tokens.
#[derive(Debug, Serialize)]
pub struct OutputCount {
    /// `None`: nothing states it.
    pub count: Option<u64>,
    /// At least so many, by the events alone.
    pub at_least: u64,
    /// Of a closed set; `unknown` without a count.
    pub source: &'static str,
    /// Why it is that, in a sentence.
    pub why: String,
}

/// A kind of anomaly.
#[derive(Debug, Serialize)]
pub struct AnomalyReport {
    /// Of a closed set.
    pub name: &'static str,
    /// How often.
    pub count: u64,
}

/// Quantities in milliseconds; `None` where the exchange has none, or was cut before it had one.
#[derive(Debug, Serialize)]
pub struct Times {
    /// Time to the first event of any kind.
    pub first_event_ms: Option<f64>,
    /// Time to the first token.
    pub ttft_ms: Option<f64>,
    /// Time to the first token of the answer.
    pub first_answer_ms: Option<f64>,
    /// Time per output token.
    pub tpot_ms: Option<f64>,
    /// Mean gap between token-bearing bursts.
    pub gap_mean_ms: Option<f64>,
    /// Mean gap by token: each burst's gap over its tokens. Only where every event counts.
    pub gap_per_token_ms: Option<f64>,
    /// Largest gap.
    pub max_stall_ms: Option<f64>,
    /// End to end.
    pub e2e_ms: Option<f64>,
    /// Token-bearing bursts.
    pub bursts: u64,
}

/// The firsts that were seen.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) seen: Vec<First>,
}
