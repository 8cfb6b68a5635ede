//! The closed set of generating routes. Everything else passes through unmeasured.

/// A route whose answers are generated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `POST /v1/completions`
    Completions,
    /// `POST /v1/chat/completions`
    ChatCompletions,
    /// `POST /v1/responses`
    Responses,
    /// `POST /v1/messages`
    Messages,
}

impl Endpoint {
    /// Each of them, once.
    pub const ALL: [Self; 4] = [
        Self::Completions,
        Self::ChatCompletions,
        Self::Responses,
        Self::Messages,
    ];

    /// The endpoint of a request, or `None` if the route does not generate.
    ///
    /// `path` is the request target without its query.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        if method != "POST" {
            return None;
        }
        match path {
            "/v1/completions" => Some(Self::Completions),
            // llama.cpp has some routes without their version, too.
            "/v1/chat/completions" | "/chat/completions" => Some(Self::ChatCompletions),
            "/v1/responses" | "/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            _ => None,
        }
    }

    /// The label value, a closed set: the path itself.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "/v1/completions",
            Self::ChatCompletions => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }
}
