//! A table of bounded size that forgets what was not used for longest, roughly: two halves, of which the older one goes when
//! the newer one is full.

use std::collections::HashMap;
use std::hash::Hash;

/// Entries of a half.
const HALF: usize = 65_536;

/// The table.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    new: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self {
            new: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Takes an entry out.
    pub(super) fn take(&mut self, key: &K) -> Option<V> {
        self.new.remove(key).or_else(|| self.old.remove(key))
    }

    /// Puts an entry in, in place of the one of the same key.
    pub(super) fn put(&mut self, key: K, value: V) {
        if self.new.len() >= HALF {
            self.old = std::mem::take(&mut self.new);
        }
        self.old.remove(&key);
        self.new.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_stay_and_the_size_is_bounded() {
        let mut recent = Recent::default();
        for key in 0..5 * HALF {
            recent.put(key, key);
            assert!(recent.new.len() + recent.old.len() <= 2 * HALF);
        }
        let last = 5 * HALF - 1;
        for key in last - HALF..=last {
            assert_eq!(recent.take(&key), Some(key));
        }
        assert_eq!(recent.take(&0), None);
        assert_eq!(recent.take(&last), None);
    }
}
