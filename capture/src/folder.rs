//! Where the files of a capture lie, and who may write there.
//!
//! ```text
//! FOLDER/date=2026-01-31/hour=07/pod=NAME/segment-CAPTURE-000000.parquet     sealed, for everyone to read
//! FOLDER/.loadproof/pod=NAME/CAPTURE-000001.log                              open, see `log`
//! FOLDER/date=2026-01-31/hour=07/pod=NAME/segment-CAPTURE-000000.text.tar    its texts, see `text`
//! FOLDER/.loadproof/pod=NAME/CAPTURE-000001.texts                            those of the open one
//! FOLDER/.loadproof/pod=NAME/CAPTURE.chain                                   which segments there are, see `chain`
//! FOLDER/.loadproof/pod=NAME/lock                                            held by the one process that writes
//! ```
//! Date and hour are UTC, of the first arrival in the segment. Files have mode 0600, folders 0700.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::{Doing, Error};

/// The folder that holds logs and locks.
pub(crate) const STATE: &str = ".loadproof";
/// Longest name of a pod or a capture, in bytes: that of a name in Kubernetes.
const NAME_MAX: usize = 253;

/// A folder, held for one pod: no other process writes under this pod's name as long as this lives.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    pod: String,
    _lock: File,
}

impl Folder {
    /// Makes the folder if it isn't there, and locks it.
    pub(crate) fn hold(root: &Path, pod: &str) -> Result<Self, Error> {
        check_name("the pod's name", pod)?;
        let state = root.join(STATE).join(format!("pod={pod}"));
        make(&state)?;
        let path = state.join("lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = options.open(&path).doing("open", &path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                pod: pod.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Error::Locked { path }),
            Err(TryLockError::Error(source)) => Err(source).doing("lock", &path),
        }
    }

    /// The folder that readers are given.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The pod that it is held for.
    pub(crate) fn pod(&self) -> &str {
        &self.pod
    }

    /// Where logs lie.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join(STATE).join(format!("pod={}", self.pod))
    }

    /// The log of a segment that isn't sealed yet.
    pub(crate) fn log(&self, capture: &str, segment: u64) -> PathBuf {
        self.state().join(format!("{capture}-{segment:06}.log"))
    }

    /// The texts of a segment that isn't sealed yet.
    pub(crate) fn texts(&self, capture: &str, segment: u64) -> PathBuf {
        self.log(capture, segment).with_extension("texts")
    }

    /// The file of a sealed segment whose first arrival was at `wall_us`.
    pub(crate) fn segment(&self, capture: &str, segment: u64, wall_us: i64) -> PathBuf {
        let at = Timestamp::from_microsecond(wall_us).unwrap_or(Timestamp::UNIX_EPOCH);
        self.root
            .join(at.strftime("date=%Y-%m-%d").to_string())
            .join(at.strftime("hour=%H").to_string())
            .join(format!("pod={}", self.pod))
            .join(format!("segment-{capture}-{segment:06}.parquet"))
    }
}

/// Refuses what could lead out of the folder, or would be read as something else in a path.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.');
    if fits && name.bytes().all(plain) {
        return Ok(());
    }
    Err(Error::Setting {
        what,
        value: name.chars().take(80).collect(),
        fix: "1 to 253 letters, digits, dots, hyphens and underscores, and no dot in front",
    })
}

/// Makes a folder with all that it lies in.
pub(crate) fn make(folder: &Path) -> Result<(), Error> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .doing("make the folder", folder)
}

/// A new file with mode 0600 that only we have.
pub(crate) fn create(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o600);
    options.open(path).doing("create", path)
}

/// Makes a finished file appear under its name, for good: nothing is overwritten, and it is there after a loss of power.
pub(crate) fn publish(partial: &Path, path: &Path) -> Result<(), Error> {
    match renameat_with(CWD, partial, CWD, path, RenameFlags::NOREPLACE).map_err(io::Error::from) {
        Ok(()) => {}
        // Network file systems don't know the flag. We hold the lock, so nobody comes between the look and the move.
        Err(refused) if refused.kind() != io::ErrorKind::AlreadyExists && !path.exists() => {
            fs::rename(partial, path).doing("rename to", path)?;
        }
        Err(refused) => return Err(refused).doing("rename to", path),
    }
    let mut above = path.parent();
    // The folders of a new hour are new as well.
    for _ in 0..4 {
        let Some(folder) = above else { break };
        sync(folder)?;
        above = folder.parent().filter(|up| !up.as_os_str().is_empty());
    }
    Ok(())
}

/// Puts a finished file in the place of another, for good.
pub(crate) fn replace(partial: &Path, path: &Path) -> Result<(), Error> {
    fs::rename(partial, path).doing("rename to", path)?;
    path.parent().map_or(Ok(()), sync)
}

/// Makes what a folder lists last.
pub(crate) fn sync(folder: &Path) -> Result<(), Error> {
    let opened = File::open(folder).doing("open the folder", folder)?;
    opened.sync_all().doing("sync the folder", folder)
}

/// Deletes a file; that it isn't there is fine.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.doing("delete", path),
    }
}
