//! Texts of which each is either what is new or all so far, which not every deployment tells.
//!
//! A text is remembered by its length and its last bytes, so that nothing grows with it: two texts of the same length and
//! with the same end are taken for the same.

use crate::Accumulation;

/// Bytes of a text's end that are remembered.
const TAIL_BYTES: usize = 32;

/// Texts that have to agree before it is settled what they are.
const WITNESSES: u8 = 3;

/// What the texts of an answer are.
#[derive(Debug)]
pub(crate) enum TextMode {
    Settled(Accumulation),
    /// Not settled: so many texts began with the one before and went on, so many did not begin with it.
    Learning {
        went_on: u8,
        broke_off: u8,
    },
}

/// The last text of a choice, as far as it is remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastText {
    len: usize,
    tail: [u8; TAIL_BYTES],
}

// ---- TextMode

impl TextMode {
    pub(crate) fn new(stated: Option<Accumulation>) -> Self {
        stated.map_or(
            Self::Learning {
                went_on: 0,
                broke_off: 0,
            },
            Self::Settled,
        )
    }

    /// Something else than the texts tells what they are. What is settled stays.
    pub(crate) fn settle(&mut self, mode: Accumulation) {
        if let Self::Learning { .. } = self {
            *self = Self::Settled(mode);
        }
    }

    /// Whether this text, the next of its choice, shows something that was not shown before. As long as it isn't settled
    /// what the texts are, one that repeats the last shows nothing.
    pub(crate) fn shows(&mut self, last: &mut LastText, text: &[u8]) -> bool {
        if let Self::Settled(Accumulation::Delta) = self {
            return !text.is_empty();
        }
        let now = LastText::of(text);
        if let Self::Learning { .. } = self {
            self.learn(last, text);
        }
        let changed = now != *last;
        *last = now;
        changed && !text.is_empty()
    }

    fn learn(&mut self, last: &LastText, text: &[u8]) {
        let Self::Learning { went_on, broke_off } = self else {
            return;
        };
        if last.len == 0 || text.is_empty() {
            return;
        }
        let goes_on = last.begins(text);
        if !goes_on {
            *broke_off += 1;
        } else if text.len() > last.len {
            *went_on += 1;
        }
        if *went_on == WITNESSES {
            *self = Self::Settled(Accumulation::Cumulative);
        } else if *broke_off == WITNESSES {
            *self = Self::Settled(Accumulation::Delta);
        }
    }
}

// ---- LastText

impl LastText {
    fn of(text: &[u8]) -> Self {
        let mut tail = [0; TAIL_BYTES];
        let end = text
            .get(text.len().saturating_sub(TAIL_BYTES)..)
            .unwrap_or_default();
        tail.iter_mut()
            .zip(end)
            .for_each(|(kept, byte)| *kept = *byte);
        Self {
            len: text.len(),
            tail,
        }
    }

    /// Whether `text` begins with this one.
    fn begins(&self, text: &[u8]) -> bool {
        text.get(..self.len)
            .is_some_and(|head| Self::of(head) == *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mode: Option<Accumulation>, texts: &[&str]) -> Vec<bool> {
        let (mut mode, mut last) = (TextMode::new(mode), LastText::default());
        texts
            .iter()
            .map(|text| mode.shows(&mut last, text.as_bytes()))
            .collect()
    }

    #[test]
    fn what_is_stated_holds() {
        let texts = ["a", "a", "", "ab"];
        assert_eq!(
            shown(Some(Accumulation::Delta), &texts),
            [true, true, false, true]
        );
        assert_eq!(
            shown(Some(Accumulation::Cumulative), &texts),
            [true, false, false, true]
        );
    }

    #[test]
    fn three_texts_settle_it() {
        // Each after the first breaks off; from then on a repeated one is a new one.
        assert_eq!(
            shown(None, &["a", "b", "b", "c", "d", "d"]),
            [true, true, false, true, true, true]
        );
        // Each goes on; that the last one breaks off is a correction, and a repetition is none.
        assert_eq!(
            shown(None, &["a", "ab", "abc", "abcd", "abx", "abx"]),
            [true, true, true, true, true, false]
        );
    }

    #[test]
    fn a_long_text_is_known_by_its_length_and_end() {
        let text = "x".repeat(100);
        let longer = format!("{text}y");
        let other = format!("{}z", "x".repeat(99));
        assert_eq!(
            shown(
                Some(Accumulation::Cumulative),
                &[&text, &text, &longer, &other]
            ),
            [true, false, true, true]
        );
        let last = LastText::of(text.as_bytes());
        assert!(last.begins(longer.as_bytes()) && !last.begins(other.as_bytes()));
    }
}
