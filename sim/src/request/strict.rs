//! trtllm-serve refuses a body with a member that its request models don't have.

use wire::Endpoint;

/// The first member that the route doesn't have, if it is strict.
pub(super) fn unknown_member(endpoint: Endpoint, body: &[u8]) -> Option<String> {
    let own: &[&str] = match endpoint {
        Endpoint::ChatCompletions => CHAT,
        Endpoint::Completions => COMPLETIONS,
        _ => return None,
    };
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(body).ok()?;
    let known = |name: &str| own.contains(&name) || BOTH.contains(&name);
    if let Some(name) = members.keys().find(|name| !known(name)) {
        return Some(name.clone());
    }
    let options = members.get("stream_options")?.as_object()?;
    let unknown = options
        .keys()
        .find(|name| !["include_usage", "continuous_usage_stats"].contains(&name.as_str()));
    unknown.map(|name| format!("stream_options', '{name}"))
}

const CHAT: &[&str] = &[
    "messages",
    "max_completion_tokens",
    "top_logprobs",
    "response_format",
    "tools",
    "tool_choice",
    "reasoning_effort",
    "add_generation_prompt",
    "documents",
    "chat_template",
    "chat_template_kwargs",
    "mm_processor_kwargs",
    "thinking",
    "prompt_token_ids",
    "conversation_params",
];

const COMPLETIONS: &[&str] = &["prompt", "suffix"];

const BOTH: &[&str] = &[
    "model",
    "max_tokens",
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "n",
    "presence_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "user",
    "prompt_ignore_length",
    "use_beam_search",
    "top_k",
    "top_p_min",
    "min_p",
    "repetition_penalty",
    "length_penalty",
    "early_stopping",
    "stop_token_ids",
    "include_stop_str_in_output",
    "ignore_eos",
    "min_tokens",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "truncate_prompt_tokens",
    "lora_request",
    "add_special_tokens",
    "detokenize",
    "disaggregated_params",
    "cache_salt",
    "priority",
];
