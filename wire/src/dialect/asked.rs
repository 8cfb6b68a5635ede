//! What is known of an answer before its body, as far as dialects need it. Nothing is borrowed.

use crate::{AnswerContext, Endpoint};

/// What was asked for, and by which status it was answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) endpoint: Endpoint,
    /// The status says that this is an error.
    pub(crate) rejected: bool,
    /// Answers per prompt, at least 1: choice index = prompt number × `n` + answer number.
    pub(crate) n: u32,
    /// Prompts of the request, at least 1.
    pub(crate) prompts: u32,
    /// The answer repeats the prompt.
    pub(crate) echo: bool,
}

impl Asked {
    pub(crate) fn of(context: &AnswerContext<'_>) -> Self {
        Self {
            endpoint: context.endpoint,
            rejected: context.status >= 400,
            n: context.n.unwrap_or(1).max(1),
            prompts: context.prompts.unwrap_or(1).max(1),
            echo: context.echo.unwrap_or(false),
        }
    }
}
