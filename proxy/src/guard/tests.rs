//! The guard against a table of its rules, against a second reading of them, and against parsers of other minds.

#[path = "../../tests/support/any_request.rs"]
mod any_request;
#[expect(
    dead_code,
    reason = "the other fields are for tests that send the cases"
)]
#[path = "../../tests/support/cases.rs"]
mod cases;
mod lenient;
#[path = "../../tests/support/mutation.rs"]
mod mutation;
#[path = "../../tests/support/reading.rs"]
mod reading;

use super::*;
use any_request::{LIMITS, check, check_input, show};
use proptest::prelude::*;

/// The fault of `text`.
fn fault(text: &[u8]) -> Option<Fault> {
    show([text]).fault
}

/// A request of HTTP/1.1 with `fields` besides its host.
fn with(fields: &str) -> Vec<u8> {
    format!("POST /echo HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n").into_bytes()
}

/// A chunked body behind a sound head.
fn chunked(body: &str) -> Vec<u8> {
    [&with("Transfer-Encoding: chunked"), body.as_bytes()].concat()
}

#[test]
fn fault_38_request_lines() {
    let of = |line: &str| fault(format!("{line}\r\nHost: a\r\n\r\n").as_bytes());
    for sound in [
        "GET / HTTP/1.1",
        "GET / HTTP/1.0",
        "PATCH /a?b=c&d=%20 HTTP/1.1",
        "M-SEARCH //x HTTP/1.1",
        "GET http://a/x HTTP/1.1",
        "GET HTTPS://A?x HTTP/1.1",
        "GET http://a HTTP/1.1",
        "GET /\u{e9} HTTP/1.1",
        "connect /x HTTP/1.1",
    ] {
        assert_eq!(of(sound), None, "{sound}");
    }
    for (line, expected) in [
        ("GET /", Fault::RequestLine),
        ("GET / HTTP/1.1 ", Fault::Target),
        ("GET / http/1.1", Fault::RequestLine),
        ("GET / HTTP/1.10", Fault::RequestLine),
        ("GET / HTTP/2.0", Fault::Version),
        ("GET / HTTP/1.2", Fault::Version),
        (" GET / HTTP/1.1", Fault::RequestLine),
        ("G\"T / HTTP/1.1", Fault::Method),
        ("CONNECT a:80 HTTP/1.1", Fault::MethodRefused),
        ("TRACE / HTTP/1.1", Fault::MethodRefused),
        ("GET  / HTTP/1.1", Fault::Target),
        ("GET /a b HTTP/1.1", Fault::Target),
        ("GET /\t HTTP/1.1", Fault::Target),
        ("GET /\x7f HTTP/1.1", Fault::Target),
        ("GET /a#b HTTP/1.1", Fault::Target),
        ("GET * HTTP/1.1", Fault::Target),
        ("GET a:80 HTTP/1.1", Fault::Target),
        ("GET ftp://a/ HTTP/1.1", Fault::Target),
        ("GET http://b/ HTTP/1.1", Fault::Authority),
        ("GET http://u@a/ HTTP/1.1", Fault::Authority),
        ("GET http:///x HTTP/1.1", Fault::Authority),
        ("PRI * HTTP/2.0", Fault::Target),
    ] {
        assert_eq!(of(line), Some(expected), "{line}");
    }
    assert_eq!(
        fault(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"),
        Some(Fault::Target),
        "no UTF-8"
    );
}

#[test]
fn what_speaks_something_else_is_told_at_its_first_byte() {
    assert_eq!(fault(b"\x16"), Some(Fault::RequestLine));
    assert_eq!(fault(b"\n"), Some(Fault::RequestLine));
    assert_eq!(fault(b"\r\n\r"), Some(Fault::RequestLine));
    assert_eq!(fault(b"\rG"), Some(Fault::RequestLine));
}

#[test]
fn fields_that_are_well_formed() {
    for sound in [
        "Content-Length: 0",
        "Content-Length: 0000000000000000000",
        "Content-Length:\t 0 \t",
        "transfer-encoding: CHUNKED",
        "X: ",
        "X:",
        "x_y: \u{e9}\ta",
        "Expect: 100-Continue",
        "Connection: close, , Upgrade,keep-alive\r\nConnection: HTTP2-Settings, x-anything",
        "Upgrade: h2c\r\nUpgrade: x",
        "Content_Encoding: x",
    ] {
        assert_eq!(fault(&with(sound)), None, "{sound}");
    }
}

#[test]
fn fields_at_fault() {
    for (fields, expected) in [
        ("X", Fault::FieldLine),
        ("X : y", Fault::FieldLine),
        (": y", Fault::FieldLine),
        ("X: y\r\n z", Fault::FieldLine),
        ("X: y\r\n\tz: 1", Fault::FieldLine),
        ("X: a\rb", Fault::FieldValue),
        ("X: a\0", Fault::FieldValue),
        ("X: \x0bchunked", Fault::FieldValue),
        ("X: a\nY: b", Fault::LineEnd),
        ("host: a", Fault::HostCount),
        ("Content-Length: ", Fault::Length),
        ("Content-Length: +1", Fault::Length),
        ("Content-Length: 1 1", Fault::Length),
        ("Content-Length: 1,1", Fault::Length),
        ("Content-Length: 18446744073709551615", Fault::Length),
        ("Content-Length: 1\r\ncontent-length: 1", Fault::Length),
        ("Content_Length: 1", Fault::FramingAlias),
        ("Transfer_encoding: chunked", Fault::FramingAlias),
        ("Transfer-Encoding: identity", Fault::Coding),
        ("Transfer-Encoding: chunked, identity", Fault::Coding),
        ("Transfer-Encoding: ,chunked", Fault::Coding),
        ("Transfer-Encoding: chunked, chunked", Fault::Coding),
        ("Transfer-Encoding: gzip;q=1, chunked", Fault::Coding),
        ("Transfer-Encoding: gzip, chunked", Fault::UnknownCoding),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            Fault::Coding,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 1",
            Fault::Coding,
        ),
        ("Expect: 200-maybe", Fault::Expectation),
        ("Expect:", Fault::Expectation),
        (
            "Expect: 100-continue\r\nExpect: 100-continue",
            Fault::Expectation,
        ),
        ("Connection: a b", Fault::Options),
        (
            "Connection: a,b,c,d,e,f\r\nConnection: g,h,i,j,k",
            Fault::Options,
        ),
        ("Connection: Authorization", Fault::Nominated),
        ("Connection: close, content_type", Fault::Nominated),
        ("Connection: x-forwarded-for", Fault::Nominated),
        ("Connection: accept", Fault::Nominated),
        ("Connection: transfer-encoding", Fault::Nominated),
    ] {
        assert_eq!(fault(&with(fields)), Some(expected), "{fields}");
    }
}

#[test]
fn hosts() {
    let of = |value: &str| fault(format!("GET / HTTP/1.1\r\nHost: {value}\r\n\r\n").as_bytes());
    for sound in [
        "a",
        "a:80",
        "a:",
        "127.0.0.1:8000",
        "[::1]",
        "[::1]:80",
        "",
        "a_b.%41",
    ] {
        assert_eq!(of(sound), None, "{sound}");
    }
    for bad in [
        "u@a", "a b", "a,b", "a:b", "a:80:80", ":80", "[::1", "[]", "[::1]80", "a/b", "a?b",
    ] {
        assert_eq!(of(bad), Some(Fault::Host), "{bad}");
    }
    let none =
        |version: &str, target: &str| fault(format!("GET {target} {version}\r\n\r\n").as_bytes());
    assert_eq!(none("HTTP/1.1", "/"), Some(Fault::HostCount));
    assert_eq!(none("HTTP/1.0", "/"), None);
    assert_eq!(none("HTTP/1.0", "http://a/"), Some(Fault::Authority));
}

#[test]
fn a_coding_belongs_to_http_1_1() {
    let request = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(fault(request), Some(Fault::Coding));
}

#[test]
fn chunks() {
    for sound in [
        "3\r\nabc\r\n0\r\n\r\n",
        "0000000000000003\r\nabc\r\n00\r\n\r\n",
        "3;a=b\r\nabc\r\n0 ;c\r\nX-T: 1\r\n\r\n",
        "1f\r\n0123456789012345678901234567890\r\n0\r\n\r\n",
    ] {
        let bytes = chunked(sound);
        let seen = show([&bytes[..]]);
        assert_eq!(
            (seen.fault, &seen.ends[..]),
            (None, &[bytes.len()][..]),
            "{sound}"
        );
    }
    for (body, expected) in [
        ("\r\nabc\r\n", Fault::ChunkSize),
        ("0x3\r\n", Fault::ChunkExtension),
        ("+3\r\n", Fault::ChunkSize),
        (" 3\r\n", Fault::ChunkSize),
        ("3 \r\n", Fault::ChunkExtension),
        ("0_3\r\n", Fault::ChunkExtension),
        ("10000000000000003\r\n", Fault::ChunkSize),
        ("3;a\0\r\n", Fault::ChunkExtension),
        ("3;a\rb\r\n", Fault::ChunkExtension),
        ("3;a\nxx\r\n", Fault::LineEnd),
        ("3\n", Fault::LineEnd),
        ("3\r\nabc\n", Fault::ChunkEnd),
        ("3\r\nabcX", Fault::ChunkEnd),
        ("3\r\nabc\rX", Fault::ChunkEnd),
        ("0\r\nContent-Length: 5\r\n\r\n", Fault::TrailerField),
        ("0\r\ncontent_type: 5\r\n\r\n", Fault::TrailerField),
        ("0\r\nX-Forwarded-For: 5\r\n\r\n", Fault::TrailerField),
        ("0\r\nTrailer: a\r\n\r\n", Fault::TrailerField),
        ("0\r\nGET / HTTP/1.1\r\n\r\n", Fault::FieldLine),
        ("0\r\nX: a\nY: b\r\n\r\n", Fault::LineEnd),
        ("0\r\n\n", Fault::LineEnd),
    ] {
        assert_eq!(fault(&chunked(body)), Some(expected), "{body}");
    }
}

#[test]
fn limits_are_exact() {
    let head = |bytes: usize| {
        let rest = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
        format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
            "a".repeat(bytes - rest)
        )
        .into_bytes()
    };
    assert_eq!(fault(&head(LIMITS.head_bytes)), None);
    let too_large = Some(Fault::HeadTooLarge(LIMITS.head_bytes));
    assert_eq!(fault(&head(LIMITS.head_bytes + 1)), too_large);
    assert_eq!(fault(&head(900_000)[..LIMITS.head_bytes]), too_large);
    assert_eq!(fault(&head(900_000)[..LIMITS.head_bytes - 1]), None);

    let fields = |count: usize| with("X: y\r\n".repeat(count - 1).trim_end());
    assert_eq!(fault(&fields(LIMITS.head_fields)), None);
    let too_many = Some(Fault::TooManyFields(LIMITS.head_fields));
    assert_eq!(fault(&fields(LIMITS.head_fields + 1)), too_many);

    let line = |bytes: usize| chunked(&format!("3;{}\r\n", "a".repeat(bytes - 4)));
    assert_eq!(fault(&line(1024)), None);
    assert_eq!(fault(&line(1025)), Some(Fault::ChunkLineTooLong));
    let extended =
        |times: usize| chunked(&format!("1;{}\r\nx\r\n", "a".repeat(1019)).repeat(times));
    assert_eq!(fault(&extended(15)), None);
    assert_eq!(fault(&extended(16)), Some(Fault::ChunkLineTooLong));

    let trailers = |bytes: usize| chunked(&format!("0\r\nX: {}\r\n\r\n", "a".repeat(bytes - 7)));
    assert_eq!(fault(&trailers(8 * 1024)), None);
    let too_large = Some(Fault::TrailersTooLarge);
    assert_eq!(fault(&trailers(8 * 1024 + 1)), too_large);
    let trailers = |count: usize| chunked(&format!("0\r\n{}\r\n", "X: y\r\n".repeat(count)));
    assert_eq!(fault(&trailers(LIMITS.head_fields)), None);
    assert_eq!(fault(&trailers(LIMITS.head_fields + 1)), too_large);
}

#[test]
fn data_pass_as_they_come_and_the_rest_when_it_is_whole() {
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut guard = Guard::new(LIMITS);
    assert_eq!(guard.admit(&head[..head.len() - 1]).take, 0);
    assert_eq!(guard.admit(head).take, head.len());
    for (shown, take) in [
        (&b"6"[..], 0),
        (b"6\r", 0),
        (b"6\r\nab", 5),
        (b"cd", 2),
        (b"ef\r", 2),
        (b"\r\n0\r\n", 5),
        (b"X: y\r\n", 0),
        (b"X: y\r\n\r\nGET", 8),
    ] {
        assert_eq!(
            guard.admit(shown),
            Admitted {
                take,
                ..Admitted::default()
            }
        );
    }
    assert!(guard.between_requests());
}

#[test]
fn an_upgrade_is_told_with_the_length_of_its_head() {
    let head = with("Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 8");
    let request = [&head[..], b"upgrade:"].concat();
    let admitted = Guard::new(LIMITS).admit(&request);
    assert_eq!(
        (admitted.take, admitted.upgrade),
        (request.len(), Some(head.len()))
    );
}

#[test]
fn every_code_is_declared() {
    for bytes in cases::all().iter().map(cases::Case::bytes) {
        if let Some(fault) = fault(&bytes) {
            assert!(Fault::CODES.contains(&fault.code()), "{fault:?}");
        }
    }
}

/// What the fuzzer kept: an input for each way through the guard that it found, and each that once went wrong.
#[test]
fn what_the_fuzzer_kept_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/requests");
    let mut kept = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check_input(&std::fs::read(entry.unwrap().path()).unwrap());
        kept += 1;
    }
    assert!(kept > 100, "{kept} inputs are there");
}

fn cut<'a>(bytes: &'a [u8], at: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = at
        .iter()
        .map(|index| index.index(bytes.len() + 1))
        .collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn how_bytes_are_split_decides_nothing(
        bytes in mutation::mutated(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let whole = show([&bytes[..]]);
        prop_assert_eq!(&show(cut(&bytes, &cuts)), &whole);
        prop_assert_eq!(&show(bytes.chunks(1)), &whole);
    }

    #[test]
    fn what_goes_on_has_no_fault_and_means_the_same_to_every_parser(bytes in mutation::mutated()) {
        check(&bytes);
    }

    #[test]
    fn any_bytes_are_taken_in(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
        check(&[&chunked("")[..], &bytes[..]].concat());
    }
}
