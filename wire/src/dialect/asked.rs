//! What is known of an answer before its body, as far as dialects need it. Nothing is borrowed.

use crate::{Accumulation, AnswerContext, Endpoint};

/// What was asked for, and how the deployment answers.
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
    /// What each event's text is.
    pub(crate) text_mode: Option<Accumulation>,
    /// What Triton's `num_output_tokens` is.
    pub(crate) num_output_tokens: Option<Accumulation>,
    /// Triton's last response was asked for.
    pub(crate) end_asked: Option<bool>,
    /// What the response's head counted.
    pub(crate) generated_tokens: Option<u64>,
    pub(crate) prompt_tokens: Option<u64>,
}

impl Asked {
    pub(crate) fn of(context: &AnswerContext<'_>) -> Self {
        Self {
            endpoint: context.endpoint,
            rejected: context.status >= 400,
            n: context.n.unwrap_or(1).max(1),
            prompts: context.prompts.unwrap_or(1).max(1),
            echo: context.echo.unwrap_or(false),
            text_mode: context.text_mode,
            num_output_tokens: context.num_output_tokens,
            end_asked: context.end_asked,
            generated_tokens: context.generated_tokens,
            prompt_tokens: context.prompt_tokens,
        }
    }
}
