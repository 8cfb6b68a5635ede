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
use zeroize::Zeroize;

/// A secret of one capture. It lives in memory and goes with the capture: what held it is overwritten.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// Hash of a block and of all blocks before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockHash(pub [u8; 32]);

/// What is in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block<'a> {
    /// Token ids.
    Tokens(&'a [u32]),
    /// Bytes, where there is no tokenizer: h_i = MAC(key, h_{i−1} ‖ u32le(len) ‖ bytes).
    Bytes(&'a [u8]),
}

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

impl Key {
    /// Keyed BLAKE3 of parts, each with its length before it.
    pub fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        *hasher.finalize().as_bytes()
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
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
                before = self.link(before, Block::Tokens(block));
                before
            })
            .collect()
    }

    /// The hash of a block after the one that `before` is of; after none, of 32 zero bytes.
    pub fn link(&self, before: BlockHash, block: Block<'_>) -> BlockHash {
        let mut message = Vec::with_capacity(36 + block.bytes());
        message.extend_from_slice(&before.0);
        message.extend_from_slice(&u32::try_from(block.len()).unwrap_or(u32::MAX).to_le_bytes());
        match block {
            Block::Tokens(ids) => message.extend(ids.iter().flat_map(|id| id.to_le_bytes())),
            Block::Bytes(bytes) => message.extend_from_slice(bytes),
        }
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
                filled.zeroize();
                mac.finalize().into_bytes().into()
            }
        })
    }
}

// Block

impl Block<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Tokens(ids) => ids.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Tokens(ids) => size_of_val(*ids),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

// BlockHash

impl BlockHash {
    /// Its first 8 bytes, the most significant first: [`BlockHash::short_hex`] as a number.
    pub fn short(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

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
