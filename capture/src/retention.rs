//! Segments that have had their time: deleted by age, or the oldest first for space.
//!
//! Of each capture the segment with the lowest number goes first, so that what is left is a chain without holes; where it
//! begins is noted before the file goes. A segment's texts go with it. A segment that can't be read is left alone: it may
//! be another's.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::chain::Chain;
use crate::error::{Doing, Error};
use crate::folder::{self, Folder};
use crate::limits::Limits;
use crate::segment::{self, Segment};
use crate::texts;

/// The sealed segments of a pod.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    captures: BTreeMap<String, VecDeque<Kept>>,
    bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    bytes: u64,
    last_wall_us: i64,
}

impl Shelf {
    /// What lies in the folder. Bytes of segments that can't be read count.
    pub(crate) fn open(folder: &Folder) -> Result<Self, Error> {
        let mut shelf = Self::default();
        for path in segment::paths(folder.root())? {
            let of_pod = format!("pod={}", folder.pod());
            if path.parent().is_none_or(|above| !above.ends_with(&of_pod)) {
                continue;
            }
            match Segment::open(&path) {
                Ok(segment) if segment.about.pod == folder.pod() => shelf.add(&segment)?,
                _ => shelf.bytes += size(&path)?,
            }
        }
        for kept in shelf.captures.values_mut() {
            kept.make_contiguous().sort_by_key(|kept| kept.number);
        }
        Ok(shelf)
    }

    /// Puts a segment on it.
    pub(crate) fn add(&mut self, segment: &Segment) -> Result<(), Error> {
        let bytes = size(&segment.path)? + size(&texts::beside(&segment.path)).unwrap_or(0);
        self.bytes += bytes;
        let kept = Kept {
            path: segment.path.clone(),
            number: segment.about.segment,
            bytes,
            last_wall_us: segment.seal.last_wall_us.unwrap_or(i64::MIN),
        };
        let capture = self.captures.entry(segment.about.capture.clone());
        capture.or_default().push_back(kept);
        Ok(())
    }

    /// What all of them take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes off what somebody else has deleted: an upload does.
    pub(crate) fn forget_gone(&mut self) {
        for kept in self.captures.values_mut() {
            kept.retain(|kept| {
                let there = kept.path.exists();
                self.bytes -= if there { 0 } else { kept.bytes };
                there
            });
        }
        self.captures.retain(|_, kept| !kept.is_empty());
    }

    /// Their files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let kept = self.captures.values().flatten();
        kept.map(|kept| kept.path.clone()).collect()
    }

    /// Deletes one segment that is due, if one is: too old, or the oldest of more than may be kept. Returns its file.
    pub(crate) fn expire(
        &mut self,
        folder: &Folder,
        limits: &Limits,
        now_us: i64,
    ) -> Result<Option<PathBuf>, Error> {
        let firsts = self
            .captures
            .iter()
            .filter_map(|(capture, kept)| Some((capture, kept.front()?)));
        let Some((capture, oldest)) = firsts.min_by_key(|(_, kept)| kept.last_wall_us) else {
            return Ok(None);
        };
        let too_old = limits.keep_secs.is_some_and(|secs| {
            let kept_us = i64::try_from(secs.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
            now_us.saturating_sub(oldest.last_wall_us) > kept_us
        });
        let too_much = limits.keep_bytes.is_some_and(|bytes| self.bytes > bytes);
        if !too_old && !too_much {
            return Ok(None);
        }
        let capture = capture.clone();
        self.delete_first(folder, &capture)
    }

    fn delete_first(&mut self, folder: &Folder, capture: &str) -> Result<Option<PathBuf>, Error> {
        let Some(kept) = self.captures.get_mut(capture) else {
            return Ok(None);
        };
        let Some(first) = kept.front() else {
            return Ok(None);
        };
        let known = Chain::load(folder.root(), folder.pod(), capture);
        let mut chain = known.unwrap_or_else(|| Chain::new(capture));
        chain.first = first.number + 1;
        chain.next = chain.next.max(chain.first);
        chain.store(folder)?;
        let path = first.path.clone();
        delete(&path)?;
        self.bytes -= first.bytes;
        kept.pop_front();
        if kept.is_empty() {
            self.captures.remove(capture);
            if chain.ended {
                chain.forget(folder)?;
            }
        }
        Ok(Some(path))
    }
}

/// Deletes a segment with its texts, and the folders that are empty then.
fn delete(path: &Path) -> Result<(), Error> {
    folder::remove(&texts::beside(path))?;
    folder::remove(path)?;
    let mut above = path.parent();
    for _ in 0..3 {
        let Some(folder) = above else { break };
        // It fails where others have files there.
        if fs::remove_dir(folder).is_err() {
            break;
        }
        above = folder.parent();
    }
    Ok(())
}

fn size(path: &Path) -> Result<u64, Error> {
    Ok(fs::metadata(path).doing("look at", path)?.len())
}
