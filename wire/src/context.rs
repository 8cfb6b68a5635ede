//! The head of an answer: what is known before its body, and what it says about the body's framing.

use crate::coding::Coding;
use crate::{Endpoint, EngineTimes};

/// What is known of an answer before its body: the head of the response, and what the request asked for.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'a> {
    /// The route that answers.
    pub endpoint: Endpoint,
    /// HTTP status.
    pub status: u16,
    /// `content-type`, with its parameters.
    pub content_type: Option<&'a str>,
    /// `content-encoding`
    pub content_encoding: Option<&'a str>,
    /// Whether a stream was asked for.
    pub stream_requested: Option<bool>,
    /// Answers asked for per prompt; 1 if not known.
    pub n: Option<u32>,
    /// Prompts in the request; 1 if not known.
    pub prompts: Option<u32>,
    /// Whether the answer repeats the prompt; no if not known.
    pub echo: Option<bool>,
    /// SGLang's `/generate` and Triton: what the text of an event is. The deployment decides it (SGLang's
    /// `--incremental-streaming-output`, Triton's model); if not known it is learned while the answer comes.
    pub text_mode: Option<Accumulation>,
    /// Triton: what `num_output_tokens` of an event counts. The model decides it; if not known it counts nothing, except in
    /// an answer that states it once.
    pub num_output_tokens: Option<Accumulation>,
    /// Triton's `ModelStreamInfer`: whether the request asked to be told of the last response. One that did not has its whole
    /// answer when the call ends well.
    pub end_asked: Option<bool>,
    /// TGI: the response header `x-generated-tokens`.
    pub generated_tokens: Option<u64>,
    /// TGI: the response header `x-prompt-tokens`.
    pub prompt_tokens: Option<u64>,
    /// What the head states of the engine's own times, by [`EngineTimes::of_head`].
    pub engine_times: EngineTimes,
}

/// What an event states of something that grows while an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulation {
    /// What is new.
    Delta,
    /// All so far.
    Cumulative,
}

/// How a body is cut into what a dialect judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON object a line.
    Lines,
    /// gRPC messages.
    Messages,
    /// One JSON text.
    Body,
}

// ---- AnswerContext

impl AnswerContext<'_> {
    /// An answer of this route with this status, of which nothing else is known.
    pub const fn new(endpoint: Endpoint, status: u16) -> Self {
        Self {
            endpoint,
            status,
            content_type: None,
            content_encoding: None,
            stream_requested: None,
            n: None,
            prompts: None,
            echo: None,
            text_mode: None,
            num_output_tokens: None,
            end_asked: None,
            generated_tokens: None,
            prompt_tokens: None,
            engine_times: EngineTimes {
                queue: None,
                prefill: None,
                ttft: None,
                decode: None,
                e2e: None,
            },
        }
    }

    pub(crate) fn framing(&self) -> Framing {
        let media_type = self
            .content_type
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        if self.endpoint.is_grpc() {
            let names_grpc = media_type.starts_with("application/grpc");
            return if names_grpc || (media_type.is_empty() && self.status < 400) {
                Framing::Messages
            } else {
                Framing::Body
            };
        }
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        if is("text/event-stream") {
            return Framing::Events;
        }
        if [
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
        ]
        .into_iter()
        .any(is)
        {
            return Framing::Lines;
        }
        let is_json = is("application/json") || media_type.to_ascii_lowercase().ends_with("+json");
        if is_json || self.stream_requested != Some(true) || self.status >= 400 {
            return Framing::Body;
        }
        match self.endpoint {
            Endpoint::OllamaChat | Endpoint::OllamaGenerate => Framing::Lines,
            _ => Framing::Events,
        }
    }

    /// How the body is compressed.
    pub(crate) fn coding(&self) -> Coding {
        Coding::of(self.content_encoding.unwrap_or_default())
    }
}
