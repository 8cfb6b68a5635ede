//! Requests that the rules allow and that parsers have read differently before, or might.

use proptest::prelude::*;
use proptest::sample::select;

const METHODS: &[&str] = &[
    "GET",
    "GET",
    "GET",
    "GET",
    "GET",
    "POST",
    "POST",
    "POST",
    "POST",
    "POST",
    "PUT",
    "HEAD",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "M-SEARCH",
    "get",
    "PRI",
    "A!#$%&'*+.^_`|~9",
];

const TARGETS: &[&str] = &[
    "/echo",
    "/",
    "//echo",
    "/a//b/../c/./d",
    "/..",
    "/%2e%2e/x",
    "/a%00b",
    "/a%0d%0aX:%20y",
    "/a%zz",
    "/%",
    "/a;b=c",
    "/a?",
    "/a?b?c",
    "/a?b=c&d=%26",
    "/a\\b",
    "/a|b{c}^",
    "/[::1]",
    "/a:b@c",
    "/*",
    "/a?x=http://b/",
    "/caf\u{e9}",
    "/a?q=\u{4e2d}",
    "http://a.test/echo?x",
    "http://a.test",
    "http://a.test?x",
    "HTTP://A.test/echo",
    "/a'b\"c",
    "/a?`b",
    "/~a!$&()*+,;=",
];

const FIELDS: &[&str] = &[
    "X-A: 1",
    "X-A:1",
    "x-a:\t 1 \t",
    "X-A: 2",
    "X-Empty:",
    "X-Empty: ",
    "X-High: \u{e9}\u{ff}",
    "X-Tab: a\tb",
    "X-Colon: a: b",
    "X-Comma: a, b,, c",
    "!#$%&'*+-.^_`|~: odd",
    "X_Under: 1",
    "Host_: b",
    "Content-Lengt: 7",
    "Content-Length-: 7",
    "X-Content-Length: 7",
    "Transfer-Encodin: chunked",
    "TE: trailers",
    "Connection: keep-alive",
    "Connection: x-a",
    "Connection: close",
    "Keep-Alive: timeout=5",
    "Proxy-Connection: close",
    "Upgrade: websocket",
    "Trailer: X-T",
    "Cookie: a=b",
    "Cookie: c=d; e",
    "Accept-Encoding: gzip;q=0",
    "Content-Encoding: gzip",
    "Content-Type: text/plain",
    "Expect: 100-continue",
    "Authorization: Basic YTpi",
    "Forwarded: for=1.2.3.4",
    "X-Forwarded-Host: b",
    "Range: bytes=0-1",
    "If-None-Match: *",
    "X-HTTP-Method-Override: DELETE",
    "Max-Forwards: 0",
    "Date: never",
    "Via: 1.0 a",
    "Server: a",
    "-: 1",
    "9: 9",
];

/// A field that decides where the body ends, and the body.
const BODIES: &[&str] = &[
    "\r\n",
    "\r\n",
    "Content-Length: 0\r\n\r\n",
    "Content-Length: 3\r\n\r\nabc",
    "content-length:\t0003 \r\n\r\nabc",
    "Content-Length: 37\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nab",
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "transfer-encoding:\tCHUNKED \r\n\r\n0003\r\nabc\r\n000\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n25;a=\"b;c\"\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nab\r\n0;x\r\nX-T: 1\r\n\r\n",
    "Transfer-Encoding: chunked\r\n\r\n1 ;\r\na\r\n2\t; \u{e9}\r\nbc\r\n0\r\nX-T:\r\nX_T: 2\r\n\r\n",
];

const HOSTS: &[&str] = &[
    "Host: a.test",
    "host:a.test",
    "Host: A.TEST:8000",
    "Host: [::1]:80",
    "Host: ",
    "Host: a_b.test:",
    "Host: 1",
    "HOST: a%41!$&'()*+;=~",
];

/// One to three of them, one behind the other, as bytes.
pub(crate) fn requests() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(request(), 1..4).prop_map(|requests| requests.concat())
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    (
        select(METHODS),
        select(TARGETS),
        prop_oneof![9 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0")],
        select(HOSTS),
        prop::collection::vec(select(FIELDS), 0..5),
        select(BODIES),
    )
        .prop_map(|(method, target, version, host, fields, body)| {
            let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
            // A target's bytes are UTF-8, a value's are as they come.
            let line = format!("{method} {target} {version}\r\n").into_bytes();
            let rest = format!("{host}\r\n{fields}{body}");
            let rest = rest
                .chars()
                .map(|one| u8::try_from(u32::from(one)).unwrap_or(b'?'));
            line.into_iter().chain(rest).collect()
        })
}
