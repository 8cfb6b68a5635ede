//! Request bodies for `/v1/completions` and `/v1/chat/completions`.

use serde::Serialize;

use crate::Endpoint;

/// The prompt of a request. A chat takes the text as its one user message.
#[derive(Debug, Clone, Copy)]
pub enum Prompt<'a> {
    /// Text; its length in tokens is the engine's business.
    Text(&'a str),
    /// Token ids, so that the length is exact. Chats have no such form: the ids are written as text, blank between.
    TokenIds(&'a [u32]),
}

/// How the answer shall come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streaming {
    /// One JSON body.
    Whole,
    /// Events, without usage.
    Events,
    /// Events, with a usage chunk at the end.
    Usage,
    /// Events, with running counts on each and a usage chunk at the end.
    RunningUsage,
}

/// What a request asks for. [`RequestShape::body`] writes it.
#[derive(Debug, Clone, Copy)]
pub struct RequestShape<'a> {
    /// `model`
    pub model: Option<&'a str>,
    /// The prompt.
    pub prompt: Prompt<'a>,
    /// `max_tokens`, or `max_completion_tokens` in a chat.
    pub max_tokens: Option<u32>,
    /// See [`Streaming`].
    pub streaming: Streaming,
    /// `n`, left away if 1.
    pub n: u32,
    /// Generate up to the limit even past an end-of-text token (`ignore_eos`, vLLM's extension), so that the output's
    /// length is the one asked for.
    pub ignore_eos: bool,
    /// `seed` of the sampling.
    pub seed: Option<i64>,
}

impl RequestShape<'_> {
    /// The request's body.
    pub fn body(&self, endpoint: Endpoint) -> Vec<u8> {
        let mut out = Vec::new();
        let chat = endpoint == Endpoint::ChatCompletions;
        let ids_as_text = match self.prompt {
            Prompt::TokenIds(ids) if chat => spell(ids),
            _ => String::new(),
        };
        let (prompt, messages) = match self.prompt {
            Prompt::Text(content) if chat => (
                None,
                Some([Message {
                    role: "user",
                    content,
                }]),
            ),
            Prompt::TokenIds(_) if chat => (
                None,
                Some([Message {
                    role: "user",
                    content: &ids_as_text,
                }]),
            ),
            Prompt::Text(text) => (Some(PromptField::Text(text)), None),
            Prompt::TokenIds(ids) => (Some(PromptField::TokenIds(ids)), None),
        };
        json(
            &mut out,
            &Body {
                model: self.model,
                prompt,
                messages,
                max_tokens: self.max_tokens.filter(|_| !chat),
                max_completion_tokens: self.max_tokens.filter(|_| chat),
                n: (self.n != 1).then_some(self.n),
                ignore_eos: self.ignore_eos.then_some(true),
                seed: self.seed,
                stream: (self.streaming != Streaming::Whole).then_some(true),
                stream_options: StreamOptions::of(self.streaming),
            },
        );
        out
    }
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<PromptField<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<[Message<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PromptField<'a> {
    Text(&'a str),
    TokenIds(&'a [u32]),
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuous_usage_stats: Option<bool>,
}

impl StreamOptions {
    fn of(streaming: Streaming) -> Option<Self> {
        match streaming {
            Streaming::Whole | Streaming::Events => None,
            Streaming::Usage => Some(Self {
                include_usage: true,
                continuous_usage_stats: None,
            }),
            Streaming::RunningUsage => Some(Self {
                include_usage: true,
                continuous_usage_stats: Some(true),
            }),
        }
    }
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    #[expect(
        clippy::expect_used,
        reason = "structs of texts and whole numbers, written into memory: nothing can fail"
    )]
    serde_json::to_writer(out, value).expect("plain structs serialise");
}

fn spell(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}
