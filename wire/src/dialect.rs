//! Dialects: what the data of one event, or one JSON body, says about tokens. One file each.
//!
//! A dialect keeps only state that later events are judged by; what every dialect counts alike is in [`Tally`]. To add
//! one: a file here, an arm in [`Dialect`], and the routes in [`crate::Endpoint`].

mod asked;
mod choices;
mod counter;
mod engine_grpc;
mod fault;
mod llamacpp;
mod messages;
mod ollama;
mod openai;
mod responses;
mod sequence;
mod sglang;
mod tally;
mod text;
mod tgi;
mod timings;
mod triton;
mod triton_grpc;

pub(crate) use asked::Asked;
pub(crate) use tally::Tally;
pub(crate) use triton_grpc::{id_of, is_id, says};

use crate::context::Framing;
use crate::json::{cut_plain, cut_text, has_member};
use crate::sse::Field;
use crate::{CountSource, Endpoint, FinishState, Reason, Terminator, Tokens, TransportEnd};
use engine_grpc::EngineGrpc;
use llamacpp::LlamaCpp;
use messages::Messages;
use ollama::Ollama;
use openai::OpenAi;
use responses::Responses;
use sglang::Sglang;
use tgi::Tgi;
use triton::Triton;
use triton_grpc::TritonGrpc;

/// What one event proves and shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) tokens: Tokens,
    pub(crate) reason: Reason,
    pub(crate) shows: Shows,
}

/// What an event lets a reader see. It need not be a token event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shows {
    pub(crate) reasoning: bool,
    /// Anything but reasoning.
    pub(crate) answer: bool,
    /// A tool's name or arguments, which are part of the answer.
    pub(crate) tool: bool,
}

/// What a dialect knows when an answer has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) totals: Totals,
    pub(crate) finish_reasons: Vec<Option<String>>,
    pub(crate) ending: Ending,
}

/// How the answer ended, by its content alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A finish reason says error.
    Errored,
    /// A finish reason says abort, cancelled or timeout.
    Aborted,
    /// Every choice has a finish reason.
    Finished,
    /// Nothing more is to come, and nothing else marks the end.
    AtEof,
    /// Nothing says that it has ended.
    #[default]
    Open,
}

/// Token counts of the whole answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) input: Option<u64>,
    /// With the source that states it.
    pub(crate) output: Option<(u64, CountSource)>,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

/// The dialect that an endpoint speaks.
#[derive(Debug)]
pub(crate) enum Dialect {
    OpenAi(OpenAi),
    Responses(Responses),
    Messages(Messages),
    LlamaCpp(LlamaCpp),
    Sglang(Sglang),
    Tgi(Tgi),
    Triton(Triton),
    Ollama(Ollama),
    EngineGrpc(EngineGrpc),
    TritonGrpc(TritonGrpc),
}

// ---- Evidence

impl Evidence {
    /// Nothing proven, nothing shown.
    pub(crate) fn none(reason: Reason) -> Self {
        Self {
            tokens: Tokens::None,
            reason,
            shows: Shows::default(),
        }
    }

    /// What is proven where nothing counts tokens: at least one if something is shown, else none for this `reason`.
    pub(crate) fn of_shown(shows: Shows, reason: Reason) -> Self {
        if shows.anything() {
            Self {
                tokens: Tokens::AtLeastOne,
                reason: shows.reason(),
                shows,
            }
        } else {
            Self::none(reason)
        }
    }
}

impl Shows {
    /// Text of the answer, if there is any.
    pub(crate) fn text(answer: bool) -> Self {
        Self {
            answer,
            ..Self::default()
        }
    }

    pub(crate) fn anything(self) -> bool {
        self.reasoning || self.answer
    }

    /// What the best evidence is where nothing counts.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Self { tool: true, .. } => Reason::ToolCall,
            Self { answer: true, .. } => Reason::Text,
            Self {
                reasoning: true, ..
            } => Reason::Reasoning,
            _ => Reason::Empty,
        }
    }
}

// ---- Dialect

impl Dialect {
    /// The dialect of an answer whose body is framed like this.
    pub(crate) fn new(asked: Asked, framing: Framing) -> Self {
        match asked.endpoint {
            // llama.cpp answers this route of Ollama's in OpenAI's dialect.
            Endpoint::OllamaChat if framing == Framing::Events => Self::chat(asked),
            Endpoint::OllamaChat | Endpoint::OllamaGenerate => Self::Ollama(Ollama::new(asked)),
            Endpoint::Completions | Endpoint::ChatCompletions | Endpoint::InferenceGenerate => {
                Self::OpenAi(OpenAi::new(asked))
            }
            Endpoint::Responses => Self::Responses(Responses::new(asked)),
            Endpoint::Messages => Self::Messages(Messages::new(asked)),
            Endpoint::Completion => Self::LlamaCpp(LlamaCpp::new(asked)),
            Endpoint::Generate => Self::Sglang(Sglang::new(asked)),
            Endpoint::GenerateStream | Endpoint::Root => Self::Tgi(Tgi::new(asked)),
            Endpoint::TritonGenerate | Endpoint::TritonGenerateStream => {
                Self::Triton(Triton::new(asked))
            }
            Endpoint::VllmGrpc | Endpoint::SglangGrpc => Self::EngineGrpc(EngineGrpc::new(asked)),
            Endpoint::TritonGrpc => Self::TritonGrpc(TritonGrpc::new(asked)),
        }
    }

    fn chat(asked: Asked) -> Self {
        Self::OpenAi(OpenAi::new(Asked {
            endpoint: Endpoint::ChatCompletions,
            ..asked
        }))
    }

    /// Judges the data of one event.
    pub(crate) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match self {
            Self::OpenAi(dialect) => dialect.event(field, data, tally),
            Self::Responses(dialect) => dialect.event(field, data, tally),
            Self::Messages(dialect) => dialect.event(field, data, tally),
            Self::LlamaCpp(dialect) => dialect.event(field, data, tally),
            Self::Sglang(dialect) => dialect.event(field, data, tally),
            Self::Tgi(dialect) => dialect.event(field, data, tally),
            Self::Triton(dialect) => dialect.event(field, data, tally),
            Self::Ollama(dialect) => dialect.event(field, data, tally),
            Self::EngineGrpc(dialect) => dialect.event(data, tally),
            Self::TritonGrpc(dialect) => dialect.event(data, tally),
        }
    }

    /// Reads a whole body; whether it is an answer, and not an error or half a body.
    pub(crate) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        self.listen(body);
        match self {
            Self::OpenAi(dialect) => dialect.body(body, tally),
            Self::Responses(dialect) => dialect.body(body, tally),
            Self::Messages(dialect) => dialect.body(body, tally),
            Self::LlamaCpp(dialect) => dialect.body(body, tally),
            Self::Sglang(dialect) => dialect.body(body, tally),
            Self::Tgi(dialect) => dialect.body(body, tally),
            Self::Triton(dialect) => dialect.body(body, tally),
            Self::Ollama(dialect) => dialect.body(body, tally),
            // What answers a call without messages is no gRPC service.
            Self::EngineGrpc(_) | Self::TritonGrpc(_) => false,
        }
    }

    /// What is known after so many events, with which the transport ended like this.
    pub(crate) fn finish(&self, end: TransportEnd, events: u64) -> Outcome {
        match self {
            Self::OpenAi(dialect) => dialect.finish(),
            Self::Responses(dialect) => dialect.finish(),
            Self::Messages(dialect) => dialect.finish(),
            Self::LlamaCpp(dialect) => dialect.finish(),
            Self::Sglang(dialect) => dialect.finish(),
            Self::Tgi(dialect) => dialect.finish(),
            Self::Triton(dialect) => dialect.finish(end, events),
            Self::Ollama(dialect) => dialect.finish(),
            Self::EngineGrpc(dialect) => dialect.finish(),
            Self::TritonGrpc(dialect) => dialect.finish(end, events),
        }
    }

    /// Two engines may answer on one route; where bodies are concerned a member of theirs tells which it is.
    fn listen(&mut self, body: &[u8]) {
        match self {
            Self::Sglang(dialect) if has_member(body, b"generated_text") => {
                *self = Self::Tgi(Tgi::new(dialect.asked));
            }
            Self::Ollama(dialect) if has_member(body, b"choices") => {
                *self = Self::chat(dialect.asked);
            }
            _ => {}
        }
    }
}

// ---- States

impl Ending {
    /// What finish reasons say went wrong; open if nothing did.
    pub(crate) fn by_reasons<'r>(mut reasons: impl Iterator<Item = &'r str> + Clone) -> Self {
        let is_abort = |reason| {
            matches!(
                reason,
                "abort" | "aborted" | "cancelled" | "canceled" | "timeout" | "timed_out"
            )
        };
        if reasons.clone().any(|reason| reason == "error") {
            Self::Errored
        } else if reasons.any(is_abort) {
            Self::Aborted
        } else {
            Self::Open
        }
    }

    /// The state that an answer with this ending and end mark is in, if nothing worse is known of it.
    pub(crate) fn state(self, mark: Option<Terminator>) -> FinishState {
        match (self, mark) {
            (Self::Errored, _) => FinishState::Errored,
            (Self::Aborted, _) => FinishState::Aborted,
            (Self::Finished | Self::AtEof, _) | (Self::Open, Some(_)) => FinishState::Complete,
            (Self::Open, None) => FinishState::Cut,
        }
    }

    /// The same where finish reasons don't stand for an end mark.
    pub(crate) fn without_mark(self) -> Self {
        match self {
            Self::Finished => Self::Open,
            ending => ending,
        }
    }

    /// The same where what came last was not read: nothing but an end mark tells that it was the last.
    pub(crate) fn unseen(self) -> Self {
        match self {
            Self::Finished | Self::AtEof => Self::Open,
            ending => ending,
        }
    }

    /// What stands for an end mark where none was seen.
    pub(crate) fn implied_mark(self) -> Option<Terminator> {
        match self {
            Self::Finished => Some(Terminator::Missing),
            Self::AtEof => Some(Terminator::Eof),
            Self::Errored | Self::Aborted | Self::Open => None,
        }
    }
}

// ---- Facts

/// Adds what is stated; nothing if neither is.
fn add_stated(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Keeps the last text that is not empty, from how it is written in JSON.
fn keep_text(kept: &mut Option<String>, raw: &[u8]) {
    if !raw.is_empty() && kept.as_deref().map(str::as_bytes) != Some(raw) {
        *kept = Some(cut_text(raw));
    }
}

/// The same from a text that is no JSON.
fn keep_plain(kept: &mut Option<String>, text: &[u8]) {
    if !text.is_empty() && kept.as_deref().map(str::as_bytes) != Some(text) {
        *kept = Some(cut_plain(text));
    }
}
