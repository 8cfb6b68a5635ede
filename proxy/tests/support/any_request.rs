//! What holds for any bytes that are taken for the requests of one connection.
//!
//! It panics where something doesn't hold. The fuzz target runs it on what a fuzzer makes up, the guard's own tests on
//! requests that are sound, damaged, or were kept by the fuzzer. An input is two bytes and the requests: the length of a
//! read, and where they are cut. Beside this module whoever includes it has the guard, [`reading`] and [`lenient`].

use super::lenient::{self, Lenience};
use super::reading::{self, Request, Rest};
use super::{Admitted, Fault, Guard, GuardLimits};

pub(crate) const LIMITS: GuardLimits = GuardLimits {
    head_bytes: 32 * 1024,
    head_fields: 100,
};

/// What became of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Where each whole request ended.
    pub(crate) ends: Vec<usize>,
    /// Bytes that went on.
    pub(crate) admitted: usize,
    pub(crate) fault: Option<Fault>,
}

/// Shows `pieces` to a guard as its owner does: what was not taken is shown again with more behind it.
pub(crate) fn show<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Seen {
    let mut guard = Guard::new(LIMITS);
    let mut waiting = Vec::new();
    let mut seen = Seen {
        ends: Vec::new(),
        admitted: 0,
        fault: None,
    };
    for piece in pieces {
        waiting.extend_from_slice(piece);
        loop {
            let began = guard.between_requests();
            let Admitted { take, fault, .. } = guard.admit(&waiting);
            assert!(take <= waiting.len());
            assert!(!(fault.is_some() && began && take > 0 && guard.between_requests()));
            waiting.drain(..take);
            seen.admitted += take;
            if take > 0 && guard.between_requests() {
                seen.ends.push(seen.admitted);
            }
            if fault.is_some() {
                seen.fault = fault;
                return seen;
            }
            if take == 0 {
                break;
            }
        }
    }
    seen
}

/// Takes an input apart and checks it.
pub(crate) fn check_input(data: &[u8]) {
    let [size, cut, bytes @ ..] = data else {
        return;
    };
    let size = usize::from(*size).max(1);
    let (begin, rest) = bytes.split_at(bytes.len() * usize::from(*cut) / 256);
    assert_eq!(show(bytes.chunks(size)), show([bytes]), "no cut decides");
    assert_eq!(show([begin, rest]), show([bytes]), "no cut decides");
    check(bytes);
}

/// What goes on is free of faults, and means the same to every parser; what is at fault does not.
pub(crate) fn check(bytes: &[u8]) {
    let seen = show([bytes]);
    let (requests, rest) = reading::read_all(bytes);
    let ends: Vec<usize> = requests.iter().map(|request| request.end).collect();
    assert_eq!(seen.ends, ends, "a second reading finds the same requests");
    let refused = rest == Rest::Refused;
    assert_eq!(seen.fault.is_some(), refused, "{:?}", seen.fault);

    let (again, rest) = reading::read_all(&bytes[..seen.admitted]);
    assert_eq!(again, requests, "all that is whole went on");
    assert_eq!(rest, Rest::Open, "no fault went on");
    let whole = &bytes[..ends.last().copied().unwrap_or(0)];
    let begun = &bytes[whole.len()..seen.admitted];
    let head = begun.windows(4).any(|window| window == b"\r\n\r\n");
    assert!(begun.is_empty() || head, "no part of a head went on");

    for lenience in Lenience::ALL {
        assert_eq!(lenient::read_all(whole, lenience), requests, "{lenience:?}");
    }
    assert_eq!(by_httparse(whole), requests, "as hyper's parser reads it");
}

/// Reads whole requests with the parser that the server behind the guard has.
fn by_httparse(bytes: &[u8]) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let mut fields = [httparse::EMPTY_HEADER; LIMITS.head_fields];
        let mut head = httparse::Request::new(&mut fields);
        at += complete(head.parse(&bytes[at..]).expect("a head"));
        let value = |name: &str| {
            let is = |field: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(name);
            let field = head.headers.iter().find(is)?;
            Some(std::str::from_utf8(field.value).expect("framing is text"))
        };
        let length = value("content-length").map(|text| text.parse().expect("a length"));
        let body = match value("transfer-encoding") {
            Some(_) => chunks(bytes, &mut at),
            None => take(bytes, &mut at, length.unwrap_or(0)).to_vec(),
        };
        let target = head.path.expect("a whole head has a target");
        requests.push(Request {
            method: head.method.expect("and a method").to_owned(),
            // The readings take bytes for characters.
            target: target.bytes().map(char::from).collect(),
            body,
            end: at,
        });
    }
    requests
}

fn chunks(bytes: &[u8], at: &mut usize) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = httparse::parse_chunk_size(&bytes[*at..]).expect("a chunk's line");
        let (line, size) = complete(line);
        *at += line;
        if size == 0 {
            let mut trailers = [httparse::EMPTY_HEADER; LIMITS.head_fields];
            let end = httparse::parse_headers(&bytes[*at..], &mut trailers);
            *at += complete(end.expect("trailers")).0;
            return body;
        }
        let size = usize::try_from(size).expect("a chunk that is there");
        body.extend_from_slice(take(bytes, at, size));
        assert_eq!(take(bytes, at, 2), b"\r\n");
    }
}

fn take<'a>(bytes: &'a [u8], at: &mut usize, length: usize) -> &'a [u8] {
    let start = *at;
    *at += length;
    &bytes[start..*at]
}

fn complete<T>(parsed: httparse::Status<T>) -> T {
    match parsed {
        httparse::Status::Complete(parsed) => parsed,
        httparse::Status::Partial => panic!("what was admitted as whole is whole"),
    }
}
