//! What a prefix cache would have reused of a capture: a simulation over its rows, in order.
//!
//! A row reuses its leading blocks that are in the cache, never more than its tokens. Then all its blocks are touched from
//! the last to the first, so that the head stays longest, and the least recently touched leave while there are more than
//! the capacity. (The order of vLLM's prefix cache: least recently used first, tails before heads.)

use std::collections::{BTreeMap, HashMap};

/// One request of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// Ids of its prompt's blocks.
    pub blocks: &'a [u64],
    /// Tokens of its prompt.
    pub input_tokens: u64,
}

/// A cache of blocks.
#[derive(Debug, Clone)]
pub struct PrefixCache {
    block_tokens: u64,
    /// Blocks at most; `None` is infinite.
    capacity: Option<usize>,
    touched: HashMap<u64, u64>,
    by_touch: BTreeMap<u64, u64>,
    touches: u64,
}

/// What was reused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reuse {
    /// Of each row, in tokens.
    pub cached_tokens: Vec<u64>,
    /// Tokens of all rows.
    pub input_tokens: u64,
}

impl PrefixCache {
    /// An empty cache.
    pub fn new(block_tokens: u64, capacity: Option<usize>) -> Self {
        Self {
            block_tokens,
            capacity,
            touched: HashMap::new(),
            by_touch: BTreeMap::new(),
            touches: 0,
        }
    }

    /// Serves rows in order.
    pub fn serve<'a>(&mut self, rows: impl IntoIterator<Item = Row<'a>>) -> Reuse {
        let mut reuse = Reuse::default();
        for row in rows {
            reuse.cached_tokens.push(self.serve_one(row));
            reuse.input_tokens += row.input_tokens;
        }
        reuse
    }

    fn serve_one(&mut self, row: Row<'_>) -> u64 {
        let leading = row.blocks.iter();
        let leading = leading.take_while(|block| self.touched.contains_key(block));
        let cached = leading.count() as u64 * self.block_tokens;
        for block in row.blocks.iter().rev() {
            self.touch(*block);
        }
        if let Some(capacity) = self.capacity {
            while self.touched.len() > capacity {
                self.evict();
            }
        }
        cached.min(row.input_tokens)
    }

    fn touch(&mut self, block: u64) {
        self.touches += 1;
        if let Some(before) = self.touched.insert(block, self.touches) {
            self.by_touch.remove(&before);
        }
        self.by_touch.insert(self.touches, block);
    }

    fn evict(&mut self) {
        if let Some((_, block)) = self.by_touch.pop_first() {
            self.touched.remove(&block);
        }
    }
}

impl Reuse {
    /// Share of all prompt tokens that was reused. `None` of none.
    pub fn token_hit_rate(&self) -> Option<f64> {
        let cached: u64 = self.cached_tokens.iter().sum();
        (self.input_tokens > 0).then(|| cached as f64 / self.input_tokens as f64)
    }
}
