//! Requests that are a little wrong, or wrong in two places at once.

use super::cases;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Longest request that is worth changing, in bytes.
const LONGEST: usize = 400;

/// Lines that decide what a message is, or look as if they did.
const LINES: &[&str] = &[
    "Content-Length: 3\r\n",
    "Content-Length: 35\r\n",
    "Content-Length: 03\r\n",
    "Content-Length: 3, 3\r\n",
    "content_length: 35\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer_Encoding: chunked\r\n",
    "Host: b\r\n",
    "Connection: close\r\n",
    "Connection: x-a, content-length\r\n",
    "Expect: 100-continue\r\n",
    "Trailer: X-T\r\n",
    " Content-Length: 35\r\n",
    "\r\n",
    "0\r\n",
    "3\r\nabc\r\n",
    "3;x=y\r\nabc\r\n",
    "X-T: 1\r\n",
    "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
];

/// Bytes that one parser skips and another does not.
const BYTES: &[u8] = b"\r\n \t\0\x0b\x7f\x80\xff:;,_-+/?#%\"0aX";

/// Requests as clients send them.
const SOUND: &[&str] = &[
    "POST /v1/chat/completions HTTP/1.1\r\nHost: front.test:8000\r\nContent-Type: application/json\r\nAuthorization: \
     Bearer k\r\nContent-Length: 15\r\n\r\n{\"stream\":true}",
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5;a\r\nhello\r\n1A\r\n\
     abcdefghijklmnopqrstuvwxyz\r\n0\r\nX-T: 1\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET http://a/echo?x=1 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n\r\n\
     POST /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
];

#[derive(Debug, Clone)]
enum Change {
    Insert(Index, u8),
    Replace(Index, u8),
    Remove(Index),
    /// Takes the CR or the LF from a line end.
    Unpair(Index, u8),
    /// Writes a line a second time, further down.
    Repeat(Index, Index),
    Swap(Index, Index),
    Add(Index, &'static str),
}

/// A request of the fixture or a sound one, changed in up to three places.
pub(crate) fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let written = cases::all().into_iter().map(|case| case.bytes());
    let sound = SOUND.iter().map(|text| text.as_bytes().to_vec());
    let bases: Vec<Vec<u8>> = written
        .chain(sound)
        .filter(|bytes| bytes.len() <= LONGEST)
        .collect();
    (select(bases), prop::collection::vec(change(), 0..4)).prop_map(|(mut bytes, changes)| {
        for change in &changes {
            apply(&mut bytes, change);
        }
        bytes
    })
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    let byte = || select(BYTES.to_vec());
    prop_oneof![
        (at(), byte()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        (at(), byte()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        at().prop_map(Change::Remove),
        (at(), select(vec![b'\r', b'\n'])).prop_map(|(at, byte)| Change::Unpair(at, byte)),
        (at(), at()).prop_map(|(line, to)| Change::Repeat(line, to)),
        (at(), at()).prop_map(|(one, other)| Change::Swap(one, other)),
        (at(), select(LINES.to_vec())).prop_map(|(at, line)| Change::Add(at, line)),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    match change {
        Change::Insert(at, byte) => bytes.insert(at.index(bytes.len() + 1), *byte),
        Change::Replace(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Change::Remove(at) => {
            bytes.remove(at.index(bytes.len()));
        }
        Change::Unpair(at, byte) => {
            let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == *byte).collect();
            if !places.is_empty() {
                bytes.remove(*at.get(&places));
            }
        }
        Change::Repeat(line, to) => {
            let mut lines = lines(bytes);
            let line = line.get(&lines).clone();
            lines.insert(to.index(lines.len() + 1), line);
            *bytes = lines.concat();
        }
        Change::Swap(one, other) => {
            let mut lines = lines(bytes);
            let (one, other) = (one.index(lines.len()), other.index(lines.len()));
            lines.swap(one, other);
            *bytes = lines.concat();
        }
        Change::Add(at, line) => {
            let mut lines = lines(bytes);
            lines.insert(at.index(lines.len() + 1), line.as_bytes().to_vec());
            *bytes = lines.concat();
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect()
}
