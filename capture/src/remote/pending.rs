//! What is on disk and not yet up: found by looking, so that a start after a crash needs nothing but the disk.
//!
//! Where files stay after their upload, a list beside the logs says which are up: `PATH<tab>LENGTH<tab>MODIFIED` a line. A
//! file that was rewritten since (something was erased from it) is pending again. A torn last line names a file that is
//! sent once more, which changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{RemoteError, is_sealed};

/// Sealed files of one pod.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    pod: String,
    list: PathBuf,
    up: BTreeSet<String>,
}

/// A file that is to go up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) path: PathBuf,
    /// Below the folder, with `/` between its parts.
    pub(super) relative: String,
    pub(super) bytes: u64,
    entry: String,
}

// ---- Spool

impl Spool {
    /// The files of a pod below a capture's folder.
    pub(super) fn new(folder: &Path, pod: &str) -> Result<Self, RemoteError> {
        let state = folder.join(".loadproof").join(format!("pod={pod}"));
        let list = state.join("uploaded");
        let known = match fs::read_to_string(&list) {
            Ok(known) => known,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(RemoteError::file("reading", &list)(error)),
        };
        let mut spool = Self {
            folder: folder.to_owned(),
            pod: pod.to_owned(),
            list,
            up: known.lines().map(str::to_owned).collect(),
        };
        spool.forget_what_is_gone()?;
        Ok(spool)
    }

    /// What is to go up, the oldest first, and texts before the rows that they belong to: who sees rows finds their texts.
    pub(super) fn waiting(&self) -> Result<Vec<Waiting>, RemoteError> {
        let mut waiting = self.sealed()?;
        waiting.retain(|file| !self.up.contains(&file.entry));
        Ok(waiting)
    }

    /// A file is up and stays here.
    pub(super) fn keep(&mut self, file: &Waiting) -> Result<(), RemoteError> {
        let mut list = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.list)
            .map_err(RemoteError::file("opening", &self.list))?;
        list.write_all(format!("{}\n", file.entry).as_bytes())
            .map_err(RemoteError::file("writing", &self.list))?;
        self.up.insert(file.entry.clone());
        Ok(())
    }

    /// A file is up and goes.
    pub(super) fn delete(file: &Waiting) -> Result<(), RemoteError> {
        match fs::remove_file(&file.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(RemoteError::file("deleting", &file.path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the list no longer than the folder.
    fn forget_what_is_gone(&mut self) -> Result<(), RemoteError> {
        let there: BTreeSet<String> = self.sealed()?.into_iter().map(|file| file.entry).collect();
        if self.up.is_subset(&there) {
            return Ok(());
        }
        self.up.retain(|entry| there.contains(entry));
        let lines: String = self.up.iter().map(|entry| format!("{entry}\n")).collect();
        let partial = self.list.with_extension("partial");
        let write = |path: &Path| {
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(path)?.write_all(lines.as_bytes())
        };
        write(&partial)
            .and_then(|()| fs::rename(&partial, &self.list))
            .map_err(RemoteError::file("writing", &self.list))
    }

    fn sealed(&self) -> Result<Vec<Waiting>, RemoteError> {
        let mut files = Vec::new();
        for date in folders(&self.folder, "date=")? {
            for hour in folders(&date, "hour=")? {
                let of_pod = hour.join(format!("pod={}", self.pod));
                for entry in entries(&of_pod)? {
                    self.take(entry, &mut files);
                }
            }
        }
        files.sort_by_cached_key(|file| {
            let name = &file.relative;
            let stem = name
                .strip_suffix(".text.tar")
                .or(name.strip_suffix(".parquet"));
            (
                stem.unwrap_or_default().to_owned(),
                name.ends_with(".parquet"),
            )
        });
        Ok(files)
    }

    fn take(&self, path: PathBuf, files: &mut Vec<Waiting>) {
        let relative = path.strip_prefix(&self.folder).ok().and_then(Path::to_str);
        let Some(relative) = relative.filter(|name| is_sealed(name)) else {
            return;
        };
        // One that retention took away in the meantime is no file any more.
        let Some(metadata) = fs::symlink_metadata(&path)
            .ok()
            .filter(fs::Metadata::is_file)
        else {
            return;
        };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        files.push(Waiting {
            entry: format!(
                "{relative}\t{}\t{}.{:09}",
                metadata.len(),
                modified.0,
                modified.1
            ),
            relative: relative.to_owned(),
            bytes: metadata.len(),
            path,
        });
    }
}

// ---- Folders

/// What a folder lists; nothing if it isn't there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, RemoteError> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(RemoteError::file("listing", folder)(error)),
    };
    list.map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(RemoteError::file("listing", folder))
}

fn folders(folder: &Path, start: &str) -> Result<Vec<PathBuf>, RemoteError> {
    let mut list = entries(folder)?;
    list.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(start))
    });
    Ok(list)
}
