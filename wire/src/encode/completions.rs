//! The JSON objects of `/v1/completions`, key by key in vLLM's order.

use serde::Serialize;

use super::opening::{Null, Opening, TEXT, fingerprint};
use super::usage::{BodyTotal, Running};
use super::{Choice, Delta, Identity, Usage};

/// A chunk of `/v1/completions`.
#[derive(Serialize)]
pub(super) struct TextChunk<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: [TextChoice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Running>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<&'a str>,
    kv_transfer_params: Null,
}

#[derive(Serialize)]
struct TextChoice<'a> {
    index: u32,
    text: &'a str,
    logprobs: Null,
    finish_reason: Option<&'a str>,
    stop_reason: Null,
    prompt_token_ids: Null,
    token_ids: Option<&'a [u32]>,
    weight_versions: Null,
}

impl<'a> TextChunk<'a> {
    pub(super) fn new(identity: &Identity<'a>, delta: &Delta<'a>) -> Self {
        Self {
            opening: Opening::of(identity, TEXT),
            choices: [TextChoice {
                index: delta.choice,
                text: delta.text.unwrap_or_default(),
                logprobs: None,
                finish_reason: delta.finish,
                stop_reason: None,
                prompt_token_ids: None,
                token_ids: delta.token_ids,
                weight_versions: None,
            }],
            usage: delta.running.map(Running::text),
            system_fingerprint: fingerprint(identity, delta),
            kv_transfer_params: None,
        }
    }
}

/// A whole answer of `/v1/completions`.
#[derive(Serialize)]
pub(super) struct TextBody<'a> {
    #[serde(flatten)]
    opening: Opening<'a>,
    choices: Vec<WholeText<'a>>,
    service_tier: Null,
    system_fingerprint: &'a str,
    usage: BodyTotal,
    kv_transfer_params: Null,
    ec_transfer_params: Null,
    metrics: Null,
}

#[derive(Serialize)]
struct WholeText<'a> {
    index: usize,
    text: &'a str,
    logprobs: Null,
    finish_reason: &'a str,
    stop_reason: Null,
    token_ids: Null,
    prompt_logprobs: Null,
    prompt_token_ids: Null,
    routed_experts: Null,
    weight_versions: Null,
}

impl<'a> TextBody<'a> {
    pub(super) fn new(identity: &Identity<'a>, choices: &[Choice<'a>], total: Usage) -> Self {
        let whole = |(index, choice): (usize, &Choice<'a>)| WholeText {
            index,
            text: choice.text,
            logprobs: None,
            finish_reason: choice.finish,
            stop_reason: None,
            token_ids: None,
            prompt_logprobs: None,
            prompt_token_ids: None,
            routed_experts: None,
            weight_versions: None,
        };
        Self {
            opening: Opening::of(identity, TEXT),
            choices: choices.iter().enumerate().map(whole).collect(),
            service_tier: None,
            system_fingerprint: identity.fingerprint,
            usage: BodyTotal::of(total),
            kv_transfer_params: None,
            ec_transfer_params: None,
            metrics: None,
        }
    }
}
