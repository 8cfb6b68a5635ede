//! One JSON text in one slice, read in place: no tree, no copy, no allocation.
//!
//! A [`Cursor`] walks the text once; whoever drives it says at each member whether to read or to skip it. Every method
//! answers `None` as soon as the text is no JSON (RFC 8259) or nests deeper than [`crate::limits::JSON_DEPTH`], and what
//! was read until then must be thrown away. A value of an unexpected kind is no error: it is skipped and reads as absent.
//! Bytes inside strings need not be UTF-8. Keys are compared as they are written: one that is written with escapes is
//! an unknown one.

mod decoded;
mod plain;

pub(crate) use decoded::{Decoded, Progress, all_text, cut_plain, cut_text};
pub(crate) use plain::{completed, plain};

use crate::limits;

/// A place in a JSON text.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

/// Whether `bytes` are one whole JSON value, apart from white space around it.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    // A push often ends inside a value. The first and the last byte tell most of these without a walk.
    let trimmed = bytes.trim_ascii();
    let may_be = match (trimmed.first(), trimmed.last()) {
        (Some(b'{'), Some(last)) => *last == b'}',
        (Some(b'['), Some(last)) => *last == b']',
        (Some(b'"'), Some(last)) => *last == b'"',
        (first, _) => first.is_some(),
    };
    may_be && Cursor::new(bytes).whole(Cursor::skip).is_some()
}

/// The objects of a text that is one object, or a list of objects: none for any other value, `None` if it is no JSON.
pub(crate) fn read_objects<'a, T>(
    text: &'a [u8],
    read: impl Fn(&mut Cursor<'a>) -> Option<T>,
) -> Option<Vec<T>> {
    Cursor::new(text).whole(|cursor| {
        let mut objects = Vec::new();
        let mut element = |cursor: &mut Cursor<'a>| {
            if cursor.peek()? != b'{' {
                return cursor.skip();
            }
            let object = read(cursor)?;
            // One above the limit is kept, so that whoever counts them sees that it was passed.
            if objects.len() <= limits::CHOICES {
                objects.push(object);
            }
            Some(())
        };
        match cursor.peek()? {
            b'[' => cursor.array(element)?,
            _ => element(cursor)?,
        }
        Some(objects)
    })
}

/// Whether an object, or the first of a list of objects, has this member.
pub(crate) fn has_member(text: &[u8], wanted: &[u8]) -> bool {
    let has = |cursor: &mut Cursor<'_>| {
        let mut has = false;
        cursor.object(|cursor, key| {
            has |= key == wanted;
            cursor.skip()
        })?;
        Some(has)
    };
    read_objects(text, has).is_some_and(|objects| objects.first() == Some(&true))
}

// ---- Cursor: structure

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    /// Reads the only value of the text by `read`; nothing but white space may follow.
    pub(crate) fn whole<T>(mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let value = read(&mut self)?;
        match self.peek() {
            None => Some(value),
            Some(_) => None,
        }
    }

    /// The first byte that is no white space; it is not taken.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                next => return next.copied(),
            }
        }
    }

    /// Where the cursor is: after [`Self::peek`], at that byte; after a value, behind it.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Walks an object: `member` is called with each key and must read or skip its value. Anything else is skipped.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>,
    ) -> Option<()> {
        if self.peek()? != b'{' {
            return self.skip();
        }
        self.open()?;
        if self.peek()? == b'}' {
            return self.close();
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => return self.close(),
                _ => return None,
            }
        }
    }

    /// Walks an array: `element` must read or skip the value it is called at. Anything else is skipped.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.peek()? != b'[' {
            return self.skip();
        }
        self.open()?;
        if self.peek()? == b']' {
            return self.close();
        }
        loop {
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => return self.close(),
                _ => return None,
            }
        }
    }

    fn open(&mut self) -> Option<()> {
        if self.depth == limits::JSON_DEPTH {
            return None;
        }
        self.depth += 1;
        self.at += 1;
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        self.depth -= 1;
        self.at += 1;
        Some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        if self.peek()? != b'"' {
            return None;
        }
        let key = self.quoted()?;
        self.take(b':')?;
        Some(key)
    }

    /// Passes over one value of any kind. Recursion ends at [`limits::JSON_DEPTH`].
    pub(crate) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.quoted().map(drop),
            b'{' => self.object(|cursor, _| cursor.skip()),
            b'[' => self.array(Self::skip),
            b'n' => self.literal(b"null"),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            _ => self.number().map(drop),
        }
    }
}

// ---- Cursor: values

impl<'a> Cursor<'a> {
    /// The value as it is written.
    pub(crate) fn raw(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        self.bytes.get(start..self.at)
    }

    /// The inside of a string, escapes as they are written; `None` inside for any other value.
    pub(crate) fn text(&mut self) -> Option<Option<&'a [u8]>> {
        match self.peek()? {
            b'"' => self.quoted().map(Some),
            _ => self.skip().map(|()| None),
        }
    }

    /// Whether the value is a string with something in it, or a list or object with something in it.
    pub(crate) fn is_filled(&mut self) -> Option<bool> {
        match self.peek()? {
            b'"' => self.quoted().map(|text| !text.is_empty()),
            b'[' => self
                .length()
                .map(|length| length.is_some_and(|length| length > 0)),
            b'{' => {
                let mut filled = false;
                self.object(|cursor, _| {
                    filled = true;
                    cursor.skip()
                })?;
                Some(filled)
            }
            _ => self.skip().map(|()| false),
        }
    }

    /// Whether the value is a string with something in it.
    pub(crate) fn has_text(&mut self) -> Option<bool> {
        self.text()
            .map(|text| text.is_some_and(|text| !text.is_empty()))
    }

    /// Whether the value is `true`.
    pub(crate) fn is_true(&mut self) -> Option<bool> {
        let is_true = self.peek()? == b't';
        self.skip().map(|()| is_true)
    }

    /// A whole number from 0 up to `u64::MAX`; `None` inside for any other value.
    pub(crate) fn count(&mut self) -> Option<Option<u64>> {
        Some(self.figure()?.and_then(parse_count))
    }

    /// A number as it is written; `None` inside for any other value.
    pub(crate) fn figure(&mut self) -> Option<Option<&'a [u8]>> {
        match self.peek()? {
            b'-' | b'0'..=b'9' => self.number().map(Some),
            _ => self.skip().map(|()| None),
        }
    }

    /// The whole number that is one member of an object; `None` inside if there is none.
    pub(crate) fn count_member(&mut self, wanted: &[u8]) -> Option<Option<u64>> {
        let mut count = None;
        self.object(|cursor, key| {
            if key == wanted {
                count = cursor.count()?;
                return Some(());
            }
            cursor.skip()
        })?;
        Some(count)
    }

    /// How many elements a list has; `None` inside for any other value.
    pub(crate) fn length(&mut self) -> Option<Option<u64>> {
        if self.peek()? != b'[' {
            return self.skip().map(|()| None);
        }
        let mut length = 0;
        self.array(|cursor| {
            length += 1;
            cursor.skip()
        })?;
        Some(Some(length))
    }

    /// The place of the inside of a string; `None` inside for any other value.
    pub(crate) fn text_span(&mut self) -> Option<Option<Span>> {
        let text = self.text()?;
        let end = self.at.saturating_sub(1);
        Some(text.map(|text| Span {
            start: end.saturating_sub(text.len()),
            end,
        }))
    }

    fn literal(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        if self.bytes.get(self.at..end)? != word {
            return None;
        }
        self.at = end;
        Some(())
    }

    /// The inside of the string that begins here.
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            at = plain_end(self.bytes, at);
            match self.bytes.get(at)? {
                b'"' => {
                    self.at = at + 1;
                    return self.bytes.get(start..at);
                }
                b'\\' => at = escape_end(self.bytes, at)?,
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'-'));
        match self.bytes.get(self.at)? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits()?,
            _ => return None,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        self.bytes.get(start..self.at)
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

/// A piece of a text, by its place: what is kept of a text that is borrowed only for a while.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// Nothing is in it.
    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The piece; empty if `text` is not the text that it was taken from.
    pub(crate) fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

// ---- Bytes

fn parse_count(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |count, byte| match byte {
        b'0'..=b'9' => count.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

/// Index of the first quote, backslash or control character at or after `at`, or the length.
///
/// Eight bytes at a time: the strings of a token event are a few bytes long, too short for a call of memchr to pay.
fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes
        .get(at)
        .is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f))
    {
        at += 1;
    }
    at
}

/// The high bit of each byte that is a quote, a backslash or below 0x20. The lowest bit set is exact; bits above it may be
/// false, by the borrow of the subtraction ("Bit Twiddling Hacks": hasless, haszero).
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGHS
}

/// The end of the escape whose backslash is at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => bytes
            .get(at + 2..at + 6)?
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(at + 6),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
