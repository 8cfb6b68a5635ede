//! Usage objects: running, total on a chunk, total in a body. They differ in their nulls.

use serde::Serialize;

use super::opening::{CHAT, Null, Opening, TEXT};
use super::{Identity, Usage};

/// Running counts. Chats have a null that completions don't.
#[derive(Serialize)]
pub(super) struct Running {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<Option<ReasoningDetails>>,
}

impl Running {
    pub(super) fn text(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt,
            total_tokens: usage.prompt.saturating_add(usage.completion),
            completion_tokens: usage.completion,
            completion_tokens_details: None,
        }
    }

    pub(super) fn chat(usage: Usage) -> Self {
        let details = usage
            .reasoning
            .map(|reasoning_tokens| ReasoningDetails { reasoning_tokens });
        Self {
            completion_tokens_details: Some(details),
            ..Self::text(usage)
        }
    }
}

#[derive(Serialize)]
struct ReasoningDetails {
    reasoning_tokens: u64,
}

#[derive(Serialize)]
struct PromptDetails {
    cached_tokens: u64,
    created_cache_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    multimodal_tokens: Option<Null>,
}

/// A total on a chunk: nulls dropped.
#[derive(Serialize)]
struct Total {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<ReasoningDetails>,
}

impl Total {
    fn of(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.prompt,
            total_tokens: usage.prompt.saturating_add(usage.completion),
            completion_tokens: usage.completion,
            prompt_tokens_details: usage.cached.map(|cached_tokens| PromptDetails {
                cached_tokens,
                created_cache_tokens: 0,
                multimodal_tokens: None,
            }),
            completion_tokens_details: usage
                .reasoning
                .map(|reasoning_tokens| ReasoningDetails { reasoning_tokens }),
        }
    }
}

/// A total in a whole body: nulls kept.
#[derive(Serialize)]
pub(super) struct BodyTotal {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<ReasoningDetails>,
}

impl BodyTotal {
    pub(super) fn of(usage: Usage) -> Self {
        let total = Total::of(usage);
        Self {
            prompt_tokens: total.prompt_tokens,
            total_tokens: total.total_tokens,
            completion_tokens: total.completion_tokens,
            prompt_tokens_details: total.prompt_tokens_details.map(|details| PromptDetails {
                multimodal_tokens: Some(None),
                ..details
            }),
            completion_tokens_details: total.completion_tokens_details,
        }
    }
}

/// The chunk without choices.
#[derive(Serialize)]
pub(super) struct UsageChunk<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: [(); 0],
    usage: Total,
    system_fingerprint: &'a str,
}

impl<'a> UsageChunk<'a> {
    pub(super) fn new(identity: &Identity<'a>, total: Usage) -> Self {
        let object = if identity.is_chat() { CHAT } else { TEXT };
        Self {
            opening: Opening::of(identity, object),
            choices: [],
            usage: Total::of(total),
            system_fingerprint: identity.fingerprint,
        }
    }
}
