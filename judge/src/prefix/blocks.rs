//! Keyed, chained hashes of token blocks, and the small numbers that they are renamed to.
//!
//! h_0 = 32 zero bytes; h_i = MAC(key, h_{i−1} ‖ u32le(len) ‖ u32le(token_1) ‖ …). The chain makes equal content after
//! different prefixes different blocks, as in an engine's cache. The key is secret: an unkeyed hash could be searched by
//! guessing prompts. An id is the order of first appearance over the whole capture, from 0, and does not depend on the key.
//! (The layout of ids is that of the Mooncake traces, kvcache-ai/Mooncake; block chaining as in vLLM's prefix caching.)

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;
use std::collections::HashMap;
use std::fmt;

/// A secret of one capture. It lives in memory and goes with the capture.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// Hash of a block and of all blocks before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHash(pub [u8; 32]);

/// The function that hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mac {
    /// HMAC-SHA-256 (RFC 2104).
    HmacSha256,
    /// Keyed BLAKE3.
    Blake3Keyed,
}

/// How prompts are cut and hashed.
#[derive(Debug, Clone)]
pub struct Hashing {
    /// The function.
    pub mac: Mac,
    /// The secret.
    pub key: Key,
    /// Tokens a block, at least 1.
    pub block_tokens: usize,
    /// A last, shorter block is hashed too (as the Mooncake traces do). Engines reuse whole blocks only.
    pub include_partial: bool,
}

/// Ids of blocks, given out in order of first appearance.
#[derive(Debug, Clone, Default)]
pub struct BlockIds {
    known: HashMap<BlockHash, u64>,
}

// Key

impl Key {
    /// A key of 32 secret bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Key(…)")
    }
}

// Hashing

impl Hashing {
    /// The hashes of a prompt's blocks, in order.
    pub fn hashes(&self, tokens: &[u32]) -> Vec<BlockHash> {
        let size = self.block_tokens.max(1);
        let mut before = BlockHash([0; 32]);
        tokens
            .chunks(size)
            .filter(|block| self.include_partial || block.len() == size)
            .map(|block| {
                before = self.link(before, block);
                before
            })
            .collect()
    }

    fn link(&self, before: BlockHash, block: &[u32]) -> BlockHash {
        let length = u32::try_from(block.len()).unwrap_or(u32::MAX);
        let words = std::iter::once(length).chain(block.iter().copied());
        let message = before.0.into_iter().chain(words.flat_map(u32::to_le_bytes));
        let message: Vec<u8> = message.collect();
        BlockHash(match self.mac {
            Mac::Blake3Keyed => *blake3::keyed_hash(&self.key.0, &message).as_bytes(),
            Mac::HmacSha256 => {
                // A key shorter than the function's block is filled up with zeros (RFC 2104).
                let mut filled = [0; 64];
                for (to, from) in filled.iter_mut().zip(self.key.0) {
                    *to = from;
                }
                let mut mac = Hmac::<Sha256>::new(&filled.into());
                mac.update(&message);
                mac.finalize().into_bytes().into()
            }
        })
    }
}

// BlockHash

impl BlockHash {
    /// Its first 8 bytes, in lower-case hexadecimal.
    pub fn short_hex(&self) -> String {
        self.0
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

// BlockIds

impl BlockIds {
    /// Ids of blocks: those that were seen before keep theirs.
    pub fn of(&mut self, hashes: &[BlockHash]) -> Vec<u64> {
        hashes
            .iter()
            .map(|hash| {
                let next = self.known.len() as u64;
                *self.known.entry(*hash).or_insert(next)
            })
            .collect()
    }
}
