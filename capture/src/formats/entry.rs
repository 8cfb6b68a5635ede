//! One exchange on its way into another tool's file, or out of one: what such files can say, in our units.

use serde_json::{Map, Value};

use crate::text::{Body, Kind};

/// One exchange. Absent is unknown; times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    /// Arrival, after the first one.
    pub at_ns: u64,
    /// The file gives no arrival, but a wait after the turn before: `at_ns` is the earliest it can have been.
    pub at_inferred: bool,
    /// Session: a small number, by order of first sight. It means nothing outside of the file.
    pub session: Option<u64>,
    /// Turn in its session, from 1.
    pub turn: Option<u32>,
    /// From the end of the turn before to this arrival.
    pub think_ns: Option<u64>,
    /// Model asked for.
    pub model: Option<String>,
    /// Streaming was asked for.
    pub stream: Option<bool>,
    /// Prompt tokens.
    pub input: Option<u64>,
    /// Generated tokens.
    pub output: Option<u64>,
    /// Time to the first token.
    pub ttft_ns: Option<u64>,
    /// Time to the end.
    pub e2e_ns: Option<u64>,
    /// Time per token after the first burst.
    pub tpot_ns: Option<f64>,
    /// It is known how it ended, and it did not end well.
    pub failed: bool,
    /// Images in the prompt.
    pub images: Option<u32>,
    /// Ids of the prompt's blocks. An id stands for its block and all before it.
    pub ids: Vec<u64>,
    /// What was said, where that is kept.
    pub text: Option<Text>,
    /// What a file says beyond the above.
    pub extra: Map<String, Value>,
}

/// The words of an exchange.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text {
    /// Body of the request, a JSON object.
    pub request: Map<String, Value>,
    /// The answer.
    pub answer: Option<String>,
}

/// A message of a chat, as far as a file of plain text can say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) content: String,
}

impl Text {
    /// What a capture kept of an exchange. `None` if its request was left out, cut, or is no JSON object.
    pub fn of_capture(kept: &crate::text::Text) -> Option<Self> {
        let Body::Text(request) = &kept.request.body else {
            return None;
        };
        let Ok(Value::Object(request)) = serde_json::from_str(request) else {
            return None;
        };
        let answer = match &kept.answer.body {
            Body::Said(said) => {
                let first = said
                    .iter()
                    .filter(|part| part.choice == 0 && part.kind == Kind::Answer);
                Some(first.map(|part| part.text.as_str()).collect())
            }
            Body::Text(answer) => serde_json::from_str(answer)
                .ok()
                .and_then(|answer| spoken(&answer)),
            Body::LeftOut(_) => None,
        };
        Some(Self { request, answer })
    }

    /// The messages of a chat; a prompt that is none is one message of the user's.
    pub(super) fn messages(&self) -> Vec<Message> {
        let Some(Value::Array(messages)) = self.request.get("messages") else {
            let prompt = self.request.get("prompt").map(words).unwrap_or_default();
            return vec![Message {
                role: "user".to_owned(),
                content: prompt,
            }];
        };
        let message = |message: &Value| Message {
            role: message
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or("user")
                .to_owned(),
            content: message.get("content").map(words).unwrap_or_default(),
        };
        messages.iter().map(message).collect()
    }

    /// All of the prompt as one text.
    pub(super) fn prompt(&self) -> String {
        let contents: Vec<String> = self
            .messages()
            .into_iter()
            .map(|message| message.content)
            .collect();
        contents.join("\n")
    }

    /// The last message: what is new in a turn.
    pub(super) fn newest(&self) -> String {
        self.messages()
            .pop()
            .map(|message| message.content)
            .unwrap_or_default()
    }
}

/// The first answer of a body that was not streamed.
fn spoken(answer: &Value) -> Option<String> {
    let choice = answer.get("choices")?.get(0)?;
    let text = choice
        .get("message")
        .and_then(|message| message.get("content"))
        .or_else(|| choice.get("text"))?;
    Some(words(text))
}

/// The words of a message's content, which is a text or a list of parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let text = |part: &Value| match part {
                Value::String(text) => text.clone(),
                other => other
                    .get("text")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            };
            parts.iter().map(text).collect::<Vec<String>>().concat()
        }
        _ => String::new(),
    }
}
