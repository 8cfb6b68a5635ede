//! gRPC as far as a relay has to know it (grpc/doc/PROTOCOL-HTTP2.md): which requests are calls, and how one is refused.

use crate::refusal::Refusal;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode, Version};
use http_body_util::Full;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Whether a request is a gRPC call: it needs HTTP/2 and says so by its content type. gRPC-Web is another protocol.
pub(crate) fn is_call(version: Version, fields: &HeaderMap) -> bool {
    version == Version::HTTP_2
        && fields
            .get(CONTENT_TYPE)
            .and_then(|value| value.as_bytes().strip_prefix(b"application/grpc"))
            .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ')))
}

/// A refusal as the answer to a call: a head with a status of gRPC's, and no body.
pub(crate) fn refuse(refusal: &Refusal) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    fields.insert(GRPC_STATUS, HeaderValue::from(code(refusal.status)));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&refusal.message)) {
        fields.insert(GRPC_MESSAGE, message);
    }
    response
}

/// The code that comes nearest to a status of HTTP.
fn code(status: StatusCode) -> u16 {
    const CANCELLED: u16 = 1;
    const DEADLINE_EXCEEDED: u16 = 4;
    const RESOURCE_EXHAUSTED: u16 = 8;
    const UNIMPLEMENTED: u16 = 12;
    const INTERNAL: u16 = 13;
    const UNAVAILABLE: u16 = 14;
    match status {
        // The client's own side broke, and it will not read this.
        StatusCode::BAD_REQUEST => CANCELLED,
        StatusCode::PAYLOAD_TOO_LARGE => RESOURCE_EXHAUSTED,
        StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => UNIMPLEMENTED,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT => DEADLINE_EXCEEDED,
        _ => INTERNAL,
    }
}

/// `Percent-Encoded` of the protocol: bytes of printable ASCII but `%`.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | 0..b' ' | 0x7f.. => encoded.push_str(&format!("%{byte:02X}")),
            plain => encoded.push(char::from(plain)),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_version_and_content_type() {
        let is = |version, content_type: &str| {
            let value = HeaderValue::from_str(content_type).unwrap();
            is_call(version, &HeaderMap::from_iter([(CONTENT_TYPE, value)]))
        };
        for content_type in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc; a=b",
        ] {
            assert!(is(Version::HTTP_2, content_type), "{content_type}");
            assert!(!is(Version::HTTP_11, content_type), "{content_type}");
        }
        for content_type in ["application/grpc-web", "application/json", ""] {
            assert!(!is(Version::HTTP_2, content_type), "{content_type}");
        }
    }

    #[test]
    fn a_message_is_percent_encoded() {
        assert_eq!(percent_encoded("50 % \u{e4}\n~"), "50 %25 %C3%A4%0A~");
    }
}
