//! Events that were written, and what each is.

use std::ops::Range;

/// Events one after the other. It is meant to be emptied and used again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sheet {
    bytes: Vec<u8>,
    events: Vec<Entry>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<'a> {
    /// Its bytes, blank line included.
    pub bytes: &'a [u8],
    /// What it is.
    pub part: Part,
    /// Which of the step's tokens it carries: their places in [`Step::tokens`](super::Step::tokens).
    pub tokens: Range<usize>,
}

/// What an event is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// It begins an answer, a choice or a block, or ends a block, as role chunks do.
    Opening,
    /// It carries tokens.
    Output,
    /// It ends a choice. It may carry the end-of-text token.
    Closing,
    /// It states a total that was asked for, and nothing else.
    Usage,
    /// An error.
    Error,
    /// It ends the answer: `[DONE]` and its like.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    end: usize,
    part: Part,
    tokens: Range<usize>,
}

impl Sheet {
    /// The events, in order.
    pub fn events(&self) -> impl Iterator<Item = Written<'_>> {
        let mut start = 0;
        self.events.iter().map(move |entry| {
            let bytes = &self.bytes[start..entry.end];
            start = entry.end;
            Written {
                bytes,
                part: entry.part,
                tokens: entry.tokens.clone(),
            }
        })
    }

    /// All their bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes everything off.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.events.clear();
    }

    /// Puts an event on that the engine would not write; `text` is without its blank line.
    pub fn foreign(&mut self, part: Part, text: &str) {
        self.put(part, 0..0, |out| {
            out.extend_from_slice(text.as_bytes());
            "\n\n"
        });
    }

    /// Puts an event on, of which `write` writes the bytes and says what ends it; whether it wrote anything.
    pub(super) fn put(
        &mut self,
        part: Part,
        tokens: Range<usize>,
        write: impl FnOnce(&mut Vec<u8>) -> &'static str,
    ) -> bool {
        let start = self.bytes.len();
        let end = write(&mut self.bytes);
        if self.bytes.len() == start {
            return false;
        }
        self.bytes.extend_from_slice(end.as_bytes());
        self.events.push(Entry {
            end: self.bytes.len(),
            part,
            tokens,
        });
        true
    }
}
