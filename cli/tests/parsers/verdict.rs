//! When two readings are the same, and which requests a parser may refuse.

use crate::Seen;
use crate::cases::{Case, Expect, Forwarded};
use crate::reading::{self, Rest};
use crate::report::{Meaning, Report};
use crate::server::{Kind, Server};

/// A question that the proxy asks about the engine, beside the traffic.
pub(crate) fn is_of_the_proxy(report: &Report) -> bool {
    report.field("user-agent") == Some("loadproof")
}

/// A case of the fixture went as it says.
pub(crate) fn as_stated(case: &Case, server: &Server, seen: &Seen) {
    let context = format!("{} by {:?}: {seen:?}", case.id, server.kind);
    match &case.expect {
        Expect::Refuse { status, also, .. } => {
            assert!(seen.reports.is_empty(), "{context}");
            match seen.statuses[..] {
                [got] => assert!(got == *status || also.contains(&got.into()), "{context}"),
                [] => assert!(also.contains(&"closed".into()), "{context}"),
                _ => panic!("{context}"),
            }
        }
        Expect::Deliver {
            forward,
            forward_optional,
            ..
        } => {
            let complete = |all: &[Forwarded]| -> Vec<Meaning> {
                let complete = all.iter().filter(|request| request.complete);
                complete.map(|request| stated(request).meaning()).collect()
            };
            let (must, may) = (complete(forward), complete(forward_optional));
            let got: Vec<Meaning> = seen.reports.iter().map(Report::meaning).collect();
            let all = [&must[..], &may[..]].concat();
            assert!(
                got.len() >= must.len() && all.starts_with(&got),
                "{context}"
            );
            assert!(
                seen.statuses.iter().all(|status| *status == 200),
                "{context}"
            );
        }
    }
}

fn stated(request: &Forwarded) -> Report {
    Report {
        method: request.method.clone(),
        target: request.target.clone(),
        fields: request.headers.clone(),
        body: request.body.clone(),
        connection: String::new(),
    }
}

/// What was forwarded is what the rules read in the bytes: nothing else, and no more of it.
pub(crate) fn as_meant(bytes: &[u8], seen: &Seen) {
    let (requests, rest) = reading::read_all(bytes);
    let context = format!("{}: {seen:?}", bytes.escape_ascii());
    assert!(seen.reports.len() <= requests.len(), "{context}");
    // A client that asks for the connection's end gets it after the answer, and what it sent behind that is nobody's.
    assert!(requests.is_empty() || !seen.reports.is_empty(), "{context}");
    for (got, meant) in seen.reports.iter().zip(&requests) {
        let body: String = meant.body.iter().map(|byte| char::from(*byte)).collect();
        assert_eq!(
            (&got.method, &got.body),
            (&meant.method, &body),
            "{context}"
        );
        // An absolute address without a path goes on with one.
        let end = got.target.strip_prefix('/').unwrap_or(&got.target);
        let is_path = got.target.starts_with('/');
        assert!(is_path && meant.target.ends_with(end), "{context}");
    }
    if requests.is_empty() && rest == Rest::Refused {
        assert!(matches!(seen.statuses[..], [400..=505]), "{context}");
    }
}

/// A server read what the sink read, request for request. One that it refused instead is of a kind that it may refuse, and
/// the client was told; with such an answer the client's connection may end, and with it what was pipelined.
pub(crate) fn same(
    server: &Server,
    sink: &Server,
    literal: &Seen,
    seen: &Seen,
) -> Result<(), String> {
    let mut got = seen.reports.iter().map(Report::meaning).peekable();
    let mut refused = false;
    for report in &literal.reports {
        let mut meant = report.meaning();
        if meant.host == sink.address.to_string() {
            meant.host = server.address.to_string();
        }
        if got.peek() == Some(&meant) {
            got.next();
        } else if may_refuse(server.kind, &meant) {
            refused = true;
        } else if !refused || got.peek().is_some() {
            return Err(format!(
                "meant {meant:?}\n  read  {:?}, answers {:?}",
                got.peek(),
                seen.statuses
            ));
        }
    }
    if let Some(more) = got.next() {
        return Err(format!("read besides {more:?}"));
    }
    let as_told = if refused {
        seen.statuses.iter().any(|status| *status >= 400)
    } else {
        seen.statuses == literal.statuses
    };
    if as_told {
        Ok(())
    } else {
        Err(format!("refused: {refused}, answers {:?}", seen.statuses))
    }
}

/// Stricter than the rules, or unable: nobody is misled by an answer of 400.
fn may_refuse(kind: Kind, meant: &Meaning) -> bool {
    let is_plain = meant.target.is_ascii();
    match kind {
        Kind::Sink => false,
        Kind::Nginx => {
            let is_method = |one: char| one.is_ascii_uppercase() || "_-".contains(one);
            let path = meant.target.split('?').next().unwrap_or_default();
            meant.host.is_empty()
                || !meant.method.chars().all(is_method)
                || !is_escaped(path)
                || climbs(path)
                || NGINX_ONCE.iter().any(|name| repeats(meant, name))
        }
        // The first is the beginning of HTTP/2's preface.
        Kind::Haproxy => meant.method == "PRI" || !is_plain,
        Kind::H11 => !is_plain,
        Kind::Httptools | Kind::Node => !LLHTTP.contains(&&*meant.method) || !is_plain,
    }
}

/// Fields of this test's cases that nginx takes once.
const NGINX_ONCE: [&str; 2] = ["authorization", "if-none-match"];

fn repeats(meant: &Meaning, name: &str) -> bool {
    let of_it = meant.fields.iter().filter(|(known, _)| known == name);
    of_it.count() > 1
}

/// Methods of this test's cases that llhttp has in its list; it knows no others.
const LLHTTP: [&str; 8] = [
    "DELETE", "GET", "HEAD", "M-SEARCH", "OPTIONS", "PATCH", "POST", "PUT",
];

/// Each `%` is followed by two hexadecimal digits that are not both zero.
fn is_escaped(path: &str) -> bool {
    path.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit) && digits != b"00")
    })
}

/// It leaves the root by `..`, which may be escaped.
fn climbs(path: &str) -> bool {
    let mut depth = 0_usize;
    for segment in path.to_ascii_lowercase().replace("%2e", ".").split('/') {
        match segment {
            "" | "." => {}
            ".." if depth == 0 => return true,
            ".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}
