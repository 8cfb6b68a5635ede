//! The other direction: the bytes that LLM engines write, and the requests that ask for them.
//!
//! For whoever plays an engine or a client: the decoder never uses this. A [`Writer`] writes one answer, event by event or
//! as one body, as an [`EngineKind`] writes it on a route. It is told tokens; which events they become, in what order and
//! with which members, is a habit of the engine, and the habits are tables (`engines/`): templates that show the bytes as
//! they go over the wire. vLLM's are those of 0.33's Python front-end and llama.cpp's those of a running server of autumn
//! 2026; the others follow the sources of SGLang 0.5, TensorRT-LLM's trtllm-serve, TGI 3.3 and Triton 2.73, with a constant
//! where a member says nothing about tokens. trtllm-serve's `/v1/responses` was never seen; it is written as vLLM's.
//!
//! Line ends are LF. Nothing here checks that what it is told makes sense: that is the caller's story.

mod engines;
mod holes;
mod python;
mod refusal;
mod request;
mod shape;
mod sheet;
mod template;
mod writer;

use crate::{Accumulation, Endpoint, EngineKind};

pub use refusal::{Refusal, RefusedStream};
pub use request::{Prompt, RequestShape, Streaming};
pub use sheet::{Part, Sheet, Written};
pub use writer::Writer;

/// Token counts. Running counts describe one choice and its prompt, a total the whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub prompt: u64,
    /// Generated tokens.
    pub completion: u64,
    /// Prompt tokens taken from the prefix cache; `None` where the answer doesn't say.
    pub cached: Option<u64>,
    /// Reasoning tokens among `completion`; `None` where the answer doesn't say.
    pub reasoning: Option<u64>,
}

/// How one answer is to be written: whose, on which route, and what was asked for.
#[derive(Debug, Clone)]
pub struct Manner {
    /// Whose habits.
    pub engine: EngineKind,
    /// The route.
    pub endpoint: Endpoint,
    /// The answer comes as events, so that nothing has to be remembered for a body.
    pub streamed: bool,
    /// What is special about this answer's id: engines put `chatcmpl-` and the like before it.
    pub id: String,
    /// `created`, in seconds since 1970.
    pub created: u64,
    /// `model`
    pub model: String,
    /// `system_fingerprint`, without what the engine puts before it.
    pub fingerprint: String,
    /// Answers for each prompt: choice index = prompt number × `n` + answer number.
    pub n: u32,
    /// Prompts.
    pub prompts: u32,
    /// The limit of generated tokens, where the answer repeats it.
    pub limit: u32,
    /// What else the request asked for.
    pub wishes: Wishes,
    /// How the server was started.
    pub settings: Settings,
}

/// What a request asks for beyond its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wishes {
    /// A total at the end, where the engine leaves that to the client.
    pub usage: bool,
    /// Running counts on each event: `continuous_usage_stats`, llama.cpp's `timings_per_token`.
    pub running: bool,
    /// Ids of the generated tokens, on vLLM's and SGLang's OpenAI routes.
    pub token_ids: bool,
    /// vLLM's `/inference/v1/generate`: text beside the ids.
    pub text: bool,
    /// TGI's `details`; Triton's `return_finish_reason`.
    pub details: bool,
    /// Triton's `return_num_input_tokens`.
    pub input_count: bool,
    /// Triton's `return_num_output_tokens`.
    pub output_count: bool,
}

/// How a server was started, as far as its answers show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// SGLang's `/generate` and Triton: whether an event has the new piece or all so far. Triton's `num_output_tokens` is
    /// of the same kind.
    pub text: Accumulation,
    /// Usage objects tell about the prefix cache, where an engine leaves that to its operator: vLLM's
    /// `--enable-prompt-tokens-details`, SGLang's `--enable-cache-report`.
    pub cache_report: bool,
    /// vLLM's `--enable-per-request-metrics`.
    pub request_metrics: bool,
    /// The model reasons.
    pub reasons: bool,
}

/// A generated token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// Its number in the vocabulary.
    pub id: u32,
    /// Its text; empty for one that shows nothing.
    pub text: &'a str,
    /// Where its text belongs.
    pub kind: TokenKind,
}

/// Where the text of a token belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// To the answer.
    Answer,
    /// To the reasoning before it.
    Reasoning,
    /// Nowhere: the end-of-text token.
    Silent,
}

/// What one step of the engine has added to one choice.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Index of the choice.
    pub choice: u32,
    /// The new tokens: reasoning first, the end-of-text token last.
    pub tokens: &'a [Token<'a>],
    /// Why the choice ends with them.
    pub finish: Option<Finish>,
    /// Tokens of the choice's prompt.
    pub prompt: u64,
    /// Those of them that the prefix cache had.
    pub cached: u64,
    /// The engine's own times of this choice so far.
    pub times: Times,
}

/// Why a choice ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finish {
    /// Its limit was reached.
    Length,
    /// Its last token is the end-of-text token, which shows nothing.
    Stop,
}

/// The engine's own times of one choice, in nanoseconds since the request came to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// It was admitted: the end of the queue.
    pub admitted_ns: u64,
    /// Its first token was there.
    pub first_token_ns: u64,
    /// Its newest token was there.
    pub last_token_ns: u64,
}

/// Whether an engine has a route whose answers it can be played with.
pub fn speaks(engine: EngineKind, endpoint: Endpoint) -> bool {
    engines::shape(engine, endpoint).is_some()
}

/// The comment that an engine sends in silence; empty on routes where comments have no place, and where it has none, vLLM's.
pub fn keep_alive(engine: EngineKind, endpoint: Endpoint) -> &'static str {
    match (engine, endpoint) {
        (_, Endpoint::OllamaChat | Endpoint::OllamaGenerate) => "",
        (EngineKind::Tgi | EngineKind::LlamaCpp, _) => ":\n\n",
        _ => ": keep-alive\n\n",
    }
}

impl Manner {
    /// An answer with one choice of which nothing was asked.
    pub fn new(engine: EngineKind, endpoint: Endpoint) -> Self {
        Self {
            engine,
            endpoint,
            streamed: true,
            id: String::new(),
            created: 0,
            model: String::new(),
            fingerprint: String::new(),
            n: 1,
            prompts: 1,
            limit: 0,
            wishes: Wishes::default(),
            settings: Settings::of(engine),
        }
    }
}

impl Settings {
    /// As the engine is when nothing is said at its start.
    pub const fn of(engine: EngineKind) -> Self {
        Self {
            text: match engine {
                EngineKind::Sglang => Accumulation::Cumulative,
                _ => Accumulation::Delta,
            },
            cache_report: false,
            request_metrics: false,
            reasons: false,
        }
    }
}

impl Finish {
    /// As the OpenAI routes spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Stop => "stop",
        }
    }
}

/// Appends a text as JSON has it, without its quotes.
fn escape(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    #[expect(
        clippy::expect_used,
        reason = "a text, written into memory: nothing can fail"
    )]
    serde_json::to_writer(&mut *out, text).expect("texts serialise");
    out.remove(start);
    out.pop();
}

#[cfg(test)]
mod tests;
