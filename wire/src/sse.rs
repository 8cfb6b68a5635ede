//! Framing of an event stream (WHATWG HTML, "Server-sent events"), by bytes, without sockets.
//!
//! Beyond the standard, because servers do it:
//! - A line `error: …` is data too, of an event that reports an error (llama.cpp until autumn 2025).
//! - Events divided by one line end instead of two: where a data line is whole JSON or `[DONE]` and so is the next one,
//!   the first is an event of its own, since the two joined by LF can't be JSON. It is handed on as soon as the next line
//!   is there, so that a stream without blank lines is measured too.
//! - At the end of the stream a pending event counts if it is whole JSON or `[DONE]`.
//!
//! Of an event only its data is handed on: names, ids and retry times mean nothing for measuring.
//!
//! Invariants: the frames depend on the bytes, never on how they were cut into pushes (only [`Frame::early`] does). What
//! lies whole inside one push is borrowed from it. Line and event are limited by [`crate::limits::LINE_BYTES`]; the
//! framer stops for good at the first that is longer, and keeps nothing.

#![deny(clippy::indexing_slicing)]

use crate::{json, limits};
use memchr::memchr2;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its data lines joined by LF, without white space at both ends. May be empty, may be no UTF-8.
    pub data: &'a [u8],
    /// Which field the data came in.
    pub field: Field,
    /// The data was whole already when an earlier push ended; see [`Framer::pending_whole`]. Only the first frame of a
    /// push can be early.
    pub early: bool,
}

/// The field that an event's data came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Field {
    /// `data:`
    #[default]
    Data,
    /// `error:`, in at least one line.
    Error,
}

/// Cuts a stream of bytes into events.
#[derive(Debug, Default)]
pub struct Framer {
    /// Beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Data of the pending event, as far as it did not come in this push.
    data: Vec<u8>,
    /// Data lines of the pending event.
    lines: usize,
    field: Field,
    /// Length of the pending data when a push left it whole.
    whole: Option<usize>,
    pending_whole: bool,
    comments: u64,
    after_cr: bool,
    begun: bool,
    oversize: bool,
}

/// What is left when a stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// Data that is neither whole JSON nor `[DONE]`, and was dropped.
    Dropped,
}

/// A line, by what it means.
enum Line<'a> {
    Blank,
    Comment,
    Data(Field, &'a [u8]),
    Other,
}

/// The data of the pending event that can stay where it came from until this push ends.
type Held<'b> = Option<&'b [u8]>;

// ---- Framer

impl Framer {
    /// Takes the next bytes of the stream and hands on each event that they complete.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Frame<'_>)) {
        let mut held: Held<'_> = None;
        let mut rest = bytes;
        if let (true, Some(b'\n')) = (self.after_cr, rest.first()) {
            rest = rest.get(1..).unwrap_or_default();
        }
        self.after_cr &= bytes.is_empty();
        while let Some(end) = memchr2(b'\n', b'\r', rest).filter(|_| !self.oversize) {
            let (line, after) = rest.split_at(end);
            rest = self.after_line_end(after);
            if self.line.is_empty() {
                self.on_line(line, &mut held, &mut each);
            } else {
                self.on_carried_line(line, &mut each);
            }
        }
        self.carry(rest, held);
    }

    /// Takes the end of the stream and hands on what counts although its blank line is missing.
    pub fn finish(&mut self, mut each: impl FnMut(Frame<'_>)) -> Rest {
        if !self.line.is_empty() {
            self.on_carried_line(b"", &mut each);
        }
        self.pending_whole = false;
        if self.oversize || self.lines == 0 {
            return Rest::Nothing;
        }
        if is_mark(self.data.trim_ascii()) {
            self.dispatch(&mut None, &mut each);
            return Rest::Nothing;
        }
        let empty = self.data.trim_ascii().is_empty();
        self.lines = 0;
        self.data.clear();
        if empty { Rest::Nothing } else { Rest::Dropped }
    }

    /// Whether the data of the pending event is whole JSON or `[DONE]`, so that nothing but line ends is missing.
    ///
    /// Asked after a push, it tells that the tokens of that event were there in this push, or in an earlier one if this
    /// push handed on no event and it was true before.
    pub fn pending_whole(&self) -> bool {
        self.pending_whole
    }

    /// Comment lines so far.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// A line or event was longer than [`limits::LINE_BYTES`]; nothing comes out any more.
    pub fn is_oversize(&self) -> bool {
        self.oversize
    }

    /// What follows the line end that `after` begins with.
    fn after_line_end<'b>(&mut self, after: &'b [u8]) -> &'b [u8] {
        match after {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            [b'\r', rest @ ..] => {
                self.after_cr = rest.is_empty();
                rest
            }
            _ => after,
        }
    }

    /// A line whose beginning came in an earlier push, and whose end is `tail`. It is the first of this push.
    fn on_carried_line(&mut self, tail: &[u8], each: &mut impl FnMut(Frame<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        if line.len() + tail.len() > limits::LINE_BYTES {
            return self.stop();
        }
        line.extend_from_slice(tail);
        let mut held = None;
        self.on_line(&line, &mut held, each);
        if let Some(data) = held {
            self.data.extend_from_slice(data);
        }
        line.clear();
        self.line = line;
    }

    fn on_line<'b>(
        &mut self,
        line: &'b [u8],
        held: &mut Held<'b>,
        each: &mut impl FnMut(Frame<'_>),
    ) {
        if line.len() > limits::LINE_BYTES {
            return self.stop();
        }
        let meaning = meaning(line, self.begun);
        self.begun = true;
        match meaning {
            Line::Blank => self.dispatch(held, each),
            Line::Comment => self.comments += 1,
            Line::Data(field, value) => self.on_data(field, value, held, each),
            Line::Other => {}
        }
    }

    fn on_data<'b>(
        &mut self,
        field: Field,
        value: &'b [u8],
        held: &mut Held<'b>,
        each: &mut impl FnMut(Frame<'_>),
    ) {
        if self.lines == 1
            && is_mark(value.trim_ascii())
            && is_mark(held.unwrap_or(&self.data).trim_ascii())
        {
            self.dispatch(held, each);
        }
        if field == Field::Error {
            self.field = Field::Error;
        }
        self.lines += 1;
        if self.lines == 1 {
            *held = Some(value);
            return;
        }
        if let Some(first) = held.take() {
            self.data.extend_from_slice(first);
        }
        if self.data.len() + value.len() >= limits::LINE_BYTES {
            return self.stop();
        }
        self.data.push(b'\n');
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, held: &mut Held<'_>, each: &mut impl FnMut(Frame<'_>)) {
        if self.lines > 0 {
            let data = held.take().unwrap_or(&self.data).trim_ascii();
            each(Frame {
                data,
                field: self.field,
                early: self.whole == Some(data.len()),
            });
        }
        self.data.clear();
        self.lines = 0;
        self.field = Field::Data;
        self.whole = None;
    }

    /// Keeps what the next push will need of this one.
    fn carry(&mut self, rest: &[u8], held: Held<'_>) {
        if self.oversize || self.line.len() + rest.len() > limits::LINE_BYTES {
            return self.stop();
        }
        self.line.extend_from_slice(rest);
        if let Some(data) = held {
            self.data.extend_from_slice(data);
        }
        self.pending_whole = (self.lines > 0 || !self.line.is_empty()) && self.find_whole();
    }

    /// Notes the length of the pending data if it is whole, with or without the line that has no end yet.
    ///
    /// At most [`limits::LINE_BYTES`] are read here for each push, and only if the push ends as JSON may end.
    fn find_whole(&mut self) -> bool {
        let complete = self.data.trim_ascii();
        if self.lines > 0 && (self.whole == Some(complete.len()) || is_mark(complete)) {
            self.whole = Some(complete.len());
            return true;
        }
        let Line::Data(_, value) = meaning(&self.line, self.begun) else {
            return false;
        };
        self.whole = if self.lines == 0 {
            whole_len(value)
        } else {
            let complete = self.data.len();
            self.data.push(b'\n');
            self.data.extend_from_slice(value);
            let joined = whole_len(&self.data);
            self.data.truncate(complete);
            joined
        };
        self.whole.is_some()
    }

    fn stop(&mut self) {
        *self = Self {
            comments: self.comments,
            oversize: true,
            ..Self::default()
        };
    }
}

/// What a line means; the first line of a stream may have a byte order mark.
fn meaning(line: &[u8], begun: bool) -> Line<'_> {
    let line = if begun {
        line
    } else {
        line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
    };
    let (field, after) = match line {
        [] => return Line::Blank,
        [b':', ..] => return Line::Comment,
        [b'd', b'a', b't', b'a', after @ ..] => (Field::Data, after),
        [b'e', b'r', b'r', b'o', b'r', after @ ..] => (Field::Error, after),
        _ => return Line::Other,
    };
    match after {
        [] if field == Field::Data => Line::Data(field, b""),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Line::Data(field, value),
        _ => Line::Other,
    }
}

/// Length of `data` without white space at both ends, if it says something on its own.
fn whole_len(data: &[u8]) -> Option<usize> {
    let data = data.trim_ascii();
    is_mark(data).then_some(data.len())
}

/// Whether `data` says something on its own: whole JSON, or the end mark.
fn is_mark(data: &[u8]) -> bool {
    data == b"[DONE]" || json::is_whole(data)
}
