//! The JSON objects of `/v1/chat/completions`, key by key in vLLM's order.

use serde::Serialize;

use super::opening::{CHAT, Null, Opening, fingerprint};
use super::usage::{BodyTotal, Running};
use super::{Choice, Delta, Identity, Usage};

/// The chunk that opens a choice of a chat.
#[derive(Serialize)]
pub(super) struct RoleChunk<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: [RoleChoice; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Running>,
    prompt_token_ids: Null,
    prompt_text: Null,
}

#[derive(Serialize)]
struct RoleChoice {
    index: u32,
    delta: RoleDelta,
    logprobs: Null,
    finish_reason: Null,
}

#[derive(Serialize)]
struct RoleDelta {
    role: &'static str,
    content: &'static str,
}

impl<'a> RoleChunk<'a> {
    pub(super) fn new(identity: &Identity<'a>, choice: u32, running: Option<Usage>) -> Self {
        Self {
            opening: Opening::of(identity, CHAT),
            choices: [RoleChoice {
                index: choice,
                delta: RoleDelta {
                    role: "assistant",
                    content: "",
                },
                logprobs: None,
                finish_reason: None,
            }],
            usage: running.map(Running::chat),
            prompt_token_ids: None,
            prompt_text: None,
        }
    }
}

/// A later chunk of `/v1/chat/completions`.
#[derive(Serialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: [ChatChoice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Running>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    kv_transfer_params: Null,
}

/// `stop_reason` and `weight_versions` are there, as null, on the last chunk only.
#[derive(Serialize)]
struct ChatChoice<'a> {
    index: u32,
    delta: ChatDelta<'a>,
    logprobs: Null,
    finish_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<Null>,
    token_ids: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<Null>,
}

#[derive(Serialize)]
struct ChatDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
}

impl<'a> ChatChunk<'a> {
    pub(super) fn new(identity: &Identity<'a>, delta: &Delta<'a>) -> Self {
        let null_at_the_end = delta.finish.map(|_| None);
        Self {
            opening: Opening::of(identity, CHAT),
            choices: [ChatChoice {
                index: delta.choice,
                delta: ChatDelta {
                    content: delta.text,
                    reasoning: delta.reasoning,
                },
                logprobs: None,
                finish_reason: delta.finish,
                stop_reason: null_at_the_end,
                token_ids: delta.token_ids,
                weight_versions: null_at_the_end,
            }],
            usage: delta.running.map(Running::chat),
            system_fingerprint: fingerprint(identity, delta),
            kv_transfer_params: None,
        }
    }
}

/// A whole answer of `/v1/chat/completions`.
#[derive(Serialize)]
pub(super) struct ChatBody<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: Vec<WholeMessage<'a>>,
    service_tier: Null,
    system_fingerprint: &'a str,
    usage: BodyTotal,
    prompt_logprobs: Null,
    prompt_token_ids: Null,
    prompt_text: Null,
    kv_transfer_params: Null,
    ec_transfer_params: Null,
    metrics: Null,
}

#[derive(Serialize)]
struct WholeMessage<'a> {
    index: usize,
    message: Message<'a>,
    logprobs: Null,
    finish_reason: &'a str,
    stop_reason: Null,
    token_ids: Null,
    routed_experts: Null,
    weight_versions: Null,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Null,
    annotations: Null,
    audio: Null,
    function_call: Null,
    tool_calls: [(); 0],
    reasoning: Option<&'a str>,
}

impl<'a> ChatBody<'a> {
    pub(super) fn new(identity: &Identity<'a>, choices: &[Choice<'a>], total: Usage) -> Self {
        Self {
            opening: Opening::of(identity, "chat.completion"),
            choices: choices
                .iter()
                .enumerate()
                .map(|(index, choice)| WholeMessage::new(index, choice))
                .collect(),
            service_tier: None,
            system_fingerprint: identity.fingerprint,
            usage: BodyTotal::of(total),
            prompt_logprobs: None,
            prompt_token_ids: None,
            prompt_text: None,
            kv_transfer_params: None,
            ec_transfer_params: None,
            metrics: None,
        }
    }
}

impl<'a> WholeMessage<'a> {
    fn new(index: usize, choice: &Choice<'a>) -> Self {
        Self {
            index,
            message: Message {
                role: "assistant",
                content: choice.text,
                refusal: None,
                annotations: None,
                audio: None,
                function_call: None,
                tool_calls: [],
                reasoning: choice.reasoning,
            },
            logprobs: None,
            finish_reason: choice.finish,
            stop_reason: None,
            token_ids: None,
            routed_experts: None,
            weight_versions: None,
        }
    }
}
