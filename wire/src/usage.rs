//! Usage that nobody asked for: a request is made to ask for it, and what that adds to the answer is taken out again.
//!
//! What a client gets must be, byte for byte, what it would have got. So a request is changed only where the engine's habits
//! are known, and only if it is a stream that says nothing on the matter. Everything else is left as it is, and so is every
//! event that is not understood.
//!
//! Engines differ in what asking changes besides the usage itself:
//! - vLLM writes its `system_fingerprint` on the event that states usage instead of the one that ends the choice, so that
//!   the latter waits for the former. With several choices they don't follow each other: such requests are left alone.
//! - vLLM and SGLang can state usage on every event, which tells how many tokens each carries; on events without usage the
//!   member is absent, or `null` on SGLang's completions.
//! - TensorRT-LLM refuses members that it does not know, and takes the mere presence of `stream_options` for a yes.
//! - llama.cpp moves its `timings` to the event that states usage, and counts in the timings anyway: left alone.

mod ask;
mod strip;

pub use ask::{AskedUsage, ask_for_usage};
pub use strip::UsageStrip;

use crate::{Endpoint, EngineKind, RequestFacts};

/// What asking for usage means on one route of one kind of engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Habit {
    /// The value of `stream_options`.
    options: &'static str,
    /// What stands in an event for the usage that it does not state; `None` if events don't get any.
    without: Option<Without>,
    /// Whether the fingerprint goes from the last event of a choice to the event that states usage.
    moves_fingerprint: bool,
}

/// An event without usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    /// It has no such member.
    Absent,
    /// The member is `null`.
    Null,
}

const TOTAL: &str = r#""include_usage":true"#;
const EACH: &str = r#""include_usage":true,"continuous_usage_stats":true"#;
/// Not each, though the newer of its servers need not be told so.
const TOTAL_ONLY: &str = r#""include_usage":true,"continuous_usage_stats":false"#;

impl Habit {
    /// `None` where a request is left alone.
    fn of(kind: EngineKind, endpoint: Endpoint, facts: &RequestFacts) -> Option<Self> {
        let unsaid = facts.include_usage.is_none() && facts.continuous_usage.is_none();
        if !(facts.whole && facts.stream == Some(true) && unsaid) {
            return None;
        }
        let is_chat = endpoint == Endpoint::ChatCompletions;
        if !is_chat && endpoint != Endpoint::Completions {
            return None;
        }
        let one_choice = facts.n.unwrap_or(1) <= 1 && facts.prompts.unwrap_or(1) <= 1;
        let each = |without| Self {
            options: EACH,
            without: Some(without),
            moves_fingerprint: kind == EngineKind::Vllm,
        };
        let total = |options| Self {
            options,
            without: None,
            moves_fingerprint: false,
        };
        match kind {
            EngineKind::Vllm => one_choice.then(|| each(Without::Absent)),
            EngineKind::Sglang if !is_chat => Some(each(Without::Null)),
            // Events of a tool call have the member where the others lack it.
            EngineKind::Sglang if facts.tools.is_some() => Some(total(TOTAL)),
            EngineKind::Sglang => Some(each(Without::Absent)),
            EngineKind::Trtllm => Some(total(TOTAL_ONLY)),
            EngineKind::Triton => Some(total(TOTAL)),
            EngineKind::Tgi => is_chat.then(|| total(TOTAL)),
            EngineKind::LlamaCpp => None,
        }
    }
}

#[cfg(test)]
mod tests;
