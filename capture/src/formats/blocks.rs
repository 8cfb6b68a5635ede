//! Ids of blocks on their way out (renumbered, and told in another size) and on their way in (checked to be a chain).
//!
//! A hash stands for its block and all before it, so that a coarser block has the hash of the last fine block in it. On the
//! way out an id is given by the id before it and the hash: what comes out is a chain whatever went in.

use std::collections::HashMap;

use super::FormatError;

/// What becomes of a last, shorter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// It has an id: ⌈length ÷ block⌉ ids.
    Kept,
    /// It has none: ⌊length ÷ block⌋ ids.
    Dropped,
}

/// The blocks of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Tokens a block.
    pub tokens: u32,
    /// The last, shorter one.
    pub tail: Tail,
}

/// The blocks of a capture, for rows that have any.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Captured {
    /// Units a block.
    pub(super) block: u32,
    /// Units a token: 1 where blocks are counted in tokens; else the mean of the capture, and ids are approximate.
    pub(super) units_per_token: f64,
}

/// Gives out ids, from 0 by first sight.
#[derive(Debug, Default)]
pub(super) struct Renumbering {
    known: HashMap<(Option<u64>, u64), u64>,
    next: u64,
}

/// Holds ids of a file to what a chain is: one id before each, and one place.
#[derive(Debug, Default)]
pub(super) struct Chain {
    known: HashMap<u64, (usize, Option<u64>)>,
}

impl BlockSize {
    fn count(self, tokens: u64) -> u64 {
        match self.tail {
            Tail::Kept => tokens.div_ceil(u64::from(self.tokens)),
            Tail::Dropped => tokens / u64::from(self.tokens),
        }
    }
}

impl Renumbering {
    /// The ids of a prompt of so many tokens. What its hashes don't reach has ids that nobody else gets.
    pub(super) fn ids(
        &mut self,
        hashes: &[u64],
        tokens: u64,
        (from, to): (Captured, BlockSize),
    ) -> Vec<u64> {
        let size = u64::from(to.tokens);
        let mut ids = Vec::new();
        let mut before = None;
        let mut used = 0;
        for block in 0..to.count(tokens) {
            let end = (block + 1) * size;
            let fine = if end > tokens {
                hashes.len()
            } else {
                from.blocks_of(end)
            };
            let reached = fine > used && fine <= hashes.len();
            let hash = if reached {
                fine.checked_sub(1).and_then(|last| hashes.get(last))
            } else {
                None
            };
            used = used.max(fine);
            let id = self.id(before, hash.copied());
            ids.push(id);
            before = Some(id);
        }
        ids
    }

    /// The id of one block after another. Without a hash it is new.
    pub(super) fn id(&mut self, before: Option<u64>, hash: Option<u64>) -> u64 {
        let next = self.next;
        let id = match hash {
            Some(hash) => *self.known.entry((before, hash)).or_insert(next),
            None => next,
        };
        if id == next {
            self.next += 1;
        }
        id
    }
}

impl Captured {
    /// Fine blocks that so many tokens fill.
    fn blocks_of(self, tokens: u64) -> usize {
        let units = tokens as f64 * self.units_per_token;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count that is not negative; the cast stops at the largest"
        )]
        let blocks = (units / f64::from(self.block)).round() as usize;
        blocks
    }
}

impl Chain {
    /// Takes the ids of one prompt.
    pub(super) fn check(&mut self, line: u64, ids: &[u64]) -> Result<(), FormatError> {
        let mut before = None;
        for (at, id) in ids.iter().enumerate() {
            let (place, parent) = *self.known.entry(*id).or_insert((at, before));
            if (place, parent) != (at, before) {
                return Err(FormatError::line(
                    line,
                    format!(
                        "block id {id} stands at place {at} after {}, and before this line at place {place} after {}: ids of \
                         prefixes stand for all before them, these don't, and can't be replayed as prefixes",
                        said(before),
                        said(parent)
                    ),
                ));
            }
            before = Some(*id);
        }
        Ok(())
    }
}

fn said(id: Option<u64>) -> String {
    id.map_or_else(|| "nothing".to_owned(), |id| format!("id {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: Captured = Captured {
        block: 16,
        units_per_token: 1.0,
    };
    const MOONCAKE: BlockSize = BlockSize {
        tokens: 32,
        tail: Tail::Kept,
    };

    #[test]
    fn coarse_blocks_are_shared_where_all_fine_ones_are() {
        let mut ids = Renumbering::default();
        let mut of = |hashes: &[u64], tokens| ids.ids(hashes, tokens, (TOKENS, MOONCAKE));
        assert_eq!(of(&[11, 12, 13, 14, 15], 70), [0, 1, 2]);
        // Equal up to the third fine block only.
        assert_eq!(of(&[11, 12, 13, 24], 64), [0, 3]);
        // The same prompt has the same ids, to its short end.
        assert_eq!(of(&[11, 12, 13, 14, 15], 70), [0, 1, 2]);
        // No hashes: nothing is shared.
        assert_eq!(of(&[], 33), [4, 5]);
    }

    #[test]
    fn full_blocks_only_are_floor_many() {
        let size = BlockSize {
            tokens: 64,
            tail: Tail::Dropped,
        };
        let hashes: Vec<u64> = (1..=13).collect();
        assert_eq!(
            Renumbering::default()
                .ids(&hashes, 200, (TOKENS, size))
                .len(),
            3
        );
    }

    #[test]
    fn bytes_are_told_as_tokens_by_their_mean() {
        let bytes = Captured {
            block: 64,
            units_per_token: 4.0,
        };
        let mut ids = Renumbering::default();
        let mut of = |hashes: &[u64], tokens| ids.ids(hashes, tokens, (bytes, MOONCAKE));
        assert_eq!(of(&[1, 2, 3, 4], 64), [0, 1]);
        assert_eq!(of(&[1, 2, 5, 6], 61), [0, 2]);
    }

    #[test]
    fn an_id_in_two_places_is_no_chain() {
        let mut chain = Chain::default();
        chain.check(1, &[0, 1, 2]).unwrap();
        chain.check(2, &[0, 1, 3]).unwrap();
        let error = chain.check(3, &[0, 2]).unwrap_err().to_string();
        assert!(
            error.starts_with("line 3: block id 2 stands at place 1 after id 0"),
            "{error}"
        );
        assert!(Chain::default().check(1, &[7, 7]).is_err());
    }
}
