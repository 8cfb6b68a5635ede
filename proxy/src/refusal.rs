//! Answers of our own, in the shape that OpenAI clients understand.

use crate::guard::Fault;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use std::error::Error;
use upstream::Failure;

/// Why a request gets an answer from us instead of the engine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// Machine-readable, a closed set: also the label `reason`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Codes of refusals that are not a [`Fault`] of the request's bytes.
const CODES: [&str; 13] = [
    UPGRADE_DECLINED,
    "body_too_large",
    "connect_failed",
    "connect_timeout",
    "upstream_reset",
    "body_broke",
    "timeout",
    "stopping",
    TOO_MANY_CONNECTIONS,
    CROWDED_OUT,
    ACCEPT_FAILED,
    TLS_TIMEOUT,
    TLS_FAILED,
];

/// Every code, for series that exist before they happen.
pub(crate) fn codes() -> Vec<&'static str> {
    [&Fault::CODES[..], &CODES[..]].concat()
}

/// The engine will not speak what a client asked to switch to, and its own answer can't be passed on.
pub(crate) const UPGRADE_DECLINED: &str = "upgrade_declined";

/// The cap on connections was reached.
pub(crate) const TOO_MANY_CONNECTIONS: &str = "too_many_connections";

/// An idle connection was closed to make room for another.
pub(crate) const CROWDED_OUT: &str = "crowded_out";

/// No connection could be accepted, for want of files or memory.
pub(crate) const ACCEPT_FAILED: &str = "accept_failed";

/// A client was silent in its TLS handshake, or slow.
pub(crate) const TLS_TIMEOUT: &str = "tls_timeout";

/// A client and we could not agree on TLS.
pub(crate) const TLS_FAILED: &str = "tls_failed";

#[derive(Serialize)]
struct Shape<'a> {
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'a str>,
    code: &'static str,
}

impl Refusal {
    /// The request's bytes are at fault.
    pub(crate) fn of(fault: Fault) -> Self {
        Self {
            status: fault.status(),
            code: fault.code(),
            message: fault.to_string(),
        }
    }

    pub(crate) fn body_too_large(limit: u64) -> Self {
        Self {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: "body_too_large",
            message: format!("the request's body is larger than {limit} bytes (limits.body_bytes)"),
        }
    }

    /// The engine failed before it answered.
    pub(crate) fn failed(failure: &Failure) -> Self {
        let (status, code) = match failure {
            Failure::Connect { .. } => (StatusCode::BAD_GATEWAY, "connect_failed"),
            Failure::ConnectTimeout { .. } => (StatusCode::BAD_GATEWAY, "connect_timeout"),
            Failure::Reset(_) | Failure::Truncated(_) => {
                (StatusCode::BAD_GATEWAY, "upstream_reset")
            }
            Failure::UploadBroke => (StatusCode::BAD_REQUEST, "body_broke"),
            Failure::UploadTooLarge { limit } => return Self::body_too_large(*limit),
            Failure::TimeoutTtft(_) | Failure::TimeoutIdle(_) => {
                (StatusCode::GATEWAY_TIMEOUT, "timeout")
            }
            Failure::Abandoned => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        };
        Self {
            status,
            code,
            message: with_causes(failure),
        }
    }

    fn body(&self) -> Bytes {
        let kind = if self.status.is_client_error() {
            "invalid_request_error"
        } else {
            "upstream_error"
        };
        let shape = Shape {
            error: Body {
                message: &self.message,
                r#type: kind,
                param: None,
                code: self.code,
            },
        };
        // The shape holds texts only, so that it can't fail; an empty body would still carry the status.
        Bytes::from(serde_json::to_vec(&shape).unwrap_or_default())
    }

    /// The whole answer as bytes, where no HTTP server writes it.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let body = self.body();
        let (status, length) = (self.status, body.len());
        let retry = if status == StatusCode::SERVICE_UNAVAILABLE {
            "retry-after: 1\r\n"
        } else {
            ""
        };
        let mut raw = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             {retry}connection: close\r\n\r\n"
        )
        .into_bytes();
        raw.extend_from_slice(&body);
        raw
    }

    pub(crate) fn respond(&self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status.is_client_error() || self.status == StatusCode::NOT_IMPLEMENTED {
            // The rest of the request is not read, so nothing that follows on this connection is a request.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
