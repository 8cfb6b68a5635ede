//! One file into a store: as one object, seen whole or not at all.

use std::fs::File;
use std::io::Read;

use object_store::path::Path as Key;
use object_store::{ObjectStoreExt, PutPayload};

use super::pending::Waiting;
use super::{Remote, RemoteError};

/// Bytes that are in memory at once, and of each part of a file that is longer.
const PART_BYTES: u64 = 8 * 1024 * 1024;

impl Remote {
    /// Sends a file, in parts if it is long. What a broken upload left is taken back, as far as the store answers.
    pub(super) async fn put(&self, file: &Waiting) -> Result<(), RemoteError> {
        let key = self.key(&file.relative);
        let mut open = File::open(&file.path).map_err(RemoteError::file("opening", &file.path))?;
        if file.bytes <= PART_BYTES {
            let part = part(&mut open, file)?;
            let put = self.store.put(&key, part).await;
            return put.map(drop).map_err(RemoteError::store("uploading", &key));
        }
        self.put_in_parts(&key, &mut open, file).await
    }

    async fn put_in_parts(
        &self,
        key: &Key,
        open: &mut File,
        file: &Waiting,
    ) -> Result<(), RemoteError> {
        let failed = |source| RemoteError::store("uploading", key)(source);
        let mut upload = self.store.put_multipart(key).await.map_err(failed)?;
        let mut sent = 0;
        let result = loop {
            if sent >= file.bytes {
                break upload.complete().await.map(drop).map_err(failed);
            }
            let part = match part(open, file) {
                Ok(part) => part,
                Err(error) => break Err(error),
            };
            // A file that shrank is none of ours any more.
            if part.content_length() == 0 {
                let short = std::io::ErrorKind::UnexpectedEof.into();
                break Err(RemoteError::file("reading", &file.path)(short));
            }
            sent += part.content_length() as u64;
            if let Err(error) = upload.put_part(part).await {
                break Err(failed(error));
            }
        };
        if result.is_err() {
            // The first error is the one that tells.
            let _ = upload.abort().await;
        }
        result
    }
}

fn part(open: &mut File, file: &Waiting) -> Result<PutPayload, RemoteError> {
    let mut bytes = Vec::new();
    open.take(PART_BYTES)
        .read_to_end(&mut bytes)
        .map_err(RemoteError::file("reading", &file.path))?;
    Ok(bytes.into())
}
