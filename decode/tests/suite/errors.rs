//! What can't be read is refused with the place, the thing and the way out.

use decode::Options;

fn error(bytes: &[u8]) -> String {
    let error = decode::decode(bytes, &Options::default()).unwrap_err();
    error.to_string()
}

#[test]
fn each_names_its_place_and_the_way_out() {
    let http = |body: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{body}");
    let cases = [
        (String::new(), "the recording is empty"),
        (
            "HTTP/1.1 what\r\n\r\n".to_owned(),
            "line 1: \"HTTP/1.1 what\" is no status line",
        ),
        (
            "HTTP/1.1 200 OK\r\na: b\r\nfoo\r\n\r\n".to_owned(),
            "line 3: \"foo\" is no header field",
        ),
        (
            http("3\r\nabc\r\nzz\r\n"),
            "byte 55: \"zz\" is no size of the chunked coding",
        ),
        (
            http("3\r\nabcdef\r\n"),
            "byte 53: \"def\\r\\n\" is no line end after a chunk",
        ),
        (
            "{\"log\": {\"entries\": [}".to_owned(),
            "line 1, column 22: not a HAR file",
        ),
        (
            "{\"log\": {\"entries\": []}}".to_owned(),
            "none of the 0 entries",
        ),
        (
            "{\"at_ms\":1,\"data\":\"a\"}\n{\"at_ms\":0,\"data\":\"b\"}".to_owned(),
            "line 2: at_ms 0 lies before",
        ),
        ("{\"at_ms\":1,\"what\":\"a\"}".to_owned(), "line 1: "),
        (
            "{\"at_ms\":1,\"base64\":\"?\"}".to_owned(),
            "line 1: the base64 is damaged",
        ),
        (
            "data: {\"error\":{}}\n\n".to_owned(),
            "nothing in the body tells its route; say with --endpoint",
        ),
    ];
    for (text, begin) in cases {
        let error = error(text.as_bytes());
        assert!(error.starts_with(begin), "{text:?}: {error}");
    }
}

#[test]
fn a_path_that_is_no_route_is_refused_with_those_that_are() {
    let error = decode::endpoint("/v1/models").unwrap_err();
    assert!(error.is_usage());
    let text = error.to_string();
    assert!(
        text.starts_with("\"/v1/models\" is no route that generates"),
        "{text}"
    );
    assert!(
        text.contains("/generate_stream") && text.contains("VllmEngine"),
        "{text}"
    );
    assert!(decode::endpoint("/v2/models/a/generate").is_ok());
}
