//! One HTTP/1.1 message out of a run of bytes, and where in the run each byte of its body lay.
//!
//! Written for the tests alone, strict and simple: the engine and the proxy are expected to be right, and what is not
//! understood fails the test.

use std::fmt;
use std::ops::Range;

/// A whole message.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Request line or status line.
    pub(crate) start: String,
    /// Names in lower case, values without white space around them, in the order they came.
    pub(crate) fields: Vec<(String, String)>,
    /// Without chunk framing.
    pub(crate) body: Vec<u8>,
    /// Where the body's pieces lay in the run of bytes, in order.
    pub(crate) pieces: Vec<Range<usize>>,
    /// Bytes from the head's first to the message's last.
    pub(crate) length: usize,
    /// Its framing says that it is whole.
    pub(crate) whole: bool,
}

/// What a message is the answer to, since that decides whether it has a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request: without a length it has no body.
    Request,
    /// An answer: without a length its body ends with the connection.
    Answer,
}

impl Message {
    /// Reads as much of a message as `bytes` hold; `None` until its head is whole.
    pub(crate) fn read(bytes: &[u8], kind: Kind) -> Option<Self> {
        let head_end = find(bytes, b"\r\n\r\n")? + 4;
        let head = std::str::from_utf8(&bytes[..head_end]).expect("a head is text");
        let mut lines = head.trim_end().split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let fields = lines.map(field).collect();
        let mut message = Self {
            start,
            fields,
            body: Vec::new(),
            pieces: Vec::new(),
            length: head_end,
            whole: false,
        };
        match (
            message.field("transfer-encoding"),
            message.field("content-length"),
        ) {
            (Some("chunked"), None) => message.read_chunks(bytes),
            (None, Some(length)) => {
                let length: usize = length.parse().expect("a content-length is a number");
                message.read_piece(bytes, length);
                message.whole = message.body.len() == length;
            }
            (None, None) if kind == Kind::Request || message.has_no_body() => message.whole = true,
            (None, None) => message.read_piece(bytes, usize::MAX),
            framing => panic!("framing {framing:?} in {:?}", message.start),
        }
        Some(message)
    }

    /// All messages of a connection, in order.
    pub(crate) fn read_all(mut bytes: &[u8], kind: Kind) -> Vec<Self> {
        let mut messages = Vec::new();
        while let Some(message) = Self::read(bytes, kind) {
            bytes = &bytes[message.length..];
            messages.push(message);
        }
        messages
    }

    /// The value of a field that comes once.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The code of a status line.
    pub(crate) fn status(&self) -> u16 {
        self.start
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .expect("a status line has a code")
    }

    /// Where in the run of bytes the body's first `count` bytes were complete.
    pub(crate) fn end_of(&self, count: usize) -> usize {
        let mut left = count;
        for piece in &self.pieces {
            if left <= piece.len() {
                return piece.start + left;
            }
            left -= piece.len();
        }
        panic!("the body has no {count} bytes");
    }

    fn has_no_body(&self) -> bool {
        matches!(self.status(), 100..=199 | 204 | 304)
    }

    fn read_piece(&mut self, bytes: &[u8], length: usize) {
        let end = self.length.saturating_add(length).min(bytes.len());
        self.body.extend_from_slice(&bytes[self.length..end]);
        self.pieces.push(self.length..end);
        self.length = end;
    }

    fn read_chunks(&mut self, bytes: &[u8]) {
        while let Some(line) = find(&bytes[self.length..], b"\r\n") {
            let size = std::str::from_utf8(&bytes[self.length..self.length + line])
                .expect("a chunk's size is text");
            let size =
                usize::from_str_radix(size, 16).unwrap_or_else(|_| panic!("chunk size {size:?}"));
            let after_line = self.length + line + 2;
            if bytes.len() < after_line + size + 2 {
                self.read_open_chunk(bytes, after_line, size);
                return;
            }
            self.length = after_line;
            if size > 0 {
                self.read_piece(bytes, size);
            }
            assert_eq!(
                &bytes[self.length..self.length + 2],
                b"\r\n",
                "after a chunk of {size}"
            );
            self.length += 2;
            self.whole = size == 0;
            if self.whole {
                return;
            }
        }
    }

    /// The part that is there of a chunk that is not whole.
    fn read_open_chunk(&mut self, bytes: &[u8], start: usize, size: usize) {
        self.length = start.min(bytes.len());
        self.read_piece(bytes, size);
    }
}

impl fmt::Debug for Message {
    /// Without the body: a failed test shows dozens of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = if self.whole { "whole" } else { "cut" };
        write!(
            f,
            "{:?} with {} bytes of body, {whole}",
            self.start,
            self.body.len()
        )
    }
}

fn field(line: &str) -> (String, String) {
    let (name, value) = line
        .split_once(':')
        .unwrap_or_else(|| panic!("field line {line:?}"));
    (name.to_ascii_lowercase(), value.trim().to_owned())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}
