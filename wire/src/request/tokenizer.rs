//! JSON tokens out of a text that comes in pieces, without keeping it.
//!
//! The text is RFC 8259 JSON with an object at its top, as deep as [`crate::limits::JSON_DEPTH`]. Strings are skipped to
//! their end by memchr, whatever their size; of keys, numbers and strings only the beginning is kept. At the first byte
//! that can't be, the tokenizer stops for good. A raw control character in a string is let pass.

#![deny(clippy::indexing_slicing)]

use crate::json::{Decoded, Progress};
use crate::limits;

/// Longest number that is handed on, in bytes. No fact needs a longer one.
const NUMBER_BYTES: usize = 40;

/// One step through the text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Token<'t> {
    ObjectStart,
    ObjectEnd,
    /// With the offset of its bracket in the text.
    ArrayStart(u64),
    /// With the offset after its bracket.
    ArrayEnd(u64),
    /// A key, cut at [`limits::TEXT_BYTES`].
    Key(&'t [u8]),
    Text(&'t Decoded),
    /// A number as it is written; empty if it is longer than [`NUMBER_BYTES`].
    Number(&'t [u8]),
    Bool(bool),
    Null,
}

/// The text so far.
#[derive(Debug)]
pub(super) struct Tokenizer {
    state: State,
    nest: Nest,
    text: Decoded,
    number: Vec<u8>,
    /// Bytes of the text before this push.
    before: u64,
    /// Offset of the structural byte at hand.
    at: u64,
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The text itself; a byte order mark may lead it, of which so many bytes came.
    Start(usize),
    Value,
    /// The first element of an array, or its end.
    Element,
    /// The first key of an object, or its end.
    FirstKey,
    Key,
    Colon,
    /// A value has ended.
    Comma,
    InKey,
    InText,
    InNumber(Number),
    InWord {
        word: &'static [u8],
        taken: usize,
    },
    /// The text has ended.
    Done,
    /// It is no JSON, or not such that it is followed.
    Failed,
}

/// The parts of a number, by what has come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// The open arrays and objects; a bit for each, set for an object. The innermost is the lowest.
#[derive(Debug, Default)]
struct Nest {
    bits: u64,
    depth: u32,
}

// As many as the bits.
const _: () = assert!(limits::JSON_DEPTH == u64::BITS as usize);

// ---- Tokenizer

impl Tokenizer {
    pub(super) fn new() -> Self {
        Self {
            state: State::Start(0),
            nest: Nest::default(),
            text: Decoded::default(),
            number: Vec::new(),
            before: 0,
            at: 0,
        }
    }

    /// Takes the next piece and hands on the tokens that it completes.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            rest = match self.state {
                State::Failed => return,
                State::InKey | State::InText => self.string(rest, &mut each),
                State::InNumber(part) => match part.next(*byte) {
                    Some(part) => {
                        self.keep_digit(*byte);
                        self.state = State::InNumber(part);
                        after
                    }
                    None => {
                        self.end_number(part, &mut each);
                        rest
                    }
                },
                State::InWord { word, taken } => {
                    self.word(*byte, word, taken, &mut each);
                    after
                }
                // A byte order mark is the very first thing, and in one piece.
                State::Start(1 | 2) => {
                    self.structure(*byte, &mut each);
                    after
                }
                _ if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') => {
                    if self.state == State::Start(0) {
                        self.state = State::Start(3);
                    }
                    after
                }
                _ => {
                    self.at = self.before + (bytes.len() - rest.len()) as u64;
                    self.structure(*byte, &mut each);
                    after
                }
            };
        }
        self.before += bytes.len() as u64;
    }

    /// Whether one whole object came, and nothing else.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// A byte outside of strings, numbers and words.
    fn structure(&mut self, byte: u8, each: &mut impl FnMut(Token<'_>)) {
        self.state = match (self.state, byte) {
            (State::Start(0 | 3), b'{') => self.open(true, each),
            (State::Start(taken), _) if b"\xef\xbb\xbf".get(taken) == Some(&byte) => {
                State::Start(taken + 1)
            }
            (State::FirstKey, b'}') | (State::Element, b']') => self.close(byte, each),
            (State::FirstKey | State::Key, b'"') => {
                self.text.clear();
                State::InKey
            }
            (State::Colon, b':') => State::Value,
            (State::Comma, b',') if self.nest.in_object() => State::Key,
            (State::Comma, b',') => State::Value,
            (State::Comma, b'}' | b']') => self.close(byte, each),
            (State::Value | State::Element, _) => self.value(byte, each),
            _ => State::Failed,
        };
    }

    fn value(&mut self, byte: u8, each: &mut impl FnMut(Token<'_>)) -> State {
        match byte {
            b'{' => self.open(true, each),
            b'[' => self.open(false, each),
            b'"' => {
                self.text.clear();
                State::InText
            }
            b't' => State::InWord {
                word: b"true",
                taken: 1,
            },
            b'f' => State::InWord {
                word: b"false",
                taken: 1,
            },
            b'n' => State::InWord {
                word: b"null",
                taken: 1,
            },
            _ => match Number::first(byte) {
                Some(part) => {
                    self.number.clear();
                    self.keep_digit(byte);
                    State::InNumber(part)
                }
                None => State::Failed,
            },
        }
    }

    fn open(&mut self, object: bool, each: &mut impl FnMut(Token<'_>)) -> State {
        if !self.nest.open(object) {
            return State::Failed;
        }
        each(if object {
            Token::ObjectStart
        } else {
            Token::ArrayStart(self.at)
        });
        if object {
            State::FirstKey
        } else {
            State::Element
        }
    }

    fn close(&mut self, byte: u8, each: &mut impl FnMut(Token<'_>)) -> State {
        let object = byte == b'}';
        if self.nest.in_object() != object {
            return State::Failed;
        }
        self.nest.close();
        each(if object {
            Token::ObjectEnd
        } else {
            Token::ArrayEnd(self.at + 1)
        });
        if self.nest.depth == 0 {
            State::Done
        } else {
            State::Comma
        }
    }

    fn string<'b>(&mut self, rest: &'b [u8], each: &mut impl FnMut(Token<'_>)) -> &'b [u8] {
        match self.text.push(rest) {
            Progress::More => b"",
            Progress::Bad => {
                self.state = State::Failed;
                b""
            }
            Progress::End(taken) => {
                if self.state == State::InKey {
                    each(Token::Key(self.text.head()));
                    self.state = State::Colon;
                } else {
                    each(Token::Text(&self.text));
                    self.state = State::Comma;
                }
                rest.get(taken..).unwrap_or_default()
            }
        }
    }

    fn word(
        &mut self,
        byte: u8,
        word: &'static [u8],
        taken: usize,
        each: &mut impl FnMut(Token<'_>),
    ) {
        self.state = if word.get(taken) != Some(&byte) {
            State::Failed
        } else if taken + 1 < word.len() {
            State::InWord {
                word,
                taken: taken + 1,
            }
        } else {
            each(match word {
                b"true" => Token::Bool(true),
                b"false" => Token::Bool(false),
                _ => Token::Null,
            });
            State::Comma
        };
    }

    fn keep_digit(&mut self, byte: u8) {
        // One more than is handed on tells that it is too long.
        if self.number.len() <= NUMBER_BYTES {
            self.number.push(byte);
        }
    }

    fn end_number(&mut self, part: Number, each: &mut impl FnMut(Token<'_>)) {
        if !part.may_end() {
            self.state = State::Failed;
            return;
        }
        each(Token::Number(if self.number.len() > NUMBER_BYTES {
            b""
        } else {
            &self.number
        }));
        self.state = State::Comma;
    }
}

// ---- Number

impl Number {
    fn first(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Whole),
            _ => None,
        }
    }

    fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Some(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Whole | Self::Fraction | Self::Exponent
        )
    }
}

// ---- Nest

impl Nest {
    /// Whether one more could be opened.
    fn open(&mut self, object: bool) -> bool {
        if self.depth == u64::BITS {
            return false;
        }
        self.bits = (self.bits << 1) | u64::from(object);
        self.depth += 1;
        true
    }

    fn close(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
    }

    fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}
