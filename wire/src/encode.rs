//! The other direction: the bytes that vLLM's OpenAI routes write, and the requests that ask for them.
//!
//! For whoever plays an engine or a client: the decoder never uses this. Keys, their order and their nulls are those of
//! vLLM 0.33's Python front-end. Every function appends to `out`; an event ends with its blank line, line ends are LF.
//! Nothing here checks that a sequence of events makes sense: that is the caller's story.

mod chat;
mod completions;
mod error;
mod opening;
mod request;
mod usage;

use serde::Serialize;

pub use error::ErrorObject;
pub use request::{Prompt, RequestShape, Streaming};

use crate::Endpoint;

/// What all events of one answer share.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// The route: it decides the shape of everything. Completions and chats are what can be written; any other route is
    /// taken for completions.
    pub endpoint: Endpoint,
    /// `id`, as `cmpl-…` or `chatcmpl-…`.
    pub id: &'a str,
    /// `created`, in seconds since 1970.
    pub created: u64,
    /// `model`
    pub model: &'a str,
    /// `system_fingerprint`, written on usage chunks, on whole bodies, and on finish chunks where [`Delta::last`] says so.
    pub fingerprint: &'a str,
}

/// Token counts. Running counts describe one choice and its prompt, a total the whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub prompt: u64,
    /// Generated tokens.
    pub completion: u64,
    /// Prompt tokens taken from the prefix cache; `None` writes no details.
    pub cached: Option<u64>,
    /// Reasoning tokens among `completion`; `None` writes no details.
    pub reasoning: Option<u64>,
}

/// One step's output of one choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delta<'a> {
    /// `index`: prompt number × n + answer number.
    pub choice: u32,
    /// New answer text. `None` leaves `content` away in a chat and is `""` elsewhere.
    pub text: Option<&'a str>,
    /// New reasoning text; chats only.
    pub reasoning: Option<&'a str>,
    /// Ids of the new tokens, where they were asked for.
    pub token_ids: Option<&'a [u32]>,
    /// `finish_reason`: this is the choice's last chunk.
    pub finish: Option<&'a str>,
    /// Running counts, where they were asked for.
    pub running: Option<Usage>,
    /// No usage chunk follows, so that a finish chunk carries the fingerprint.
    pub last: bool,
}

/// One choice of a whole answer.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// The answer's text.
    pub text: &'a str,
    /// Its reasoning; chats only.
    pub reasoning: Option<&'a str>,
    /// `finish_reason`
    pub finish: &'a str,
}

impl Identity<'_> {
    /// Appends the role chunk of a choice, which carries no token. Completions have none, so nothing is appended there.
    pub fn role(&self, out: &mut Vec<u8>, choice: u32, running: Option<Usage>) {
        if self.is_chat() {
            event(out, &chat::RoleChunk::new(self, choice, running));
        }
    }

    /// Appends a chunk with a step's output.
    pub fn delta(&self, out: &mut Vec<u8>, delta: &Delta<'_>) {
        if self.is_chat() {
            event(out, &chat::ChatChunk::new(self, delta));
        } else {
            event(out, &completions::TextChunk::new(self, delta));
        }
    }

    /// Appends the chunk without choices that states the total.
    pub fn usage(&self, out: &mut Vec<u8>, total: Usage) {
        event(out, &usage::UsageChunk::new(self, total));
    }

    /// Appends a whole answer as one JSON body, without an end of line.
    pub fn whole(&self, out: &mut Vec<u8>, choices: &[Choice<'_>], total: Usage) {
        if self.is_chat() {
            json(out, &chat::ChatBody::new(self, choices, total));
        } else {
            json(out, &completions::TextBody::new(self, choices, total));
        }
    }

    /// Appends an error event as this route spells it: completions in the style of Python's `json.dumps` (blanks after
    /// separators, nothing but ASCII), chats compact.
    pub fn error(&self, out: &mut Vec<u8>, error: &ErrorObject<'_>) {
        out.extend_from_slice(b"data: ");
        if self.is_chat() {
            error.compact(out);
        } else {
            error.python(out);
        }
        out.extend_from_slice(b"\n\n");
    }

    fn is_chat(&self) -> bool {
        self.endpoint == Endpoint::ChatCompletions
    }
}

/// Appends the end mark, `data: [DONE]`.
pub fn done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n\n");
}

/// Appends vLLM's keep-alive comment.
pub fn keep_alive(out: &mut Vec<u8>) {
    out.extend_from_slice(b": keep-alive\n\n");
}

fn event(out: &mut Vec<u8>, value: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    json(out, value);
    out.extend_from_slice(b"\n\n");
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    #[expect(
        clippy::expect_used,
        reason = "structs of texts and whole numbers, written into memory: nothing can fail"
    )]
    serde_json::to_writer(out, value).expect("plain structs serialise");
}

#[cfg(test)]
mod tests;
