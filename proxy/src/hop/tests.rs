//! Heads as the next hop sees them: fields, targets, versions.

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

/// An absolute address without a path but with a query was forwarded as it came, which some engines take for a proxy's
/// request and some for a path.
#[test]
fn an_absolute_address_without_a_path_goes_on_with_one() {
    for (uri, expected) in [
        ("http://a.example?x=1", "/?x=1"),
        ("http://a.example", "/"),
        ("http://a.example/?x", "/?x"),
    ] {
        let request = || Request::builder().uri(uri).header("host", "a.example");
        let (mut head, ()) = request().body(()).unwrap().into_parts();
        to_engine(&mut head, "engine:1");
        assert_eq!(head.uri, expected);
        assert_eq!(head.uri.authority(), None);
        let (mut head, ()) = request().body(()).unwrap().into_parts();
        to_engine_by_http2(&mut head, "http", "engine:1");
        let target = head.uri.path_and_query().map(|target| target.as_str());
        assert_eq!(target, Some(expected));
    }
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
