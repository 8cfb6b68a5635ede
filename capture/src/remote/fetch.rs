//! A capture in an object store, brought down for readers.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use super::{Remote, RemoteError, is_sealed};

/// What was brought down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Files that were downloaded.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that lay here already, of the same length.
    pub here: u64,
}

impl Remote {
    /// Brings the segments and texts below the prefix, of all pods, into a folder, where a reader takes them. What is there
    /// already is not fetched again. It blocks, so it is for commands, not for the process that carries traffic.
    ///
    /// # Errors
    /// The store or the disk fails, or an object's name leads elsewhere.
    pub fn fetch(&self, into: &Path) -> Result<Fetched, RemoteError> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RemoteError::Start)?
            .block_on(self.fetch_all(into))
    }

    async fn fetch_all(&self, into: &Path) -> Result<Fetched, RemoteError> {
        let mut objects = self.store.list(Some(&self.prefix));
        let mut fetched = Fetched::default();
        loop {
            let next = objects.try_next().await;
            let Some(object) = next.map_err(RemoteError::store("listing", &self.prefix))? else {
                return Ok(fetched);
            };
            if !is_sealed(object.location.as_ref()) {
                continue;
            }
            let path = into.join(self.relative(&object.location)?);
            if fs::symlink_metadata(&path).is_ok_and(|here| here.len() == object.size) {
                fetched.here += 1;
                continue;
            }
            self.fetch_one(&object, &path).await?;
            fetched.files += 1;
            fetched.bytes += object.size;
        }
    }

    async fn fetch_one(&self, object: &ObjectMeta, path: &Path) -> Result<(), RemoteError> {
        let failed = |source| RemoteError::store("downloading", &object.location)(source);
        let mut bytes = self
            .store
            .get(&object.location)
            .await
            .map_err(failed)?
            .into_stream();
        let partial = path.with_added_extension("partial");
        let mut file = create(&partial).map_err(RemoteError::file("creating", &partial))?;
        while let Some(bytes) = bytes.try_next().await.map_err(failed)? {
            file.write_all(&bytes)
                .map_err(RemoteError::file("writing", &partial))?;
        }
        fs::rename(&partial, path).map_err(RemoteError::file("renaming", &partial))
    }

    /// Where an object lies below the prefix, as a path that stays below any folder.
    fn relative(&self, location: &Key) -> Result<PathBuf, RemoteError> {
        let leads_away = || RemoteError::Name(location.to_string());
        let parts = location.prefix_match(&self.prefix).ok_or_else(leads_away)?;
        let mut path = PathBuf::new();
        for part in parts {
            let part = part.as_ref();
            if part.is_empty() || part.starts_with('.') || part.contains(['/', '\\', '\0', '%']) {
                return Err(leads_away());
            }
            path.push(part);
        }
        Ok(path)
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
}
