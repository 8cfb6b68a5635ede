//! Heads from one hop to the next: hop-by-hop fields end here, everything else goes on in its order and its case.
//!
//! Between two hops of HTTP/2 `te: trailers` goes on as well: gRPC asks for it, and trailers are passed on there.

#[cfg(test)]
mod tests;

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRANSFER_ENCODING,
};
use http::{Method, StatusCode, Uri, Version, request, response};

/// Fields that speak of one connection (RFC 9110 7.6.1), besides those that `Connection` names.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The request's head as the engine is to see it: origin form, HTTP/1.1, a `Host`.
pub(crate) fn to_engine(head: &mut request::Parts, engine: &str) {
    let authority = head
        .uri
        .authority()
        .map(|authority| authority.as_str().to_owned());
    let path = origin_form(&head.uri);
    if let Ok(uri) = path.parse::<Uri>() {
        head.uri = uri;
    }
    head.version = Version::HTTP_11;
    head.headers = end_to_end(&head.headers);
    canonical_length(&mut head.headers);
    if !head.headers.contains_key(HOST) {
        let host = authority.as_deref().unwrap_or(engine);
        if let Ok(host) = HeaderValue::from_str(host) {
            head.headers.insert(HOST, host);
        }
    }
}

/// The request's head as an engine is to see it that is spoken to by HTTP/2: absolute form, no `Host`.
pub(crate) fn to_engine_by_http2(head: &mut request::Parts, scheme: &str, engine: &str) {
    let named = head
        .uri
        .authority()
        .map(|authority| authority.as_str())
        .or_else(|| head.headers.get(HOST)?.to_str().ok());
    let path = origin_form(&head.uri);
    let absolute = |authority: &str| format!("{scheme}://{authority}{path}").parse::<Uri>();
    let uri = absolute(named.unwrap_or(engine)).or_else(|_| absolute(engine));
    let wants_trailers = head.headers.get(TE).is_some_and(|te| te == "trailers");
    if let Ok(uri) = uri {
        head.uri = uri;
    }
    head.version = Version::HTTP_2;
    head.headers = end_to_end(&head.headers);
    head.headers.remove(HOST);
    canonical_length(&mut head.headers);
    if wants_trailers {
        head.headers
            .insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// Path and query. An absolute address may lack the path, and what follows its authority is then no target by itself.
fn origin_form(uri: &Uri) -> String {
    let target = uri.path_and_query().map_or("/", |path| path.as_str());
    if target.starts_with('?') {
        format!("/{target}")
    } else {
        target.to_owned()
    }
}

/// Says how a body ends whose length is not known. hyper would say so by itself, but not with a GET or HEAD: there it would
/// drop the body.
pub(crate) fn frame(fields: &mut HeaderMap) {
    if !fields.contains_key(CONTENT_LENGTH) {
        fields.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// A length without leading zeros, which some parsers read as an octal number.
fn canonical_length(fields: &mut HeaderMap) {
    let Some(length) = fields.get_mut(CONTENT_LENGTH) else {
        return;
    };
    if let Ok(text) = length.to_str()
        && text.starts_with('0')
        && let Ok(number) = text.parse::<u64>()
    {
        *length = HeaderValue::from(number);
    }
}

/// The answer's head as the client is to see it.
///
/// A body that only the close ends stays so (version 1.0 makes the server do that): sent on in chunks it would end with a
/// proof of completeness that nobody gave.
pub(crate) fn to_client(head: &mut response::Parts, asked: &Method) {
    let framed = head.version == Version::HTTP_2
        || head.headers.contains_key(CONTENT_LENGTH)
        || head.headers.contains_key(TRANSFER_ENCODING);
    head.version = if framed || !may_have_body(head.status, asked) {
        Version::HTTP_11
    } else {
        Version::HTTP_10
    };
    head.headers = end_to_end(&head.headers);
}

fn may_have_body(status: StatusCode, asked: &Method) -> bool {
    !(asked == Method::HEAD
        || status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED)
}

/// Whether a field speaks of one connection.
pub(crate) fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// A new map, since removing from one moves its last field into the hole.
pub(crate) fn end_to_end(fields: &HeaderMap) -> HeaderMap {
    let nominated: Vec<HeaderName> = fields
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut kept = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        if !HOP_BY_HOP.contains(&name.as_str()) && !nominated.contains(name) {
            kept.append(name, value.clone());
        }
    }
    kept
}
