//! Why an event counts as it does: the rule that judged it, said by the dialect that applied it.

/// The rule by which an event proves tokens, or proves none.
///
/// It goes with [`crate::Event::tokens`]: the first four count them, the next three prove at least one, the rest prove none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Ids of generated tokens are listed.
    TokenIds,
    /// Log-probabilities of generated tokens are listed.
    Logprobs,
    /// A running counter of its choice grew, or the event states its own count.
    Counter,
    /// The dialect sends exactly one token an event.
    OneEach,
    /// Text of the answer is not empty, and nothing counts it.
    Text,
    /// Reasoning text is not empty, and nothing counts it.
    Reasoning,
    /// A tool's name or arguments are not empty, and nothing counts them.
    ToolCall,
    /// A counter stood still although the event shows something: an echo of the request, or a further event of a step that was
    /// counted before.
    NoGrowth,
    /// It only names the role.
    Role,
    /// It opens an answer, or a part of one.
    Opening,
    /// It reports how far the prompt is.
    Progress,
    /// It is made for tokens and shows nothing, or nothing new: held text, half a character, the end-of-text token.
    Empty,
    /// It closes a part, or repeats as a whole what came in pieces.
    Closing,
    /// It says why a choice ended, and shows nothing.
    Finish,
    /// It states counts and has no choices.
    Usage,
    /// The end mark of the stream.
    EndMark,
    /// It reports an error.
    Error,
    /// Its data is empty, or it is a ping.
    Heartbeat,
    /// JSON, but nothing in which this dialect speaks of tokens, such as `null`.
    Unrelated,
    /// Neither JSON nor a mark; in gRPC, no protobuf.
    Unreadable,
    /// It answers another request on the same stream.
    OtherRequest,
    /// It belongs to a choice above [`crate::limits::CHOICES`], and nothing it shows was seen.
    Untracked,
}

impl Reason {
    /// Each of them, once.
    pub const ALL: [Self; 22] = [
        Self::TokenIds,
        Self::Logprobs,
        Self::Counter,
        Self::OneEach,
        Self::Text,
        Self::Reasoning,
        Self::ToolCall,
        Self::NoGrowth,
        Self::Role,
        Self::Opening,
        Self::Progress,
        Self::Empty,
        Self::Closing,
        Self::Finish,
        Self::Usage,
        Self::EndMark,
        Self::Error,
        Self::Heartbeat,
        Self::Unrelated,
        Self::Unreadable,
        Self::OtherRequest,
        Self::Untracked,
    ];

    /// Its name, one of a closed set.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TokenIds => "token_ids",
            Self::Logprobs => "logprobs",
            Self::Counter => "counter",
            Self::OneEach => "one_each",
            Self::Text => "text",
            Self::Reasoning => "reasoning",
            Self::ToolCall => "tool_call",
            Self::NoGrowth => "no_growth",
            Self::Role => "role",
            Self::Opening => "opening",
            Self::Progress => "progress",
            Self::Empty => "empty",
            Self::Closing => "closing",
            Self::Finish => "finish",
            Self::Usage => "usage",
            Self::EndMark => "end_mark",
            Self::Error => "error",
            Self::Heartbeat => "heartbeat",
            Self::Unrelated => "unrelated",
            Self::Unreadable => "unreadable",
            Self::OtherRequest => "other_request",
            Self::Untracked => "untracked",
        }
    }
}
