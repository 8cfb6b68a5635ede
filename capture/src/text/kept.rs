//! Bounded copies of bodies while their exchanges are open and until they are written.
//!
//! A copy is bounded on its own, and all of them together. Its memory is counted as it is allocated, not as it is used, and
//! is given back when it is dropped, wherever that is. A body that finds no room is cut there for good and counted: the
//! bytes of a body that are kept are always its first. Nothing here waits, and adding to a copy takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The least that a copy grows by.
const STEP_BYTES: usize = 4 * 1024;

/// Memory for copies.
#[derive(Debug, Clone)]
pub struct Room {
    each: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    free: AtomicUsize,
    cut: AtomicU64,
}

/// The first bytes of a body.
#[derive(Debug, Default)]
pub struct Kept {
    bytes: Vec<u8>,
    cut: bool,
    /// Where its memory comes from; `None` for what was not copied from traffic.
    room: Option<Room>,
}

// ---- Room

impl Room {
    /// Room for copies of up to `each` bytes, and of up to `total` bytes together.
    pub fn new(each: usize, total: usize) -> Self {
        Self {
            each,
            shared: Arc::new(Shared {
                free: AtomicUsize::new(total),
                cut: AtomicU64::new(0),
            }),
        }
    }

    /// A copy that has nothing yet, and takes no memory.
    pub fn copy(&self) -> Kept {
        Kept {
            bytes: Vec::new(),
            cut: false,
            room: Some(self.clone()),
        }
    }

    /// Bodies that were cut so far.
    pub fn cut(&self) -> u64 {
        self.shared.cut.load(Ordering::Relaxed)
    }

    /// Bytes that are free.
    pub fn free(&self) -> usize {
        self.shared.free.load(Ordering::Relaxed)
    }

    /// Takes so many bytes, all of them or none.
    fn take(&self, bytes: usize) -> bool {
        let left = |free: usize| free.checked_sub(bytes);
        self.shared
            .free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
            .is_ok()
    }
}

// ---- Kept

impl Kept {
    /// Adds bytes, as far as there is room.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.cut || bytes.is_empty() {
            return;
        }
        let room = self.grow(self.bytes.len().saturating_add(bytes.len()));
        let (kept, left) = bytes.split_at(bytes.len().min(room - self.bytes.len()));
        self.bytes.extend_from_slice(kept);
        if !left.is_empty() {
            self.cut = true;
            if let Some(room) = &self.room {
                room.shared.cut.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there was more.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Makes room for `wanted` bytes in all, and returns how many there is room for.
    fn grow(&mut self, wanted: usize) -> usize {
        let (has, Some(room)) = (self.bytes.capacity(), &self.room) else {
            return wanted;
        };
        let wanted = wanted.min(room.each);
        if wanted <= has {
            return wanted;
        }
        // Twice as much each time, so that growing costs little; what is wanted alone if that is too much.
        let ample = wanted.max(has * 2).max(STEP_BYTES).min(room.each);
        for size in [ample, wanted] {
            if room.take(size - has) {
                self.bytes.reserve_exact(size - self.bytes.len());
                return wanted;
            }
        }
        has
    }
}

impl From<Vec<u8>> for Kept {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            cut: false,
            room: None,
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            let bytes = self.bytes.capacity();
            room.shared.free.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_first_bytes_however_they_come() {
        for piece in [1, 7, 4096, 20_000] {
            let room = Room::new(10_000, 100_000);
            let body: Vec<u8> = (0..20_000)
                .map(|n| u8::try_from(n % 251).unwrap())
                .collect();
            let mut copy = room.copy();
            for bytes in body.chunks(piece) {
                copy.push(bytes);
            }
            assert_eq!(copy.bytes(), &body[..10_000]);
            assert!(copy.is_cut());
            assert_eq!(room.cut(), 1);
            drop(copy);
            assert_eq!(room.free(), 100_000);
        }
    }

    #[test]
    fn all_copies_together_have_an_end_and_room_comes_back() {
        let room = Room::new(10_000, 25_000);
        let mut copies: Vec<Kept> = (0..4).map(|_| room.copy()).collect();
        assert_eq!(room.free(), 25_000);
        for copy in &mut copies {
            copy.push(&[7; 9_000]);
        }
        let kept: Vec<_> = copies.iter().map(|copy| copy.bytes().len()).collect();
        assert_eq!(kept, [9_000, 9_000, 0, 0]);
        assert_eq!(room.cut(), 2);
        copies.remove(0);
        // What was cut stays cut, or it would have a hole.
        copies[1].push(&[7; 10]);
        assert!(copies[1].bytes().is_empty());
        let mut next = room.copy();
        next.push(&[7; 9_000]);
        assert!(!next.is_cut());
    }

    #[test]
    fn a_body_that_fits_exactly_is_whole() {
        let room = Room::new(5_000, 5_000);
        let mut copy = room.copy();
        copy.push(&[7; 5_000]);
        copy.push(&[]);
        assert!(!copy.is_cut() && room.free() == 0);
        copy.push(&[7]);
        assert!(copy.is_cut());
    }
}
