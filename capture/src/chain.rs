//! What a pod's capture has come to: a note beside its log, so that what is missing can be told from what was deleted.
//!
//! A segment names the SHA-256 of the one before it. That alone can't tell a lost head from an expired one, nor a lost tail
//! from a capture that goes on. The note says where the chain begins, where it ends, and with which hash. It is replaced as
//! a whole, after a segment has got its name: it may lag behind by one segment, never ahead of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Doing, Error};
use crate::folder::{self, Folder, STATE};

const EXTENSION: &str = "chain";
/// A note is smaller than this.
const NOTE_MAX: u64 = 4096;

/// What is known of the segments of one capture of one pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) capture: String,
    /// Number of the first segment that is kept; those before it were deleted, by age or for space.
    pub(crate) first: u64,
    /// Segments that were sealed: the number of the next.
    pub(crate) next: u64,
    /// SHA-256 of the last one, in hex.
    pub(crate) last: String,
    /// There will be no other.
    pub(crate) ended: bool,
}

impl Chain {
    /// Of a capture that has no segment yet.
    pub(crate) fn new(capture: &str) -> Self {
        Self {
            capture: capture.to_owned(),
            first: 0,
            next: 0,
            last: String::new(),
            ended: false,
        }
    }

    /// The note of a capture, if it is there and can be read.
    pub(crate) fn load(root: &Path, pod: &str, capture: &str) -> Option<Self> {
        read(&state(root, pod).join(format!("{capture}.{EXTENSION}")))
    }

    /// Every note of a pod.
    pub(crate) fn all(root: &Path, pod: &str) -> Vec<Self> {
        let entries = fs::read_dir(state(root, pod))
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        let notes = paths.filter(|path| path.extension().is_some_and(|found| found == EXTENSION));
        notes.filter_map(|path| read(&path)).collect()
    }

    /// Counts a segment, however often it is told.
    pub(crate) fn sealed(&mut self, segment: u64, sha256: &str) {
        self.next = self.next.max(segment + 1);
        if self.next == segment + 1 {
            sha256.clone_into(&mut self.last);
        }
    }

    /// Replaces the note.
    pub(crate) fn store(&self, folder: &Folder) -> Result<(), Error> {
        let path = self.path(folder);
        let partial = path.with_extension("partial");
        let json = serde_json::to_vec(self).map_err(|why| Error::file(&path, why.to_string()))?;
        folder::remove(&partial)?;
        let mut file = folder::create(&partial)?;
        file.write_all(&json).doing("write to", &partial)?;
        file.sync_all().doing("sync", &partial)?;
        folder::replace(&partial, &path)
    }

    /// Deletes the note: nothing of the capture is left.
    pub(crate) fn forget(&self, folder: &Folder) -> Result<(), Error> {
        folder::remove(&self.path(folder))
    }

    fn path(&self, folder: &Folder) -> PathBuf {
        folder.state().join(format!("{}.{EXTENSION}", self.capture))
    }
}

fn state(root: &Path, pod: &str) -> PathBuf {
    root.join(STATE).join(format!("pod={pod}"))
}

fn read(path: &Path) -> Option<Chain> {
    let small = fs::metadata(path).ok()?.len() <= NOTE_MAX;
    small
        .then(|| serde_json::from_slice(&fs::read(path).ok()?).ok())
        .flatten()
}
