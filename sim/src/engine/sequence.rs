//! One request inside the engine: what is known of it, what is computed, which blocks it holds.
//!
//! Units: tokens and blocks. A sequence *knows* its prompt and the tokens it has emitted; a step brings `computed`
//! nearer to `known`. When the two meet, the step yields the next token, which is known then and computed by the next
//! step. Its blocks are the first `shared` of `hashes`, then `private` ones.

use std::num::NonZeroU32;

use super::{Emission, Finish, Request, RequestId, count};
use crate::kv::BlockPool;

#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) id: RequestId,
    prompt: u32,
    output: u32,
    finish: Finish,
    hashes: Vec<u64>,
    emitted: u32,
    computed: u32,
    shared: usize,
    private: u32,
    /// Set when it is first admitted.
    cached: Option<u32>,
}

impl Sequence {
    pub(super) fn new(id: RequestId, request: &Request, hashes: Vec<u64>) -> Self {
        Self {
            id,
            prompt: count(request.prompt.len()),
            output: request.output_tokens,
            finish: request.finish,
            hashes,
            emitted: 0,
            computed: 0,
            shared: 0,
            private: 0,
            cached: None,
        }
    }

    /// Tokens whose keys and values are in the cache.
    pub(super) fn computed(&self) -> u32 {
        self.computed
    }

    /// Everything known is computed but the token emitted last.
    pub(super) fn decodes(&self) -> bool {
        self.emitted > 0 && self.known() - self.computed == 1
    }

    pub(super) fn is_done(&self) -> bool {
        self.emitted == self.output
    }

    /// Tokens that the next step should compute: all that is missing, and drafts while decoding. More drafts than
    /// tokens left to emit are of no use.
    pub(super) fn wants(&self, draft_depth: u32) -> u32 {
        let missing = self.known() - self.computed;
        if self.decodes() {
            missing + draft_depth.min(self.output - self.emitted - 1)
        } else {
            missing
        }
    }

    /// Takes the blocks for computing `tokens` more. Takes none and says false where there are not enough.
    pub(super) fn make_room(
        &mut self,
        pool: &mut BlockPool,
        tokens: u32,
        block: NonZeroU32,
    ) -> bool {
        let needed = (self.computed + tokens).div_ceil(block.get());
        let missing = needed.saturating_sub(count(self.shared) + self.private);
        if !pool.take(missing) {
            return false;
        }
        self.private += missing;
        true
    }

    /// Takes hold of the blocks of its prompt that are in the cache already. At least one token is always left to
    /// compute, since only a computed token yields the next one.
    pub(super) fn find_prefix(&mut self, pool: &mut BlockPool, block: NonZeroU32) {
        debug_assert!(self.computed == 0 && self.shared == 0 && self.private == 0);
        let useful = usize::try_from((self.known() - 1) / block.get()).unwrap_or(usize::MAX);
        let useful = useful.min(self.hashes.len());
        self.shared = pool.known_prefix(&self.hashes[..useful]);
        for hash in &self.hashes[..self.shared] {
            pool.hold(*hash);
        }
        self.computed = count(self.shared) * block.get();
    }

    /// It leaves the queue; whether that is the first time.
    pub(super) fn admitted(&mut self) -> bool {
        let first = self.cached.is_none();
        self.cached.get_or_insert(self.computed);
        first
    }

    /// Tokens of its prompt.
    pub(super) fn prompt(&self) -> u32 {
        self.prompt
    }

    /// Counts a step's work: `tokens` known ones were computed, and `kept` drafts turned out right.
    pub(super) fn advance(&mut self, tokens: u32, kept: u32) -> Option<Emission> {
        self.computed += tokens;
        if tokens == 0 || self.computed < self.known() {
            return None;
        }
        let kept = kept.min(self.output - self.emitted - 1);
        self.computed += kept;
        self.emitted += kept + 1;
        Some(Emission {
            id: self.id,
            tokens: kept + 1,
            cached: self.cached.unwrap_or(0),
            finished: self.is_done().then_some(self.finish),
        })
    }

    /// Lets others find the blocks of its prompt that are computed by now.
    pub(super) fn share_blocks(&mut self, pool: &mut BlockPool, block: NonZeroU32) {
        let whole = usize::try_from(self.computed / block.get()).unwrap_or(usize::MAX);
        while self.shared < whole.min(self.hashes.len()) {
            pool.share(self.hashes[self.shared]);
            self.shared += 1;
            self.private -= 1;
        }
    }

    /// Lets go of its blocks and with them of what was computed.
    pub(super) fn lose_blocks(&mut self, pool: &mut BlockPool) {
        pool.release(&self.hashes[..self.shared]);
        pool.give_back(self.private);
        self.shared = 0;
        self.private = 0;
        self.computed = 0;
    }

    fn known(&self) -> u32 {
        self.prompt + self.emitted
    }
}
