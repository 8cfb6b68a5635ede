//! The inside of a JSON string, decoded while it comes: its length, and its beginning up to a limit.
//!
//! Whatever the string's size, at most [`crate::limits::TEXT_BYTES`] are kept, but by [`all_text`]. Lengths are bytes of UTF-8 after the escapes
//! are undone. Half a surrogate pair counts as U+FFFD. Bytes that are no UTF-8 are kept as they are and become U+FFFD only
//! in a text. A control character that should have been escaped is let pass: to tell it, each byte would have to be read.

use crate::limits;
use memchr::memchr2;

/// The string so far.
#[derive(Debug)]
pub(crate) struct Decoded {
    head: Vec<u8>,
    /// Bytes that `head` may have.
    most: usize,
    len: u64,
    within: Within,
}

/// Where a push left the string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It goes on after these bytes.
    More,
    /// Its closing quote was the last of this many bytes.
    End(usize),
    /// An escape that JSON does not know.
    Bad,
}

/// The escape that the bytes so far end in.
#[derive(Debug, Clone, Copy, Default)]
enum Within {
    #[default]
    Plain,
    Backslash {
        high: Option<u16>,
    },
    Hex {
        high: Option<u16>,
        value: u16,
        digits: u8,
    },
    /// The first half of a surrogate pair came; the second half has to follow at once.
    High(u16),
}

/// The decoded text of the inside of a whole JSON string, cut at [`limits::TEXT_BYTES`] at a character.
pub(crate) fn cut_text(raw: &[u8]) -> String {
    let mut decoded = Decoded::default();
    decoded.push(raw);
    decoded.push(b"\"");
    decoded.text()
}

/// The decoded text of the inside of a JSON string, all of it; of one that broke off, what came.
pub(crate) fn all_text(raw: &[u8]) -> String {
    let mut decoded = Decoded {
        most: usize::MAX,
        ..Decoded::default()
    };
    decoded.push(raw);
    match String::from_utf8(decoded.head) {
        Ok(text) => text,
        Err(odd) => String::from_utf8_lossy(odd.as_bytes()).into_owned(),
    }
}

/// A text that is no JSON string, cut the same way.
pub(crate) fn cut_plain(text: &[u8]) -> String {
    let mut decoded = Decoded::default();
    decoded.keep(text);
    decoded.text()
}

// ---- Decoded

impl Default for Decoded {
    fn default() -> Self {
        Self {
            head: Vec::new(),
            most: limits::TEXT_BYTES,
            len: 0,
            within: Within::Plain,
        }
    }
}

impl Decoded {
    /// Begins another string.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.len = 0;
        self.within = Within::Plain;
    }

    /// Bytes of the string, all of them.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The beginning of the string, cut at a limit that may lie inside a character.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The beginning of the string, cut at a character.
    pub(crate) fn text(&self) -> String {
        let cut = self.len > self.head.len() as u64;
        let mut head = self.head.as_slice();
        if let (true, Err(error)) = (cut, std::str::from_utf8(head))
            && error.error_len().is_none()
        {
            head = head.get(..error.valid_up_to()).unwrap_or(head);
        }
        let mut text = String::from_utf8_lossy(head).into_owned();
        // Each bad byte grew to three.
        text.truncate(text.floor_char_boundary(limits::TEXT_BYTES));
        text
    }

    /// Takes more of the string, up to its closing quote.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Progress {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if let Within::Plain = self.within {
                let Some(run) = memchr2(b'"', b'\\', rest) else {
                    self.keep(rest);
                    return Progress::More;
                };
                let (plain, special) = rest.split_at(run);
                self.keep(plain);
                at += run + 1;
                if special.first() == Some(&b'"') {
                    return Progress::End(at);
                }
                self.within = Within::Backslash { high: None };
            } else if let Some(byte) = rest.first() {
                match self.escaped(*byte) {
                    Some(Took::Yes) => at += 1,
                    Some(Took::No) => {}
                    None => return Progress::Bad,
                }
            }
        }
        Progress::More
    }

    fn escaped(&mut self, byte: u8) -> Option<Took> {
        match self.within {
            Within::Plain => return Some(Took::No),
            Within::High(high) if byte == b'\\' => {
                self.within = Within::Backslash { high: Some(high) }
            }
            Within::High(_) => {
                self.keep_char(char::REPLACEMENT_CHARACTER);
                self.within = Within::Plain;
                return Some(Took::No);
            }
            Within::Backslash { high } if byte == b'u' => {
                self.within = Within::Hex {
                    high,
                    value: 0,
                    digits: 0,
                }
            }
            Within::Backslash { high } => {
                if high.is_some() {
                    self.keep_char(char::REPLACEMENT_CHARACTER);
                }
                self.keep(&[simple_escape(byte)?]);
                self.within = Within::Plain;
            }
            Within::Hex {
                high,
                value,
                digits,
            } => {
                let digit = u16::try_from(char::from(byte).to_digit(16)?).ok()?;
                let value = (value << 4) | digit;
                self.within = Within::Hex {
                    high,
                    value,
                    digits: digits + 1,
                };
                if digits == 3 {
                    self.unit(high, value);
                }
            }
        }
        Some(Took::Yes)
    }

    /// One UTF-16 unit was written as an escape of four digits, after the first half `high` of a pair or not.
    fn unit(&mut self, high: Option<u16>, unit: u16) {
        self.within = Within::Plain;
        if let Some(high) = high {
            if let Some(Ok(pair)) = char::decode_utf16([high, unit]).next() {
                return self.keep_char(pair);
            }
            self.keep_char(char::REPLACEMENT_CHARACTER);
        }
        match char::from_u32(u32::from(unit)) {
            Some(char) => self.keep_char(char),
            None if unit < 0xdc00 => self.within = Within::High(unit),
            None => self.keep_char(char::REPLACEMENT_CHARACTER),
        }
    }

    fn keep_char(&mut self, char: char) {
        self.keep(char.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len() as u64);
        let room = self.most - self.head.len();
        self.head
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

/// Whether a byte was used up.
enum Took {
    Yes,
    No,
}

fn simple_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}
