//! Facts of a request that no latency depends on by itself, but that tell one kind of traffic from another.
//!
//! They are kept by captures; no label is made of them. gRPC calls state none.

use super::gather::parse;
use super::member::Member;

/// What else a request asks for. `None` means not stated or not knowable.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestDetails {
    /// A system or developer message leads the chat, or text that stands before its messages.
    pub system: Option<bool>,
    /// Bytes of the list of tools, as it is written.
    pub tool_bytes: Option<u64>,
    /// What form the answer must have, where it must have one.
    pub answer_form: Option<AnswerForm>,
    /// Images in the messages.
    pub images: Option<u32>,
    /// Sounds in the messages.
    pub sounds: Option<u32>,
    /// Stop strings.
    pub stops: Option<u32>,
    /// `top_k`
    pub top_k: Option<i32>,
    /// `min_p`
    pub min_p: Option<f64>,
    /// `presence_penalty`
    pub presence_penalty: Option<f64>,
    /// `frequency_penalty`
    pub frequency_penalty: Option<f64>,
    /// `priority`
    pub priority: Option<i64>,
}

/// The kinds of form that an answer can be held to, a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerForm {
    /// Any JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema,
    /// Text that a regular expression matches.
    Regex,
    /// A word of a grammar.
    Grammar,
    /// One of some texts.
    Choice,
    /// Something else.
    Other,
}

impl RequestDetails {
    /// Takes the number that a member states.
    pub(super) fn take(&mut self, member: Member, number: &[u8]) {
        match member {
            Member::TopK => self.top_k = parse(number),
            Member::MinP => self.min_p = parse(number),
            Member::PresencePenalty => self.presence_penalty = parse(number),
            Member::FrequencyPenalty => self.frequency_penalty = parse(number),
            Member::Priority => self.priority = parse(number),
            _ => {}
        }
    }
}

impl AnswerForm {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonObject => "json_object",
            Self::JsonSchema => "json_schema",
            Self::Regex => "regex",
            Self::Grammar => "grammar",
            Self::Choice => "choice",
            Self::Other => "other",
        }
    }

    /// By the `type` of a response format; `None` for plain text.
    pub(super) fn of_type(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"text" => return None,
            b"json_object" => Self::JsonObject,
            // TGI's `json` takes a schema.
            b"json_schema" | b"json" => Self::JsonSchema,
            b"regex" => Self::Regex,
            b"grammar" | b"ebnf" | b"lark" => Self::Grammar,
            b"choice" => Self::Choice,
            _ => Self::Other,
        })
    }
}
