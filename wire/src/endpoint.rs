//! The closed set of generating routes. Everything else passes through unmeasured.

/// A route whose answers are generated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `POST /v1/completions`
    Completions,
    /// `POST /v1/chat/completions`
    ChatCompletions,
}

impl Endpoint {
    /// Each of them, once.
    pub const ALL: [Self; 2] = [Self::Completions, Self::ChatCompletions];

    /// The endpoint of a request, or `None` if the route does not generate.
    ///
    /// `path` is the request target without its query.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        match (method, path) {
            ("POST", "/v1/completions") => Some(Self::Completions),
            ("POST", "/v1/chat/completions") => Some(Self::ChatCompletions),
            _ => None,
        }
    }

    /// The label value, a closed set: the path itself.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "/v1/completions",
            Self::ChatCompletions => "/v1/chat/completions",
        }
    }
}
