//! The JSON bodies of all routes, as one struct: no two routes use a name for two things that matter here.

use serde::Deserialize;
use wire::{Endpoint, EngineKind};

/// What may be in a body. Anything else is passed over, as most engines do.
#[derive(Deserialize)]
pub(super) struct Body {
    pub(super) model: Option<String>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) n: Option<u32>,
    /// SGLang's id of the request.
    pub(super) rid: Option<String>,
    prompt: Option<Prompt>,
    inputs: Option<Prompt>,
    text: Option<Prompt>,
    text_input: Option<Prompt>,
    token_ids: Option<Prompt>,
    input_ids: Option<Prompt>,
    input: Option<Input>,
    messages: Option<Vec<Message>>,
    system: Option<Content>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    max_output_tokens: Option<u32>,
    /// Below 0: no limit.
    n_predict: Option<i64>,
    pub(super) sampling_params: Option<Sampling>,
    parameters: Option<Parameters>,
    options: Option<OllamaOptions>,
    pub(super) return_token_ids: Option<bool>,
    pub(super) timings_per_token: Option<bool>,
    pub(super) output_mode: Option<String>,
    pub(super) return_num_input_tokens: Option<bool>,
    pub(super) return_num_output_tokens: Option<bool>,
    pub(super) return_finish_reason: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt {
    Text(String),
    TokenIds(Vec<u32>),
    Texts(Vec<String>),
    TokenIdLists(Vec<Vec<u32>>),
}

#[derive(Deserialize)]
struct Message {
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Items(Vec<Message>),
}

#[derive(Deserialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
    pub(super) continuous_usage_stats: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Sampling {
    pub(super) n: Option<u32>,
    max_tokens: Option<u32>,
    max_new_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Parameters {
    max_new_tokens: Option<u32>,
    details: Option<bool>,
}

#[derive(Deserialize)]
struct OllamaOptions {
    num_predict: Option<u32>,
}

impl Body {
    /// Token ids of each prompt, or the name of the member that is missing.
    pub(super) fn prompts(
        &mut self,
        engine: EngineKind,
        endpoint: Endpoint,
    ) -> Result<Vec<Vec<u32>>, &'static str> {
        let (prompt, name) = match endpoint {
            Endpoint::ChatCompletions | Endpoint::Messages | Endpoint::OllamaChat => {
                let messages = self.messages.as_deref().ok_or("messages")?;
                return Ok(vec![conversation(self.system.as_ref(), messages)]);
            }
            Endpoint::Responses => {
                return match self.input.as_ref().ok_or("input")? {
                    Input::Text(text) => Ok(vec![super::words(text)]),
                    Input::Items(items) => Ok(vec![conversation(None, items)]),
                };
            }
            Endpoint::InferenceGenerate => (self.token_ids.take(), "token_ids"),
            Endpoint::Generate if engine == EngineKind::Sglang => {
                (self.text.take().or(self.input_ids.take()), "text")
            }
            Endpoint::Generate | Endpoint::GenerateStream | Endpoint::Root => {
                (self.inputs.take(), "inputs")
            }
            Endpoint::TritonGenerate | Endpoint::TritonGenerateStream => {
                (self.text_input.take(), "text_input")
            }
            _ => (self.prompt.take(), "prompt"),
        };
        prompt.map(Prompt::token_ids).ok_or(name)
    }

    /// The limit that it states.
    pub(super) fn limit(&self) -> Option<u32> {
        let sampling = self.sampling_params.as_ref();
        let predict = self.n_predict.and_then(|limit| u32::try_from(limit).ok());
        let nested = sampling
            .and_then(|sampling| sampling.max_new_tokens.or(sampling.max_tokens))
            .or(self.parameters.as_ref().and_then(|own| own.max_new_tokens))
            .or(self.options.as_ref().and_then(|own| own.num_predict));
        predict
            .or(self.max_completion_tokens)
            .or(self.max_output_tokens)
            .or(self.max_tokens)
            .or(nested)
    }

    /// TGI's `details`.
    pub(super) fn details(&self) -> bool {
        let parameters = self.parameters.as_ref();
        parameters.and_then(|own| own.details).unwrap_or(false)
    }
}

impl Prompt {
    fn token_ids(self) -> Vec<Vec<u32>> {
        match self {
            Self::Text(text) => vec![super::words(&text)],
            Self::Texts(texts) => texts.iter().map(|text| super::words(text)).collect(),
            Self::TokenIds(ids) => vec![ids],
            Self::TokenIdLists(lists) => lists,
        }
    }
}

fn conversation(system: Option<&Content>, messages: &[Message]) -> Vec<u32> {
    let mut text = String::new();
    let said = messages
        .iter()
        .filter_map(|message| message.content.as_ref());
    for content in system.into_iter().chain(said) {
        let parts: Vec<&str> = match content {
            Content::Text(text) => vec![text],
            Content::Parts(parts) => parts
                .iter()
                .filter_map(|part| part.text.as_deref())
                .collect(),
        };
        for part in parts {
            text.push_str(part);
            text.push(' ');
        }
    }
    super::words(&text)
}
