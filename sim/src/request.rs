//! What a request asks of the simulated engine.
//!
//! The body is vLLM's. Beyond it, headers steer the simulation:
//!
//! | header | meaning |
//! |---|---|
//! | `x-sim-input-tokens: N` | each prompt has N tokens, whatever its text |
//! | `x-sim-output-tokens: N` | each choice would end by itself after N tokens, end-of-text token included |
//! | `x-sim-reasoning-tokens: N` | the first N tokens of each choice are reasoning (chats) |
//! | `x-sim-id: TEXT` | the id of the truth's record (128 bytes at most) |
//! | `x-sim-fault`, `x-sim-script` | see the modules `fault` and `script` |
//!
//! Without `x-sim-input-tokens` a prompt given as token ids has as many tokens, and text has one for each word between
//! blanks (a chat: of all its messages), at least one. Without `x-sim-output-tokens` a choice runs up to its limit and
//! ends with `length`; with it, it ends with `stop` where it stays within the limit. The limit is `max_tokens` or
//! `max_completion_tokens`; without one it is 16 for completions, as with vLLM, and [`CHAT_TOKENS`] for chats.

use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use wire::Endpoint;

use crate::engine::{Finish, Request};

/// Output tokens of a chat that states no limit.
pub const CHAT_TOKENS: u32 = 128;

/// Output tokens of a completion that states no limit.
const COMPLETION_TOKENS: u32 = 16;

/// Prompts × n at most.
const CHOICES: usize = 128;

/// Tokens that `x-sim-input-tokens` gives a prompt at most.
const PROMPT_TOKENS: u32 = 1 << 20;

/// FNV-1a's beginning, 32 bits.
const FNV_OFFSET: u32 = 0x811c_9dc5;

/// Bytes of an `x-sim-id` that are kept.
const ID_BYTES: usize = 128;

/// A request that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) running_usage: bool,
    /// Token ids of each prompt.
    pub(crate) prompts: Vec<Vec<u32>>,
    pub(crate) n: u32,
    pub(crate) output_tokens: u32,
    pub(crate) finish: Finish,
    pub(crate) reasoning_tokens: u32,
}

/// Why a request was not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("the body is no JSON of this route: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}: {1:?} is no number of tokens; use a whole number up to {PROMPT_TOKENS}")]
    Header(&'static str, String),
    #[error("stream options can only be defined when `stream=True`")]
    StreamOptions,
    #[error("there is no {0}; send one")]
    NoPrompt(&'static str),
    #[error("n × prompts is {0}; it must lie between 1 and {CHOICES}")]
    Choices(u64),
}

impl BadRequest {
    /// The parameter at fault.
    pub(crate) fn param(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) => None,
            Self::Header(name, _) | Self::NoPrompt(name) => Some(name),
            Self::StreamOptions => Some("stream_options"),
            Self::Choices(_) => Some("n"),
        }
    }
}

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    prompt: Option<Prompt>,
    messages: Option<Vec<Message>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    n: Option<u32>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt {
    Text(String),
    TokenIds(Vec<u32>),
    Texts(Vec<String>),
    TokenIdLists(Vec<Vec<u32>>),
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

impl Ask {
    /// Reads a request's headers and body.
    pub(crate) fn parse(
        endpoint: Endpoint,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, BadRequest> {
        let body: Body = serde_json::from_slice(body)?;
        let stream = body.stream.unwrap_or(false);
        if body.stream_options.is_some() && !stream {
            return Err(BadRequest::StreamOptions);
        }
        let options = body.stream_options.unwrap_or_default();
        let include_usage = options.include_usage.unwrap_or(false);
        let mut prompts = match endpoint {
            Endpoint::ChatCompletions => vec![chat(
                &body.messages.ok_or(BadRequest::NoPrompt("messages"))?,
            )],
            _ => body
                .prompt
                .map(Prompt::token_ids)
                .ok_or(BadRequest::NoPrompt("prompt"))?,
        };
        if let Some(tokens) = header_tokens(headers, "x-sim-input-tokens")? {
            prompts
                .iter_mut()
                .for_each(|prompt| stretch(prompt, tokens));
        }
        let n = body.n.unwrap_or(1);
        let choices = prompts.len() as u64 * u64::from(n);
        if choices == 0 || choices > CHOICES as u64 {
            return Err(BadRequest::Choices(choices));
        }
        let limit = body
            .max_completion_tokens
            .or(body.max_tokens)
            .unwrap_or(match endpoint {
                Endpoint::ChatCompletions => CHAT_TOKENS,
                _ => COMPLETION_TOKENS,
            });
        let (output_tokens, finish) = match header_tokens(headers, "x-sim-output-tokens")? {
            Some(tokens) if tokens <= limit => (tokens, Finish::Stop),
            _ => (limit, Finish::Length),
        };
        Ok(Self {
            model: body.model,
            stream,
            include_usage,
            running_usage: include_usage && options.continuous_usage_stats.unwrap_or(false),
            prompts,
            n,
            output_tokens,
            finish,
            reasoning_tokens: header_tokens(headers, "x-sim-reasoning-tokens")?
                .filter(|_| endpoint == Endpoint::ChatCompletions)
                .unwrap_or(0),
        })
    }

    /// What the engine is asked for: a request for each choice, by index.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let of = |prompt: &Vec<u32>| Request {
            prompt: prompt.clone(),
            output_tokens: self.output_tokens,
            finish: self.finish,
        };
        self.prompts
            .iter()
            .flat_map(|prompt| (0..self.n).map(move |_| of(prompt)))
            .collect()
    }

    /// Tokens of all prompts.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        self.prompts.iter().map(|prompt| prompt.len() as u64).sum()
    }
}

/// The value of `x-sim-id`.
pub(crate) fn sim_id(headers: &HeaderMap) -> Option<String> {
    let mut id = headers.get("x-sim-id")?.to_str().ok()?.to_owned();
    // Visible ASCII, as `to_str` says: no character is cut.
    id.truncate(ID_BYTES);
    Some(id)
}

/// All values of a header, joined by commas.
pub(crate) fn header_list(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter();
    values.map(lossy).collect::<Vec<_>>().join(",")
}

impl Prompt {
    fn token_ids(self) -> Vec<Vec<u32>> {
        match self {
            Self::Text(text) => vec![words(&text)],
            Self::Texts(texts) => texts.iter().map(|text| words(text)).collect(),
            Self::TokenIds(ids) => vec![ids],
            Self::TokenIdLists(lists) => lists,
        }
    }
}

fn chat(messages: &[Message]) -> Vec<u32> {
    let mut text = String::new();
    for content in messages
        .iter()
        .filter_map(|message| message.content.as_ref())
    {
        let parts: Vec<&str> = match content {
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .collect(),
        };
        for part in parts {
            text.push_str(part);
            text.push(' ');
        }
    }
    words(&text)
}

/// A token for each word, the same for the same word; one where there is no word.
fn words(text: &str) -> Vec<u32> {
    let ids: Vec<u32> = text
        .split_whitespace()
        .map(|word| word.bytes().fold(FNV_OFFSET, mix))
        .collect();
    if ids.is_empty() { vec![0] } else { ids }
}

/// Gives a prompt a length. What is added depends on all that was there, so that different prompts stay different and
/// equal ones equal.
fn stretch(prompt: &mut Vec<u32>, tokens: u32) {
    let mut id = prompt
        .iter()
        .flat_map(|id| id.to_le_bytes())
        .fold(FNV_OFFSET, mix);
    let added = || {
        id = mix(id, 0);
        id
    };
    prompt.resize_with(usize::try_from(tokens).unwrap_or(usize::MAX), added);
}

/// A step of FNV-1a, 32 bits.
fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

fn header_tokens(headers: &HeaderMap, name: &'static str) -> Result<Option<u32>, BadRequest> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let number = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let number = number.filter(|tokens| *tokens <= PROMPT_TOKENS);
    number
        .map(Some)
        .ok_or_else(|| BadRequest::Header(name, lossy(value)))
}

fn lossy(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

#[cfg(test)]
mod tests;
