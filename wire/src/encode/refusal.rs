//! Errors before an answer begins: a body, and which one it is depends on the engine.

use super::escape;
use super::template::{Holes, fill};
use crate::{Endpoint, EngineKind};

/// Why a request gets no answer.
#[derive(Debug, Clone, Copy)]
pub struct Refusal<'a> {
    /// The HTTP status it stands for.
    pub status: u16,
    /// What happened, for people.
    pub message: &'a str,
    /// The parameter at fault.
    pub param: Option<&'a str>,
}

/// A refusal of a stream that comes as a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedStream {
    /// The status that it comes with.
    pub status: u16,
    /// Its events.
    pub events: Vec<u8>,
}

impl Refusal<'_> {
    /// What a request for a stream gets, on routes where that is a stream too: SGLang's and TGI's own ones say it in a 200,
    /// Triton's keeps its status.
    pub fn of_stream(&self, engine: EngineKind, endpoint: Endpoint) -> Option<RefusedStream> {
        let (status, template) = match (engine, endpoint) {
            (EngineKind::Sglang, Endpoint::Generate) => (200, SGLANG_EVENTS),
            (EngineKind::Tgi, Endpoint::GenerateStream | Endpoint::Root) => (200, TGI_EVENT),
            (EngineKind::Triton, Endpoint::TritonGenerateStream) => (self.status, TRITON_EVENT),
            _ => return None,
        };
        let mut events = Vec::new();
        fill(
            template,
            &Words {
                refusal: self,
                engine,
            },
            &mut events,
        );
        Some(RefusedStream { status, events })
    }

    /// The body with this status.
    pub fn body(&self, engine: EngineKind, endpoint: Endpoint) -> Vec<u8> {
        let mut out = Vec::new();
        fill(
            template(engine, endpoint),
            &Words {
                refusal: self,
                engine,
            },
            &mut out,
        );
        out
    }
}

const SGLANG_EVENTS: &str = concat!(
    r#"data: {"error":{"message":"$message","type":"$kind","code":$status,"retryable":false}}"#,
    "\n\ndata: [DONE]\n\n",
);

const TGI_EVENT: &str = concat!(r#"data: {"error":"$message","error_type":"$kind"}"#, "\n\n");

const TRITON_EVENT: &str = concat!(r#"data: {"error":"$message"}"#, "\n\n");

fn template(engine: EngineKind, endpoint: Endpoint) -> &'static str {
    match (engine, endpoint) {
        (EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm, Endpoint::Messages) => {
            r#"{"type":"error","error":{"type":"$kind","message":"$message"}}"#
        }
        (EngineKind::Vllm, _) => {
            r#"{"error":{"message":"$message","type":"$kind","param":$param,"code":$status}}"#
        }
        (EngineKind::Sglang, Endpoint::Generate) => r#"{"error":{"message":"$message"}}"#,
        (EngineKind::Sglang, Endpoint::OllamaChat | Endpoint::OllamaGenerate) => {
            r#"{"error":"$message"}"#
        }
        (EngineKind::Sglang | EngineKind::Trtllm, _) => {
            r#"{"object":"error","message":"$message","type":"$kind","param":$param,"code":$status}"#
        }
        (EngineKind::Triton, Endpoint::Completions | Endpoint::ChatCompletions) => {
            r#"{"detail":"$message"}"#
        }
        (EngineKind::Triton, _) => r#"{"error":"$message"}"#,
        (EngineKind::Tgi, _) => r#"{"error":"$message","error_type":"$kind"}"#,
        (EngineKind::LlamaCpp, _) => {
            r#"{"error":{"code":$status,"message":"$message","type":"$kind"}}"#
        }
    }
}

/// What each engine calls a status; the last name is that of all others.
fn kind(engine: EngineKind, status: u16) -> &'static str {
    let names: &[(u16, &str)] = match engine {
        EngineKind::Tgi => &[(422, "validation"), (429, "overloaded"), (0, "generation")],
        EngineKind::LlamaCpp => &[
            (400, "invalid_request_error"),
            (404, "not_found_error"),
            (503, "unavailable_error"),
            (0, "server_error"),
        ],
        _ if status >= 500 => &[(0, "InternalServerError")],
        _ => &[(404, "NotFoundError"), (0, "BadRequestError")],
    };
    let named = names.iter().find(|(code, _)| [0, status].contains(code));
    named.map_or("", |(_, name)| name)
}

struct Words<'w> {
    refusal: &'w Refusal<'w>,
    engine: EngineKind,
}

impl Holes for Words<'_> {
    fn put(&self, hole: &str, out: &mut Vec<u8>) {
        let Refusal {
            status,
            message,
            param,
        } = *self.refusal;
        match hole {
            "message" => escape(message, out),
            "kind" => escape(kind(self.engine, status), out),
            "status" => out.extend_from_slice(status.to_string().as_bytes()),
            "param" => match param {
                Some(param) => {
                    out.push(b'"');
                    escape(param, out);
                    out.push(b'"');
                }
                None => out.extend_from_slice(b"null"),
            },
            _ => debug_assert!(false, "{hole} is no hole"),
        }
    }

    fn has(&self, _group: &str) -> bool {
        false
    }
}
