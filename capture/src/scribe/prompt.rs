//! A prompt as a sequence of units, and the chain of its blocks' hashes.
//!
//! With a tokenizer, units are tokens: texts are encoded piece by piece without special tokens, and each mark (a message or a
//! member begins) and each image or sound is one unit, whose number no token has. A chat template's own tokens are not known.
//! Without, they are the bytes of the canonical form.

use judge::prefix::{Block, BlockHash, Hashing, Key};
use tokenizers::Tokenizer;
use wire::{Piece, Prompt};

/// Most turns of a prompt that are looked up among earlier prompts, the latest ones.
const TURNS: usize = 64;

/// From here on, units are no tokens.
const NO_TOKEN: u32 = 1 << 31;

/// A prompt in units.
pub(super) struct Units {
    list: List,
    /// Where a message of the model's side begins after one of the client's.
    turns: Vec<usize>,
    is_chat: bool,
    has_media: bool,
}

enum List {
    Tokens(Vec<u32>),
    Bytes(Vec<u8>),
}

/// Hashes of a prompt.
pub(super) struct Chain {
    /// Length of the prompt.
    pub(super) units: u64,
    /// One for each block, the last short one included.
    pub(super) blocks: Vec<u64>,
    /// Blocks that are not short.
    pub(super) full: usize,
    /// Of the whole prompt, however its last block ends; `None` of one that can't be gone on with turn by turn.
    pub(super) end: Option<u64>,
    /// What [`Chain::end`] of the prompts was that this one may go on from, the longest first.
    pub(super) before: Vec<u64>,
    /// It holds images or sounds.
    pub(super) has_media: bool,
}

// ---- Units

impl Units {
    pub(super) fn of(prompt: &Prompt, tokenizer: Option<&Tokenizer>, key: &Key) -> Self {
        let is_chat = matches!(prompt.pieces.first(), Some(Piece::Message(_)));
        let has_media = prompt
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Media(_)));
        let (list, turns) = match tokenizer {
            None => {
                let form = prompt.canonical(|media| key.digest(&[b"media", media]));
                (List::Bytes(form.bytes), form.turns)
            }
            Some(tokenizer) => {
                let (ids, turns) = tokens(prompt, tokenizer, key);
                (List::Tokens(ids), turns)
            }
        };
        Self {
            list,
            turns,
            is_chat,
            has_media,
        }
    }

    /// Hashes its blocks, the first of them after `salt`.
    pub(super) fn chain(&self, hashing: &Hashing, salt: &[u8]) -> Chain {
        let zero = BlockHash([0; 32]);
        let seed = match salt {
            [] => zero,
            salt => hashing.link(zero, Block::Bytes(salt)),
        };
        let size = hashing.block_tokens.max(1);
        let mut hashes = vec![seed];
        let mut at = 0;
        while at < self.len() {
            let before = hashes.last().copied().unwrap_or(seed);
            hashes.push(hashing.link(before, self.slice(at, at + size)));
            at += size;
        }
        // Up to any place: the block before it, and what of the next one comes before it.
        let until = |place: usize| {
            let blocks = place / size;
            let before = hashes.get(blocks).copied().unwrap_or(seed);
            hashing
                .link(before, self.slice(blocks * size, place))
                .short()
        };
        let turns = self.turns.iter().rev().take(TURNS);
        let before = turns.map(|place| until(*place)).collect();
        Chain {
            units: self.len() as u64,
            full: self.len() / size,
            end: self.is_chat.then(|| until(self.len())),
            before,
            has_media: self.has_media,
            blocks: hashes.iter().skip(1).map(BlockHash::short).collect(),
        }
    }

    fn len(&self) -> usize {
        match &self.list {
            List::Tokens(ids) => ids.len(),
            List::Bytes(bytes) => bytes.len(),
        }
    }

    fn slice(&self, from: usize, to: usize) -> Block<'_> {
        let to = to.min(self.len());
        match &self.list {
            List::Tokens(ids) => Block::Tokens(ids.get(from..to).unwrap_or_default()),
            List::Bytes(bytes) => Block::Bytes(bytes.get(from..to).unwrap_or_default()),
        }
    }
}

fn tokens(prompt: &Prompt, tokenizer: &Tokenizer, key: &Key) -> (Vec<u32>, Vec<usize>) {
    let sign = |what: &[u8], bytes: &[u8]| NO_TOKEN | first_four(&key.digest(&[what, bytes]));
    let (mut ids, mut turns) = (Vec::new(), Vec::new());
    let mut by_client = false;
    for piece in &prompt.pieces {
        match piece {
            Piece::Message(role) => {
                if by_client && piece.is_models() {
                    turns.push(ids.len());
                }
                by_client = !piece.is_models();
                ids.push(sign(b"message", role.as_bytes()));
            }
            Piece::Member(name) => ids.push(sign(b"member", name.as_bytes())),
            // A text that can't be encoded stands as one unit.
            Piece::Text(text) => match tokenizer.encode_fast(text.as_str(), false) {
                Ok(encoded) => ids.extend_from_slice(encoded.get_ids()),
                Err(_) => ids.push(sign(b"text", text.as_bytes())),
            },
            Piece::Tokens(given) => ids.extend_from_slice(given),
            Piece::Media(media) => ids.push(sign(b"media", media)),
        }
    }
    (ids, turns)
}

fn first_four(hash: &[u8; 32]) -> u32 {
    let [a, b, c, d, ..] = *hash;
    u32::from_be_bytes([a, b, c, d])
}

/// The first 8 bytes of a hash, the most significant first.
pub(super) fn short(hash: &[u8; 32]) -> u64 {
    BlockHash(*hash).short()
}
