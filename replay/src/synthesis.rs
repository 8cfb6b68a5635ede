//! Prompts that no one wrote, with the lengths and the shared prefixes of those that somebody did.
//!
//! A block of a recorded prompt becomes as many tokens, drawn from a generator that is keyed by the run and the block, so
//! that two prompts share exactly the blocks that the recorded ones shared. Each block begins with its own number, spelled in
//! tokens: nothing is shared by chance. The last block of a prompt is as long as it was; a block that is cut short is
//! another block, and shared only with one that is cut just so.
//!
//! What depends on content (speculative decoding, guided output, the routing of experts) is not as it was recorded. Such a
//! run is of the second grade of evidence, whatever its lengths.
//!
//! Pure. Indices into a vocabulary come out; what stands behind them is the sender's business.

use judge::prng::SplitMix64;

/// Draws prompts.
#[derive(Debug, Clone, Copy)]
pub struct Synthesis {
    key: u64,
    /// Tokens in a block.
    block: u64,
    /// Tokens to draw from, at least 2.
    vocabulary: u32,
}

/// A vocabulary too small to tell blocks apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{tokens} tokens in blocks of {block} can't spell the numbers of all blocks: 256 tokens and blocks of 8 can"
)]
pub struct TooSmall {
    tokens: u32,
    block: u64,
}

impl Synthesis {
    /// Prompts of a run: `key` makes them another run's, `block` is the number of tokens in a block of the recording,
    /// `vocabulary` the number of tokens to draw from.
    ///
    /// # Errors
    /// If blocks of that size can't spell 64 bits in that vocabulary.
    pub fn new(key: u64, block: u64, vocabulary: u32) -> Result<Self, TooSmall> {
        let made = Self {
            key,
            block,
            vocabulary,
        };
        if vocabulary < 2 || made.name_length() > block {
            return Err(TooSmall {
                tokens: vocabulary,
                block,
            });
        }
        Ok(made)
    }

    /// The prompt of `length` tokens whose blocks are `blocks`; what goes beyond them is nobody else's, which `own` makes
    /// sure of.
    pub fn prompt(&self, blocks: &[u64], length: u64, own: u64) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut left = length;
        let mut number = 0_usize;
        while left > 0 {
            let take = left.min(self.block);
            let name = match blocks.get(number) {
                Some(block) => *block,
                None => self.own_block(own, number),
            };
            self.block(name, take, &mut tokens);
            left -= take;
            number += 1;
        }
        tokens
    }

    /// A name for a block beyond the recorded ones.
    fn own_block(&self, own: u64, number: usize) -> u64 {
        let mut generator = SplitMix64::new(own ^ self.key.rotate_left(17));
        (0..=number).fold(0, |_, _| generator.next_u64())
    }

    /// Appends `take` tokens of the block `name`.
    fn block(&self, name: u64, take: u64, tokens: &mut Vec<u32>) {
        // A block that is cut short is another block.
        let name = if take == self.block {
            name
        } else {
            SplitMix64::new(name ^ take.rotate_left(32)).next_u64()
        };
        let mut generator = SplitMix64::new(name ^ self.key);
        let base = u64::from(self.vocabulary);
        let mut spelled = name;
        for at in 0..take {
            let token = if at < self.name_length() {
                let digit = spelled % base;
                spelled /= base;
                digit
            } else {
                generator.below(base)
            };
            // Below the vocabulary's size, which is a u32.
            tokens.push(u32::try_from(token).unwrap_or(0));
        }
    }

    /// Digits of 64 bits in the vocabulary.
    fn name_length(&self) -> u64 {
        let base = u64::from(self.vocabulary.max(2));
        let (mut digits, mut left) = (0, u64::MAX);
        while left > 0 {
            left /= base;
            digits += 1;
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shared(a: &[u32], b: &[u32]) -> usize {
        a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    proptest! {
        #[test]
        fn prompts_have_their_lengths_and_share_exactly_their_shared_blocks(
            common in prop::collection::vec(0..1_000_u64, 0..6),
            a in prop::collection::vec(1_000..2_000_u64, 1..4),
            b in prop::collection::vec(2_000..3_000_u64, 1..4),
            cut in 1..16_u64,
            key: u64,
        ) {
            let synthesis = Synthesis::new(key, 16, 30_000).unwrap();
            let (a, b) = ([common.clone(), a].concat(), [common.clone(), b].concat());
            let length = |blocks: &[u64]| 16 * blocks.len() as u64 - cut;
            let (a, b) = (synthesis.prompt(&a, length(&a), 1), synthesis.prompt(&b, length(&b), 2));
            prop_assert!(a.iter().chain(&b).all(|token| *token < 30_000));
            prop_assert_eq!((a.len() + b.len()) as u64 % 16, (32 - 2 * cut) % 16);
            let (whole, common) = (shared(&a, &b), 16 * common.len());
            // A block's first token may be the same by chance, its name can't.
            prop_assert!((common..common + 5).contains(&whole), "{} of {}", whole, common);
        }
    }

    #[test]
    fn a_cut_block_is_shared_only_with_its_like() {
        let synthesis = Synthesis::new(9, 64, 1_000).unwrap();
        let whole = synthesis.prompt(&[5], 64, 0);
        let cut = synthesis.prompt(&[5], 40, 0);
        assert_eq!((whole.len(), cut.len()), (64, 40));
        assert_ne!(shared(&whole, &cut), 40);
        assert_eq!(cut, synthesis.prompt(&[5], 40, 1));
    }

    #[test]
    fn what_has_no_block_is_nobody_elses() {
        let synthesis = Synthesis::new(9, 16, 1_000).unwrap();
        let (a, b) = (synthesis.prompt(&[], 100, 1), synthesis.prompt(&[], 100, 2));
        assert_eq!((a.len(), b.len()), (100, 100));
        assert!(shared(&a, &b) < 7);
        assert_eq!(a, synthesis.prompt(&[], 100, 1));
        let another = Synthesis::new(10, 16, 1_000).unwrap();
        assert_ne!(a, another.prompt(&[], 100, 1));
        assert!(synthesis.prompt(&[1], 0, 1).is_empty());
    }

    #[test]
    fn too_small_a_vocabulary_is_refused() {
        assert_eq!(
            Synthesis::new(1, 4, 256).unwrap_err().to_string(),
            "256 tokens in blocks of 4 can't spell the numbers of all blocks: 256 tokens and blocks of 8 can"
        );
        assert!(Synthesis::new(1, 8, 256).is_ok());
        assert!(Synthesis::new(1, 64, 1).is_err());
    }
}
