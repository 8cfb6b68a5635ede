//! Facts of a request's body, taken while it streams through.
//!
//! No copy of a JSON body is kept: a 100 MB image costs the walk over its bytes and some hundred bytes of state. What was
//! learned before the body broke off, or stopped being JSON, stands. Of the requests of gRPC calls see [`CallScan`].

mod call;
mod details;
mod gather;
mod inside;
mod member;
mod tokenizer;

pub use call::{CallRequest, CallScan};
pub use details::{AnswerForm, RequestDetails};
pub(crate) use inside::{is_image, is_sound};

use crate::Endpoint;
use gather::Gather;
use tokenizer::Tokenizer;

/// What a request asks for. `None` means not stated or not knowable; [`RequestFacts::default`] knows nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestFacts {
    /// The whole body was seen and was one JSON object, or the whole message; otherwise some facts may be missing.
    pub whole: bool,
    /// `model`, cut at [`crate::limits::TEXT_BYTES`]. A client's free text: never a label.
    pub model: Option<String>,
    /// `stream`, or what the route does whatever the request says, or does unasked.
    pub stream: Option<bool>,
    /// `n`: answers asked for per prompt.
    pub n: Option<u32>,
    /// Prompts in the request: 1 for a text or a list of token ids, the length of a list of texts or of lists.
    pub prompts: Option<u32>,
    /// Messages of a chat, or items of an `input` list.
    pub messages: Option<u32>,
    /// Tools offered.
    pub tools: Option<u32>,
    /// Prompt tokens, where the prompt was given as token ids.
    pub prompt_tokens: Option<u64>,
    /// Bytes of prompt text, unescaped length: string values of the prompt's member (`prompt`, `input`, `text`, `inputs`,
    /// `text_input`), or of `content` and `text` inside a list of messages, with `system` or `instructions` before them.
    pub prompt_bytes: Option<u64>,
    /// The limit of generated tokens, by the route's name for it: `max_tokens` or `max_completion_tokens` (the latter wins),
    /// `max_output_tokens`, `max_new_tokens`, `n_predict` (it wins over `max_tokens`), `num_predict`.
    pub max_tokens: Option<u32>,
    /// `echo`
    pub echo: Option<bool>,
    /// `stream_options.include_usage`
    pub include_usage: Option<bool>,
    /// `stream_options.continuous_usage_stats`
    pub continuous_usage: Option<bool>,
    /// `temperature`
    pub temperature: Option<f64>,
    /// `top_p`
    pub top_p: Option<f64>,
    /// `seed`
    pub seed: Option<i64>,
    /// What else tells one kind of request from another.
    pub details: RequestDetails,
}

/// Reads the body of a request as it passes by: JSON, or the first message of a gRPC call.
///
/// The facts don't depend on how the body was cut into pushes. Of two members with the same key the last holds.
#[derive(Debug)]
pub struct RequestScan(Body);

#[derive(Debug)]
enum Body {
    Json(Tokenizer, Gather),
    Call(CallScan, Option<RequestFacts>),
}

// ---- RequestScan

impl RequestScan {
    /// A scan of a body sent to this route.
    pub fn new(endpoint: Endpoint) -> Self {
        Self(if endpoint.is_grpc() {
            Body::Call(CallScan::new(endpoint), None)
        } else {
            Body::Json(Tokenizer::new(), Gather::new(endpoint))
        })
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Body::Json(tokenizer, gather) => tokenizer.push(bytes, |token| gather.take(token)),
            Body::Call(scan, first) => scan.push(bytes, |request| {
                first.get_or_insert(request.facts);
            }),
        }
    }

    /// Takes the end of the body, or of what is read of it.
    pub fn finish(self) -> RequestFacts {
        match self.0 {
            Body::Json(tokenizer, gather) => gather.finish(tokenizer.is_done()),
            Body::Call(_, first) => first.unwrap_or_default(),
        }
    }
}
