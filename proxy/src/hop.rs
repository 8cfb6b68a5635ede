//! Heads from one hop to the next: hop-by-hop fields end here, everything else goes on in its order and its case.
//!
//! Between two hops of HTTP/2 `te: trailers` goes on as well: gRPC asks for it, and trailers are passed on there.

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
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
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
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
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

/// A new map, since removing from one moves its last field into the hole.
fn end_to_end(fields: &HeaderMap) -> HeaderMap {
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

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn fields(map: &HeaderMap) -> Vec<String> {
        map.iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn what_connection_names_ends_here_and_the_order_of_the_rest_is_kept() {
        let request = Request::builder()
            .uri("http://front.example/v1/completions?x=1")
            .header("host", "front.example")
            .header("x-first", "1")
            .header("connection", "close, X-Secret-Hop")
            .header("x-secret-hop", "gone")
            .header("te", "trailers")
            .header("x-last", "a")
            .header("x-last", "b")
            .body(())
            .unwrap();
        let (mut head, ()) = request.into_parts();
        to_engine(&mut head, "engine:1");
        assert_eq!(head.uri, "/v1/completions?x=1");
        assert_eq!(
            fields(&head.headers),
            [
                "host: front.example",
                "x-first: 1",
                "x-last: a",
                "x-last: b"
            ]
        );
    }

    #[test]
    fn a_request_without_host_gets_the_authority() {
        let (mut head, ()) = Request::builder()
            .uri("http://a.example/x")
            .body(())
            .unwrap()
            .into_parts();
        to_engine(&mut head, "engine:1");
        assert_eq!(fields(&head.headers), ["host: a.example"]);
        let (mut head, ()) = Request::builder().uri("/x").body(()).unwrap().into_parts();
        to_engine(&mut head, "engine:1");
        assert_eq!(fields(&head.headers), ["host: engine:1"]);
    }

    #[test]
    fn by_http2_a_request_is_absolute_and_asks_for_trailers_if_the_client_did() {
        for (uri, host, expected) in [
            ("http://a.example/x?y", None, "http://a.example/x?y"),
            ("/x", Some("b.example"), "http://b.example/x"),
            ("/x", Some("not a host"), "http://engine:1/x"),
            ("/x", None, "http://engine:1/x"),
        ] {
            let mut request = Request::builder().uri(uri).header("te", "trailers");
            if let Some(host) = host {
                request = request.header("host", host);
            }
            let request = request.header("connection", "x-hop").header("x-hop", "1");
            let (mut head, ()) = request.header("x-kept", "1").body(()).unwrap().into_parts();
            to_engine_by_http2(&mut head, "http", "engine:1");
            assert_eq!(head.uri, expected);
            assert_eq!(head.version, Version::HTTP_2);
            assert_eq!(fields(&head.headers), ["x-kept: 1", "te: trailers"]);
        }
    }

    #[test]
    fn a_body_that_only_the_close_ends_stays_close_delimited() {
        let version = |fields: &[(&str, &str)], status: u16, asked: Method| {
            let mut response = http::Response::builder().status(status);
            for (name, value) in fields {
                response = response.header(*name, *value);
            }
            let (mut head, ()) = response.body(()).unwrap().into_parts();
            to_client(&mut head, &asked);
            head.version
        };
        assert_eq!(version(&[], 200, Method::POST), Version::HTTP_10);
        assert_eq!(version(&[], 204, Method::POST), Version::HTTP_11);
        assert_eq!(version(&[], 200, Method::HEAD), Version::HTTP_11);
        assert_eq!(
            version(&[("content-length", "3")], 200, Method::POST),
            Version::HTTP_11
        );
        assert_eq!(
            version(&[("transfer-encoding", "chunked")], 200, Method::POST),
            Version::HTTP_11
        );
    }
}
