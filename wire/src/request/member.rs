//! The members of a request's body that state a fact, by the names that each route has for them.

use crate::Endpoint;

/// What a member states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Model,
    Stream,
    N,
    /// The prompt or the prompts, as texts or as token ids.
    Prompt,
    /// A list of messages, or one text.
    Messages,
    /// Text that stands before the messages.
    Preamble,
    Tools,
    MaxTokens,
    /// A second name for the same, which wins.
    MaxTokensFirst,
    Echo,
    StreamOptions,
    Temperature,
    TopP,
    Seed,
    Other,
}

/// A member of `stream_options`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamOption {
    IncludeUsage,
    ContinuousUsage,
    Other,
}

impl Member {
    /// The member at the top level that has this key.
    pub(super) fn of(endpoint: Endpoint, key: &[u8]) -> Self {
        match key {
            b"model" => Self::Model,
            b"stream" => Self::Stream,
            b"n" => Self::N,
            b"tools" => Self::Tools,
            b"echo" => Self::Echo,
            b"stream_options" => Self::StreamOptions,
            b"temperature" => Self::Temperature,
            b"top_p" => Self::TopP,
            b"seed" => Self::Seed,
            _ => Self::of_route(endpoint, key),
        }
    }

    fn of_route(endpoint: Endpoint, key: &[u8]) -> Self {
        use Endpoint as E;
        match (endpoint, key) {
            (E::Completions, b"prompt") => Self::Prompt,
            (E::ChatCompletions | E::Messages, b"messages") | (E::Responses, b"input") => {
                Self::Messages
            }
            (E::Messages, b"system") | (E::Responses, b"instructions") => Self::Preamble,
            (E::Completions | E::ChatCompletions | E::Messages, b"max_tokens")
            | (E::Responses, b"max_output_tokens") => Self::MaxTokens,
            (E::Completions | E::ChatCompletions, b"max_completion_tokens") => Self::MaxTokensFirst,
            _ => Self::Other,
        }
    }
}

impl StreamOption {
    pub(super) fn of(key: &[u8]) -> Self {
        match key {
            b"include_usage" => Self::IncludeUsage,
            b"continuous_usage_stats" => Self::ContinuousUsage,
            _ => Self::Other,
        }
    }
}
