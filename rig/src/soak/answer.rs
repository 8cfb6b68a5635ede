//! An answer of HTTP/1 as its bytes come: where it ends, and what its status is. Interim answers are skipped.

use std::ops::Range;

/// What has come so far.
#[derive(Debug, Default)]
pub(super) struct Answer {
    bytes: Vec<u8>,
    head: Option<Head>,
    /// Where the next chunk begins.
    chunk: usize,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    /// Where the body begins.
    body: usize,
    framing: Framing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunks,
    Close,
}

impl Answer {
    /// Takes bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.head.is_none() {
            self.head = head(&self.bytes);
            self.chunk = self.head.map_or(0, |head| head.body);
        }
    }

    /// Its status, once the head has come.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.map(|head| head.status)
    }

    /// Whether its connection may be used again.
    pub(super) fn keeps(&self) -> bool {
        let head = self.head.and_then(|head| self.bytes.get(..head.body));
        head.is_some_and(|head| find(&head.to_ascii_lowercase(), b"connection: close").is_none())
    }

    /// Whether the interim answer has come that asks for the body.
    pub(super) fn continues(&self) -> bool {
        self.bytes.starts_with(b"HTTP/1.1 100 ")
    }

    /// Events that have begun.
    pub(super) fn events(&self) -> usize {
        let found = self.bytes.windows(6);
        found.filter(|window| *window == b"data: ").count()
    }

    /// Whether only the close ends it.
    pub(super) fn ends_by_close(&self) -> bool {
        self.head.is_some_and(|head| head.framing == Framing::Close)
    }

    /// Where it ends, if its end has come: what lies beyond belongs to the next.
    pub(super) fn end(&mut self) -> Option<usize> {
        let head = self.head?;
        match head.framing {
            Framing::Close => None,
            Framing::Length(length) => {
                let end = head.body + length;
                (self.bytes.len() >= end).then_some(end)
            }
            Framing::Chunks => self.last_chunk(),
        }
    }

    /// What came after its end, as the beginning of the next.
    pub(super) fn next(&mut self) -> Option<Self> {
        let end = self.end()?;
        let mut next = Self::default();
        next.push(&self.bytes.split_off(end));
        Some(next)
    }

    fn last_chunk(&mut self) -> Option<usize> {
        loop {
            let rest = self.bytes.get(self.chunk..)?;
            let line = find(rest, b"\r\n")?;
            let size = std::str::from_utf8(&rest[..line]).ok()?;
            let size = usize::from_str_radix(size, 16).ok()?;
            let next = self.chunk + line + 2 + size + 2;
            if self.bytes.len() < next {
                return None;
            }
            if size == 0 {
                return Some(next);
            }
            self.chunk = next;
        }
    }
}

fn head(bytes: &[u8]) -> Option<Head> {
    let Range { start, end } = final_head(bytes)?;
    let text = std::str::from_utf8(&bytes[start..end])
        .ok()?
        .to_ascii_lowercase();
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let framing = match length {
        Some(length) => Framing::Length(length),
        None if text.contains("transfer-encoding: chunked") => Framing::Chunks,
        None => Framing::Close,
    };
    Some(Head {
        status,
        body: end,
        framing,
    })
}

fn final_head(bytes: &[u8]) -> Option<Range<usize>> {
    let mut start = 0;
    loop {
        let end = start + find(&bytes[start..], b"\r\n\r\n")? + 4;
        if !bytes[start..].starts_with(b"HTTP/1.1 1") {
            return Some(start..end);
        }
        start = end;
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_where_its_framing_says() {
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata: \r\n0\r\n\r\n";
        let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{chunked}");
        let length = "HTTP/1.1 429 Too Many\r\nContent-Length: 2\r\nconnection: close\r\n\r\n{}";
        for (text, status, keeps) in [
            (chunked, 200, true),
            (&interim, 200, true),
            (length, 429, false),
        ] {
            let mut answer = Answer::default();
            for byte in text.as_bytes() {
                assert_eq!(answer.end(), None, "{text}");
                answer.push(&[*byte]);
            }
            assert_eq!(answer.end(), Some(text.len()));
            assert_eq!((answer.status(), answer.keeps()), (Some(status), keeps));
            answer.push(chunked.as_bytes());
            assert!(
                answer
                    .next()
                    .is_some_and(|mut next| next.end() == Some(chunked.len()))
            );
        }
    }

    #[test]
    fn a_cut_answer_has_no_end() {
        let mut answer = Answer::default();
        answer.push(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata: \r\n0\r\n");
        assert_eq!((answer.end(), answer.events()), (None, 1));
        assert!(!answer.ends_by_close());
    }
}
