//! The KV cache: blocks with an owner, blocks that several sequences share, blocks kept because a prompt may come back.
//!
//! Unit: blocks. A shared block is known by a hash of its tokens and of all tokens before it, so that equal hashes mean
//! equal prefixes. Invariant: `private + shared ≤ total`. Only shared blocks that nobody holds are ever given up, the
//! one untouched for longest first.

use std::collections::{BTreeMap, HashMap};

/// A shared block.
#[derive(Debug)]
struct Shared {
    /// Sequences that hold it.
    holders: u32,
    /// Its key in `idle`, if nobody does.
    idle_since: u64,
}

/// All blocks of an engine.
#[derive(Debug)]
pub(crate) struct BlockPool {
    total: u32,
    private: u32,
    shared: HashMap<u64, Shared>,
    idle: BTreeMap<u64, u64>,
    ticks: u64,
}

impl BlockPool {
    pub(crate) fn new(total: u32) -> Self {
        Self {
            total,
            private: 0,
            shared: HashMap::new(),
            idle: BTreeMap::new(),
            ticks: 0,
        }
    }

    /// Blocks that some sequence holds.
    pub(crate) fn held(&self) -> u32 {
        self.private + count(self.shared.len()) - count(self.idle.len())
    }

    /// How many of these prefix hashes are here, from the first on without a gap.
    pub(crate) fn known_prefix(&self, hashes: &[u64]) -> usize {
        hashes
            .iter()
            .take_while(|hash| self.shared.contains_key(hash))
            .count()
    }

    /// Takes hold of a shared block that is here.
    pub(crate) fn hold(&mut self, hash: u64) {
        if let Some(block) = self.shared.get_mut(&hash) {
            if block.holders == 0 {
                self.idle.remove(&block.idle_since);
            }
            block.holders += 1;
        }
    }

    /// Lets go of shared blocks. The last ones are forgotten first, since a prefix is worth more without its end than
    /// without its beginning.
    pub(crate) fn release(&mut self, hashes: &[u64]) {
        for hash in hashes.iter().rev() {
            let Some(block) = self.shared.get_mut(hash) else {
                continue;
            };
            debug_assert!(block.holders > 0, "a block is released once by each holder");
            block.holders -= 1;
            if block.holders == 0 {
                self.ticks += 1;
                block.idle_since = self.ticks;
                self.idle.insert(self.ticks, *hash);
            }
        }
    }

    /// Takes `count` blocks for one sequence alone. Takes none and says false where there are not enough.
    pub(crate) fn take(&mut self, count: u32) -> bool {
        if count > self.total - self.held() {
            return false;
        }
        while self.private + self::count(self.shared.len()) + count > self.total {
            let Some((_, hash)) = self.idle.pop_first() else {
                return false;
            };
            self.shared.remove(&hash);
        }
        self.private += count;
        true
    }

    /// Gives back blocks of one sequence.
    pub(crate) fn give_back(&mut self, count: u32) {
        debug_assert!(count <= self.private, "only taken blocks are given back");
        self.private -= count;
    }

    /// Turns a private block into a shared one held by its former owner. Where that block is here already, the private
    /// one becomes free.
    pub(crate) fn share(&mut self, hash: u64) {
        self.give_back(1);
        // A block that nobody holds is inserted and then held, so that there is one way of taking hold.
        self.shared.entry(hash).or_insert(Shared {
            holders: 0,
            idle_since: 0,
        });
        self.hold(hash);
        debug_assert!(self.private + count(self.shared.len()) <= self.total);
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_prefix_is_found_again_until_room_is_needed() {
        let mut pool = BlockPool::new(4);
        assert!(pool.take(3));
        for hash in [1, 2, 3] {
            pool.share(hash);
        }
        pool.release(&[1, 2, 3]);
        assert_eq!(pool.held(), 0);
        assert_eq!(pool.known_prefix(&[1, 2, 3, 4]), 3);

        // One block is free, so that two more cost one kept block: the prefix's end.
        assert!(pool.take(2));
        assert_eq!(pool.known_prefix(&[1, 2, 3]), 2);
    }

    #[test]
    fn a_block_that_someone_holds_is_never_given_up() {
        let mut pool = BlockPool::new(2);
        assert!(pool.take(1));
        pool.share(7);
        assert!(!pool.take(2));
        assert_eq!(pool.known_prefix(&[7]), 1);
        assert_eq!(pool.held(), 1);

        // Held twice, it stays until both have let go.
        pool.hold(7);
        pool.release(&[7]);
        assert!(!pool.take(2));
        pool.release(&[7]);
        assert!(pool.take(2));
        assert_eq!(pool.known_prefix(&[7]), 0);
    }

    #[test]
    fn sharing_what_is_there_already_frees_the_copy() {
        let mut pool = BlockPool::new(2);
        assert!(pool.take(2));
        pool.share(9);
        pool.share(9);
        assert_eq!(pool.held(), 1);
        assert!(pool.take(1));
    }
}
