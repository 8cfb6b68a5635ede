//! The answer: what asking added to an event stream, taken out.
//!
//! An event goes on when it is whole, at the read that completes it; so does everything that is no event of usage, in the
//! bytes it came in. Only an event that ends a choice may wait, for the one behind it. Held is at most two events, of
//! [`crate::limits::LINE_BYTES`] together; a stream that has a longer one passes as it is from there on.

use super::{Habit, Without};
use crate::json::Cursor;
use crate::limits;
use memchr::memchr_iter;
use std::ops::Range;

/// Takes out of an event stream the usage that was asked for on the client's behalf.
#[derive(Debug)]
pub struct UsageStrip {
    habit: Habit,
    /// The event at hand, as far as it has come.
    event: Vec<u8>,
    /// How far it was searched for its end.
    searched: usize,
    /// An event that ended a choice, and where in it a fingerprint would stand; it waits for the next one.
    ending: Option<(Vec<u8>, usize)>,
    passes: bool,
}

/// What an event says that matters here, as ranges of its data.
#[derive(Debug, Default)]
struct Chunk {
    /// The member `usage`, from the end of the member before it; and its value alone.
    usage: Option<(Range<usize>, Range<usize>)>,
    fingerprint: Option<Range<usize>>,
    /// The end of `choices`, if there are any in it.
    choices: Option<usize>,
    finishes: bool,
    is_error: bool,
}

// ---- UsageStrip

impl UsageStrip {
    pub(super) fn new(habit: Habit) -> Self {
        Self {
            habit,
            event: Vec::new(),
            searched: 0,
            ending: None,
            passes: false,
        }
    }

    /// Takes the next bytes of the stream; adds to `out` those that may go on.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.passes {
            return out.extend_from_slice(bytes);
        }
        self.event.extend_from_slice(bytes);
        while let Some(end) = self.event_end() {
            let rest = self.event.split_off(end);
            let event = std::mem::replace(&mut self.event, rest);
            self.searched = 0;
            self.on_event(event, out);
        }
        let held = self.ending.as_ref().map_or(0, |(ending, _)| ending.len());
        if self.event.len() + held > limits::LINE_BYTES {
            self.finish(out);
            self.passes = true;
        }
    }

    /// Takes the end of the stream; adds to `out` what was still held.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.release(out);
        out.append(&mut self.event);
    }

    /// Just behind the blank line that ends the event at hand, if it has come.
    fn event_end(&mut self) -> Option<usize> {
        let mut line = self.searched;
        let from = self.searched;
        for newline in memchr_iter(b'\n', self.event.get(from..)?) {
            let end = from + newline + 1;
            if matches!(self.event.get(line..end), Some(b"\n" | b"\r\n")) {
                return Some(end);
            }
            line = end;
            self.searched = line;
        }
        None
    }

    fn on_event(&mut self, event: Vec<u8>, out: &mut Vec<u8>) {
        let Some(data) = sole_data(&event) else {
            // A comment, or nothing that an engine says of usage: it may overtake what waits.
            return out.extend_from_slice(&event);
        };
        let Some(chunk) = event.get(data.clone()).and_then(Chunk::read) else {
            self.release(out);
            return out.extend_from_slice(&event);
        };
        if chunk.usage.is_some() && chunk.choices.is_none() && !chunk.is_error {
            let fingerprint = chunk
                .fingerprint
                .and_then(|value| event.get(data)?.get(value));
            return self.on_usage(fingerprint, out);
        }
        self.release(out);
        let event = self.without_usage(event, data.start, &chunk);
        match chunk.choices {
            Some(end) if self.waits(&chunk) => self.ending = Some((event, data.start + end)),
            _ => out.extend_from_slice(&event),
        }
    }

    fn waits(&self, chunk: &Chunk) -> bool {
        self.habit.moves_fingerprint && chunk.finishes && chunk.fingerprint.is_none()
    }

    /// The event of usage is gone; what it took from the one before goes back.
    fn on_usage(&mut self, fingerprint: Option<&[u8]>, out: &mut Vec<u8>) {
        if let (Some((ending, at)), Some(value)) = (&mut self.ending, fingerprint) {
            let member = [br#","system_fingerprint":"#, value].concat();
            ending.splice(*at..*at, member);
        }
        self.release(out);
    }

    fn release(&mut self, out: &mut Vec<u8>) {
        if let Some((ending, _)) = self.ending.take() {
            out.extend_from_slice(&ending);
        }
    }

    /// The event as it were without its running usage. What stands before it in the event keeps its place.
    fn without_usage(&self, mut event: Vec<u8>, start: usize, chunk: &Chunk) -> Vec<u8> {
        let Some((member, value)) = chunk.usage.as_ref().filter(|_| !chunk.is_error) else {
            return event;
        };
        let of_event = |range: &Range<usize>| range.start + start..range.end + start;
        match self.habit.without {
            Some(Without::Absent) => drop(event.drain(of_event(member))),
            Some(Without::Null) => drop(event.splice(of_event(value), *b"null")),
            None => {}
        }
        event
    }
}

/// The data of an event that has one line of it, and no other field.
fn sole_data(event: &[u8]) -> Option<Range<usize>> {
    let mut sole = None;
    let mut at = 0;
    for line in event.split_inclusive(|byte| *byte == b'\n') {
        let start = at;
        at += line.len();
        match line.strip_prefix(b"data:") {
            Some(data) if sole.is_none() => {
                let trimmed = data.trim_ascii();
                let lead = data.len() - data.trim_ascii_start().len();
                let from = start + b"data:".len() + lead;
                sole = Some(from..from + trimmed.len());
            }
            Some(_) => return None,
            None if line.trim_ascii().is_empty() || line.starts_with(b":") => {}
            None => return None,
        }
    }
    sole
}

// ---- Chunk

impl Chunk {
    /// `None` if the data is no JSON object.
    fn read(data: &[u8]) -> Option<Self> {
        Cursor::new(data).whole(|cursor| {
            if cursor.peek()? != b'{' {
                return None;
            }
            let mut chunk = Self::default();
            // The end of the member before; there is none before the first, so that its comma can't be told.
            let mut before = None;
            cursor.object(|cursor, key| {
                let kind = cursor.peek()?;
                let from = cursor.at();
                match key {
                    b"choices" => chunk.finishes = any_finishes(cursor)?,
                    _ => cursor.skip()?,
                }
                let value = from..cursor.at();
                match (key, kind, before) {
                    (b"usage", b'{', Some(before)) => {
                        chunk.usage = Some((before..value.end, value));
                    }
                    (b"system_fingerprint", b'"', _) => chunk.fingerprint = Some(value),
                    (b"choices", b'[', _) if data.get(value.clone()) != Some(b"[]") => {
                        chunk.choices = Some(value.end);
                    }
                    (b"error", b'{' | b'"', _) => chunk.is_error = true,
                    _ => {}
                }
                before = Some(cursor.at());
                Some(())
            })?;
            Some(chunk)
        })
    }
}

/// Whether one of the choices has a reason to have finished.
fn any_finishes(cursor: &mut Cursor<'_>) -> Option<bool> {
    let mut finishes = false;
    cursor.array(|cursor| {
        cursor.object(|cursor, key| {
            if key == b"finish_reason" {
                finishes |= cursor.has_text()?;
                return Some(());
            }
            cursor.skip()
        })
    })?;
    Some(finishes)
}
