//! The members of a request's body that state a fact, by the names that each route has for them.

use super::AnswerForm;
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
    /// An object with sampling parameters, which has members of its own.
    Sampling,
    Temperature,
    TopP,
    Seed,
    TopK,
    MinP,
    PresencePenalty,
    FrequencyPenalty,
    Priority,
    Stops,
    /// An object whose `type` says what form the answer must have.
    Format,
    /// An object that has one of those, as its `format`.
    TextFormat,
    /// An object whose members are named for the form.
    Structured,
    /// A form, by being there.
    Form(AnswerForm),
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
            b"response_format" => Self::Format,
            b"structured_outputs" => Self::Structured,
            _ => match Self::of_route(endpoint, key) {
                Self::Other => Self::of_details(key),
                member => member,
            },
        }
    }

    /// What stands at the top level or among sampling parameters, whatever the route.
    fn of_details(key: &[u8]) -> Self {
        match key {
            b"top_k" => Self::TopK,
            b"min_p" => Self::MinP,
            b"presence_penalty" => Self::PresencePenalty,
            b"frequency_penalty" => Self::FrequencyPenalty,
            b"priority" => Self::Priority,
            b"stop" | b"stop_sequences" | b"stop_words" => Self::Stops,
            // vLLM of before `structured_outputs`; llama.cpp; SGLang.
            b"guided_json" | b"json_schema" => Self::Form(AnswerForm::JsonSchema),
            b"guided_regex" | b"regex" => Self::Form(AnswerForm::Regex),
            b"guided_grammar" | b"grammar" | b"ebnf" => Self::Form(AnswerForm::Grammar),
            b"guided_choice" => Self::Form(AnswerForm::Choice),
            _ => Self::Other,
        }
    }

    /// The member of an object with sampling parameters that has this key.
    pub(super) fn of_sampling(key: &[u8]) -> Self {
        match key {
            // SGLang and TGI; Triton and vLLM; Ollama.
            b"max_new_tokens" | b"max_tokens" | b"num_predict" => Self::MaxTokens,
            b"n" => Self::N,
            b"temperature" => Self::Temperature,
            b"top_p" => Self::TopP,
            b"seed" | b"sampling_seed" => Self::Seed,
            _ => Self::of_details(key),
        }
    }

    fn of_route(endpoint: Endpoint, key: &[u8]) -> Self {
        use Endpoint as E;
        match (endpoint, key) {
            (E::Completions | E::Completion | E::OllamaGenerate, b"prompt")
            | (E::Generate, b"text" | b"input_ids" | b"inputs")
            | (E::GenerateStream | E::Root, b"inputs")
            | (E::InferenceGenerate, b"token_ids")
            | (E::TritonGenerate | E::TritonGenerateStream, b"text_input") => Self::Prompt,
            (E::ChatCompletions | E::Messages | E::OllamaChat, b"messages")
            | (E::Responses, b"input") => Self::Messages,
            (E::Messages | E::OllamaGenerate, b"system") | (E::Responses, b"instructions") => {
                Self::Preamble
            }
            (E::Generate | E::InferenceGenerate, b"sampling_params")
            | (
                E::Generate
                | E::GenerateStream
                | E::Root
                | E::TritonGenerate
                | E::TritonGenerateStream,
                b"parameters",
            )
            | (E::OllamaChat | E::OllamaGenerate, b"options") => Self::Sampling,
            (
                E::Completions
                | E::ChatCompletions
                | E::Messages
                | E::Completion
                | E::TritonGenerate
                | E::TritonGenerateStream,
                b"max_tokens",
            )
            | (E::Responses, b"max_output_tokens") => Self::MaxTokens,
            (E::Completions | E::ChatCompletions, b"max_completion_tokens")
            | (E::Completion, b"n_predict") => Self::MaxTokensFirst,
            (E::TritonGenerate | E::TritonGenerateStream, b"random_seed") => Self::Seed,
            (E::Responses, b"text") => Self::TextFormat,
            (E::Messages, b"output_format") | (E::OllamaChat | E::OllamaGenerate, b"format") => {
                Self::Format
            }
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
