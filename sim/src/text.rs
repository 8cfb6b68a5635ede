//! The words that a simulated model says. One word is one token; some are longer in bytes than in characters.

use wire::encode::{Token, TokenKind};

const WORDS: [&str; 16] = [
    "otter",
    "river",
    "stone",
    "bends",
    "slow",
    "under",
    "café",
    "naïve",
    "reed",
    "森",
    "light",
    "drifts",
    "🦦",
    "seven",
    "grey",
    "\"quoted\"",
];

/// The end-of-text token's number.
const END_OF_TEXT: u32 = 2;

/// Numbers of the words begin here.
const FIRST_WORD: u32 = 1_000;

/// A token that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    id: u32,
    pub(crate) text: String,
    kind: TokenKind,
}

impl Word {
    /// Token number `index` of a choice, with a blank before it unless it is the first.
    pub(crate) fn said(choice: u32, index: u32, kind: TokenKind) -> Self {
        let mixed =
            (u64::from(choice) << 32 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        let at = u32::try_from(mixed).unwrap_or(0);
        let word = usize::try_from(at).ok().and_then(|at| WORDS.get(at));
        let blank = if index > 0 { " " } else { "" };
        Self {
            id: FIRST_WORD + at,
            text: format!("{blank}{}", word.unwrap_or(&WORDS[0])),
            kind,
        }
    }

    /// The end-of-text token.
    pub(crate) fn end_of_text() -> Self {
        Self {
            id: END_OF_TEXT,
            text: String::new(),
            kind: TokenKind::Silent,
        }
    }

    /// One with this text.
    pub(crate) fn of(text: String) -> Self {
        Self {
            id: FIRST_WORD,
            text,
            kind: TokenKind::Answer,
        }
    }

    /// The same for those who write it.
    pub(crate) fn token(&self) -> Token<'_> {
        Token {
            id: self.id,
            text: &self.text,
            kind: self.kind,
        }
    }
}
