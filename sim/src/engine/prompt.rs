//! Prompts as chains of block hashes.

use std::num::NonZeroU32;

/// FNV-1a's parameters for 64 bits.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A hash for every full block of a prompt, each over all tokens up to the block's end.
pub(super) fn block_hashes(prompt: &[u32], block_tokens: NonZeroU32) -> Vec<u64> {
    let block = usize::try_from(block_tokens.get()).unwrap_or(usize::MAX);
    let mut hash = OFFSET;
    prompt
        .chunks_exact(block)
        .map(|tokens| {
            hash = tokens
                .iter()
                .flat_map(|token| token.to_le_bytes())
                .fold(hash, mix);
            hash
        })
        .collect()
}

fn mix(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(PRIME)
}
