//! The guard in front of the HTTP/1 parser: no byte of a request goes on before it is known to mean one thing only.
//!
//! loadproof stands between other parsers, and what two of them read differently is a way to smuggle a request past one
//! of them. So requests are checked as bytes, against rules that are stricter than any parser's; and what is odd is refused
//! rather than repaired. A head, a chunk's line and the trailers go on when they are whole and without fault; the data of a
//! body go on as they come, unread.
//!
//! | part | rule | else |
//! | --- | --- | --- |
//! | line ends | CR LF in heads, chunk lines and trailers, and neither byte alone | 400 |
//! | before a head | one empty line is skipped | 400 |
//! | method | a token, not CONNECT or TRACE | 400, 405 |
//! | target | a path, or an absolute address whose authority is the Host field's; nothing that needs percent-encoding | 400 |
//! | version | `HTTP/1.1` or `HTTP/1.0` | 400, 505 |
//! | field line | a token, a colon at once, a value without control bytes; not continued; no framing field's name with `_` for `-` | 400 |
//! | Host | one in HTTP/1.1; a host and a port | 400 |
//! | Content-Length | one line of 1 to 19 digits | 400 |
//! | Transfer-Encoding | one line, `chunked`, in HTTP/1.1, without Content-Length | 400, 501 |
//! | Expect | one line, `100-continue` | 417 |
//! | Connection | at most 10 tokens, none the name of a field meant for the engine | 400 |
//! | head | 32 KiB and 100 fields, or as configured; whole within its time | 431, 408 |
//! | chunk | 1 to 16 hexadecimal digits, perhaps an extension; data of that size, then CR LF | 400 |
//! | trailers | field lines, none of framing, routing, authentication or content | 400 |
//!
//! It is a state machine without sockets and clocks: head, body by length or by chunks, trailers, next head. It keeps no
//! bytes: those that may not go on yet are given to it again, with more behind them. What it decides does not depend on
//! how the bytes were split.
//!
//! Limits: heads by configuration, a chunk's line 1 KiB, the extensions of a body 15 KiB, trailers 8 KiB and as many as
//! fields of a head.

mod chunks;
mod classes;
mod fault;
mod fields;
mod head;
mod lines;

pub(crate) use fault::Fault;

use classes::TOKEN;
use head::Framing;
use lines::{Bounds, Lines, Scan};

/// Most bytes of trailers, their empty line included.
const TRAILER_BYTES: usize = 8 * 1024;

/// Bounds on a head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GuardLimits {
    /// From the method to the empty line, in bytes.
    pub(crate) head_bytes: usize,
    pub(crate) head_fields: usize,
}

/// What may be done with the bytes that were shown to the guard.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// So many of them may go on. The others are to be shown again, first, when more have come.
    pub(crate) take: usize,
    /// Those behind `take` must not go on, nor anything after them.
    pub(crate) fault: Option<Fault>,
    /// Length of the head that `take` begins with, if the request asks for an upgrade.
    pub(crate) upgrade: Option<usize>,
}

/// Reads the requests of one connection.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: GuardLimits,
    state: State,
    /// Bytes of chunk extensions in this body.
    extensions: usize,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Between requests, or within a head.
    Head(Scan),
    /// Bytes of a body that are still to come.
    Length(u64),
    /// Bytes of the line that were looked at.
    ChunkLine(usize),
    /// Bytes of the chunk that are still to come.
    ChunkData(u64),
    /// The CR LF after a chunk's data.
    ChunkEnd,
    Trailers(Scan),
}

/// Bytes that may go on; `None` if more must come first.
type Step = Result<Option<usize>, Fault>;

impl Guard {
    pub(crate) fn new(limits: GuardLimits) -> Self {
        Self {
            limits,
            state: State::Head(Scan::default()),
            extensions: 0,
        }
    }

    /// Whether no byte of the next request was admitted yet.
    pub(crate) fn between_requests(&self) -> bool {
        matches!(self.state, State::Head(_))
    }

    /// Reads on, at most to the end of one request. `bytes` begin with those that were not taken the last time. After a
    /// fault there is nothing more to ask.
    pub(crate) fn admit(&mut self, bytes: &[u8]) -> Admitted {
        let mut admitted = Admitted::default();
        if let State::Head(scan) = self.state {
            match self.head(bytes, scan) {
                Ok(Some((length, upgrade))) => {
                    admitted.take = length;
                    admitted.upgrade = upgrade.then_some(length);
                }
                Ok(None) => return admitted,
                Err(fault) => {
                    admitted.fault = Some(fault);
                    return admitted;
                }
            }
        }
        while !self.between_requests() && admitted.take < bytes.len() {
            match self.body(&bytes[admitted.take..]) {
                Ok(Some(length)) => admitted.take += length,
                Ok(None) => break,
                Err(fault) => {
                    admitted.fault = Some(fault);
                    break;
                }
            }
        }
        admitted
    }

    /// A whole head's length, and whether it asks for an upgrade.
    fn head(&mut self, bytes: &[u8], mut scan: Scan) -> Result<Option<(usize, bool)>, Fault> {
        // One empty line is skipped: old clients send one after a body.
        let (skipped, bytes) = match bytes {
            [] | [b'\r'] => return Ok(None),
            [b'\r', b'\n', rest @ ..] => (2, rest),
            _ => (0, bytes),
        };
        match bytes.first() {
            None => return Ok(None),
            // Whatever else speaks to a wrong port is told so at its first byte.
            Some(first) if !classes::all(&[*first], TOKEN) => return Err(Fault::RequestLine),
            Some(_) => {}
        }
        let end = scan.end(
            bytes,
            &Bounds {
                bytes: self.limits.head_bytes,
                too_long: Fault::HeadTooLarge(self.limits.head_bytes),
                lines: self.limits.head_fields.saturating_add(1),
                too_many: Fault::TooManyFields(self.limits.head_fields),
            },
        )?;
        let Some(end) = end else {
            self.state = State::Head(scan);
            return Ok(None);
        };
        let head = head::read(&bytes[..end])?;
        self.state = match head.framing {
            Framing::Length(0) => State::Head(Scan::default()),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::ChunkLine(0),
        };
        self.extensions = 0;
        Ok(Some((skipped + end, head.upgrade)))
    }

    /// The next piece of a body.
    fn body(&mut self, bytes: &[u8]) -> Step {
        match self.state {
            State::Head(_) => Ok(None),
            State::Length(left) => {
                let (now, left) = part(left, bytes);
                self.state = match left {
                    0 => State::Head(Scan::default()),
                    left => State::Length(left),
                };
                Ok(Some(now))
            }
            State::ChunkLine(seen) => self.chunk_line(bytes, seen),
            State::ChunkData(left) => {
                let (now, left) = part(left, bytes);
                self.state = match left {
                    0 => State::ChunkEnd,
                    left => State::ChunkData(left),
                };
                Ok(Some(now))
            }
            State::ChunkEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    self.state = State::ChunkLine(0);
                    Ok(Some(2))
                }
                [b'\r'] => Ok(None),
                _ => Err(Fault::ChunkEnd),
            },
            State::Trailers(scan) => self.trailers(bytes, scan),
        }
    }

    fn chunk_line(&mut self, bytes: &[u8], mut seen: usize) -> Step {
        let Some(line) = chunks::read(bytes, &mut seen)? else {
            self.state = State::ChunkLine(seen);
            return Ok(None);
        };
        self.extensions += line.extension;
        if self.extensions > chunks::EXTENSION_BYTES {
            return Err(Fault::ChunkLineTooLong);
        }
        self.state = match line.size {
            0 => State::Trailers(Scan::default()),
            size => State::ChunkData(size),
        };
        Ok(Some(line.length))
    }

    fn trailers(&mut self, bytes: &[u8], mut scan: Scan) -> Step {
        let bounds = Bounds {
            // The parser behind has the head's limits for trailers as well, and means less than them.
            bytes: TRAILER_BYTES.min(self.limits.head_bytes.saturating_sub(1)),
            too_long: Fault::TrailersTooLarge,
            lines: self.limits.head_fields,
            too_many: Fault::TrailersTooLarge,
        };
        let Some(end) = scan.end(bytes, &bounds)? else {
            self.state = State::Trailers(scan);
            return Ok(None);
        };
        Lines(&bytes[..end]).try_for_each(fields::check_trailer)?;
        self.state = State::Head(Scan::default());
        Ok(Some(end))
    }
}

/// How much of `left` is in `bytes`, and what is left then.
fn part(left: u64, bytes: &[u8]) -> (usize, u64) {
    let now = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (now, left - now as u64)
}

#[cfg(test)]
mod tests;
