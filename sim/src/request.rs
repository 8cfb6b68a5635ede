//! What a request asks of the simulated engine.
//!
//! The body is that of the engine that is played. Beyond it, headers steer the simulation:
//!
//! | header | meaning |
//! |---|---|
//! | `x-sim-input-tokens: N` | each prompt has N tokens, whatever its text |
//! | `x-sim-output-tokens: N` | each choice would end by itself after N tokens, end-of-text token included |
//! | `x-sim-reasoning-tokens: N` | the first N tokens of each choice are reasoning, where the engine tells it apart |
//! | `x-sim-id: TEXT` | the answer's identity: the id of the truth's record (128 bytes at most), and what the ids in the answer are made of |
//! | `x-sim-fault`, `x-sim-script` | see the modules `fault` and `script` |
//!
//! Everything in an answer follows from the request, its `x-sim-id` (without one, from the number of the request), the
//! [`Options`](crate::Options), and the engine's times and cache hits. `created` is constant, a token's text follows from its
//! place. With `x-sim-id` and an `x-sim-script` with `plain=1`, times and cache hits follow from the script, so that two equal
//! requests have byte-equal answers. A vLLM takes the id of its answers from `x-request-id` and an SGLang from `rid`, where
//! they are given.
//!
//! Without `x-sim-input-tokens` a prompt given as token ids has as many tokens, and text has one for each word between
//! blanks (a chat: of all its messages), at least one. Without `x-sim-output-tokens` a choice runs up to its limit and
//! ends with `length`; with it, it ends with `stop` where it stays within the limit. The limit is `max_tokens`, or by
//! whatever name a route calls it; without one it is 16 for completions, as with vLLM, and [`CHAT_TOKENS`] elsewhere.

mod body;
mod strict;

use http::{HeaderMap, HeaderValue};
use wire::encode::Wishes;
use wire::{Endpoint, EngineKind};

use self::body::Body;
use crate::engine::{Finish, Request};
use crate::personality::Personality;

/// Output tokens of a request that states no limit.
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
    /// SGLang's id of the request.
    pub(crate) rid: Option<String>,
    pub(crate) stream: bool,
    pub(crate) wishes: Wishes,
    /// Token ids of each prompt.
    pub(crate) prompts: Vec<Vec<u32>>,
    pub(crate) n: u32,
    pub(crate) limit: u32,
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
    #[error(
        "[{{'type': 'extra_forbidden', 'loc': ('body', '{0}'), 'msg': 'Extra inputs are not permitted'}}]"
    )]
    Extra(String),
    #[error("return_token_ids is not supported for a streamed chat")]
    TokenIdsOfChat,
    #[error("there is no {0}; send one")]
    NoPrompt(&'static str),
    #[error("n × prompts is {0}; it must lie between 1 and {CHOICES}")]
    Choices(u64),
}

impl BadRequest {
    /// The parameter at fault.
    pub(crate) fn param(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) | Self::Extra(_) => None,
            Self::TokenIdsOfChat => Some("return_token_ids"),
            Self::Header(name, _) | Self::NoPrompt(name) => Some(name),
            Self::StreamOptions => Some("stream_options"),
            Self::Choices(_) => Some("n"),
        }
    }
}

impl Ask {
    /// Reads a request's headers and body.
    pub(crate) fn parse(
        personality: Personality,
        endpoint: Endpoint,
        headers: &HeaderMap,
        bytes: &[u8],
    ) -> Result<Self, BadRequest> {
        let engine = personality.engine;
        let mut body: Body = serde_json::from_slice(bytes)?;
        if engine == EngineKind::Trtllm
            && let Some(name) = strict::unknown_member(endpoint, bytes)
        {
            return Err(BadRequest::Extra(name));
        }
        let stream = streams(engine, endpoint, body.stream);
        let wishes = wishes(engine, endpoint, stream, &body)?;
        let mut prompts = body
            .prompts(engine, endpoint)
            .map_err(BadRequest::NoPrompt)?;
        if let Some(tokens) = header_tokens(headers, "x-sim-input-tokens")? {
            prompts
                .iter_mut()
                .for_each(|prompt| stretch(prompt, tokens));
        }
        let n = answers(engine, endpoint, &body);
        let choices = prompts.len() as u64 * u64::from(n);
        if choices == 0 || choices > CHOICES as u64 {
            return Err(BadRequest::Choices(choices));
        }
        let limit = body.limit().unwrap_or(match endpoint {
            Endpoint::Completions => COMPLETION_TOKENS,
            _ => CHAT_TOKENS,
        });
        let (output_tokens, finish) = match header_tokens(headers, "x-sim-output-tokens")? {
            Some(tokens) if tokens <= limit => (tokens, Finish::Stop),
            _ => (limit, Finish::Length),
        };
        Ok(Self {
            model: body.model,
            rid: body.rid,
            stream,
            wishes,
            prompts,
            n,
            limit,
            output_tokens,
            finish,
            reasoning_tokens: header_tokens(headers, "x-sim-reasoning-tokens")?
                .filter(|_| personality.parses_reasoning(endpoint))
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

/// Whether the answer comes as events: the route's business, or the request's, or unasked.
fn streams(engine: EngineKind, endpoint: Endpoint, asked: Option<bool>) -> bool {
    match endpoint {
        Endpoint::GenerateStream | Endpoint::TritonGenerateStream => true,
        Endpoint::TritonGenerate => false,
        Endpoint::Generate if engine == EngineKind::Tgi => false,
        Endpoint::OllamaChat | Endpoint::OllamaGenerate => asked.unwrap_or(true),
        _ => asked.unwrap_or(false),
    }
}

/// Answers for each prompt; 1 on routes that have no word for it.
fn answers(engine: EngineKind, endpoint: Endpoint, body: &Body) -> u32 {
    let asked = match (engine, endpoint) {
        (EngineKind::Tgi | EngineKind::Triton, _) => None,
        (_, Endpoint::Completions | Endpoint::ChatCompletions) => body.n,
        (_, Endpoint::Generate | Endpoint::InferenceGenerate) => {
            body.sampling_params.as_ref().and_then(|own| own.n)
        }
        _ => None,
    };
    asked.unwrap_or(1)
}

/// What each engine makes of the members that ask for more than tokens.
fn wishes(
    engine: EngineKind,
    endpoint: Endpoint,
    stream: bool,
    body: &Body,
) -> Result<Wishes, BadRequest> {
    let strict = matches!(engine, EngineKind::Vllm | EngineKind::Trtllm);
    if body.stream_options.is_some() && !stream && strict {
        return Err(BadRequest::StreamOptions);
    }
    let is = |flag: Option<bool>| flag.unwrap_or(false);
    let ids = is(body.return_token_ids);
    if ids && stream && (engine, endpoint) == (EngineKind::Sglang, Endpoint::ChatCompletions) {
        return Err(BadRequest::TokenIdsOfChat);
    }
    let options = body.stream_options.as_ref();
    // trtllm-serve takes the mere object for a wish.
    let usage =
        options.is_some_and(|own| own.include_usage.unwrap_or(engine == EngineKind::Trtllm));
    let continuous = options.is_some_and(|own| is(own.continuous_usage_stats));
    Ok(Wishes {
        usage,
        running: match engine {
            EngineKind::Vllm | EngineKind::Trtllm => usage && continuous,
            EngineKind::Sglang => continuous,
            EngineKind::LlamaCpp => is(body.timings_per_token),
            EngineKind::Tgi | EngineKind::Triton => false,
        },
        token_ids: ids,
        text: body.output_mode.as_deref() == Some("text"),
        details: body.details() || is(body.return_finish_reason),
        input_count: is(body.return_num_input_tokens),
        output_count: is(body.return_num_output_tokens),
    })
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
