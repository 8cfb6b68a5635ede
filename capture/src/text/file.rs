//! Files of texts: written in batches, sealed, and mended after a crash.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Recipients, Text, TextError};
use crate::sealing::hex;

/// Bytes of text after which a batch is written without being told to.
const BATCH_BYTES: usize = 1024 * 1024;

/// What everything in a tar is a multiple of.
const BLOCK: usize = 512;

/// zstd's default: texts shrink to a third at some hundred MB/s.
const COMPRESSION: i32 = 3;

/// An open file of texts. What was pushed is in memory until [`Batches::flush`].
#[derive(Debug)]
pub struct Batches {
    file: File,
    path: PathBuf,
    recipients: Recipients,
    batch: u32,
    bytes: u64,
    texts: u64,
    digest: Sha256,
    pending: Pending,
}

/// Texts that are not written yet, as JSON lines.
#[derive(Debug, Default)]
struct Pending {
    lines: Vec<u8>,
    texts: u64,
    first: u64,
    last: u64,
}

/// A file of texts that is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedText {
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of it, in hex, for the segment that it belongs to.
    pub sha256: String,
    /// Bytes of a torn batch at its end, which are gone: its writer was killed.
    #[serde(default)]
    pub torn_bytes: u64,
}

/// What was left by a writer that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The file, sealed with its whole batches; `None` if it has none and was removed.
    pub sealed: Option<SealedText>,
    /// Whole batches.
    pub batches: u64,
    /// Bytes of a torn batch that were cut off.
    pub torn_bytes: u64,
}

/// A batch in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Lowest and highest exchange in it.
    pub(super) exchanges: (u64, u64),
    /// Where its age file begins, and how long that is.
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// What a walk through a file found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) members: Vec<Member>,
    /// Where the last whole member ends, padding included.
    pub(super) whole: u64,
    /// Length of the file.
    pub(super) len: u64,
    /// The mark of a tar's end follows.
    pub(super) ended: bool,
}

// ---- Batches

impl Batches {
    /// Begins a file, readable by its owner alone.
    ///
    /// # Errors
    /// There is one of that name, or it can't be created.
    pub fn create(path: &Path, recipients: Recipients) -> Result<Self, TextError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(TextError::file("creating", path))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            recipients,
            batch: 0,
            bytes: 0,
            texts: 0,
            digest: Sha256::new(),
            pending: Pending::default(),
        })
    }

    /// Bytes that were written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Texts that were written.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// Texts that [`Batches::flush`] would write.
    pub fn pending(&self) -> u64 {
        self.pending.texts
    }

    /// Takes a text; writes a batch if that is large enough.
    ///
    /// # Errors
    /// As [`Batches::flush`].
    pub fn push(&mut self, text: &Text) -> Result<(), TextError> {
        self.pending.push(text)?;
        if self.pending.lines.len() < BATCH_BYTES {
            return Ok(());
        }
        self.flush()
    }

    /// Writes what was pushed as a batch of its own, which is whole from then on for whoever reads this disk.
    ///
    /// # Errors
    /// It can't be encrypted or written. The file is cut back to its last whole batch, and the texts of this one are lost:
    /// [`Batches::pending`] before tells how many.
    pub fn flush(&mut self) -> Result<(), TextError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.texts == 0 {
            return Ok(());
        }
        let packed = zstd::bulk::compress(&pending.lines, COMPRESSION)
            .map_err(TextError::file("compressing a batch of", &self.path))?;
        let sealed = self.recipients.encrypt(&packed)?;
        let name = format!(
            "{:06}-{}-{}.jsonl.zst.age",
            self.batch, pending.first, pending.last
        );
        let member = member(&name, &sealed).map_err(TextError::file("writing", &self.path))?;
        self.write(&member)?;
        self.batch += 1;
        self.texts += pending.texts;
        Ok(())
    }

    /// Makes what was flushed outlive a loss of power.
    ///
    /// # Errors
    /// The disk says no.
    pub fn sync(&self) -> Result<(), TextError> {
        self.file
            .sync_data()
            .map_err(TextError::file("syncing", &self.path))
    }

    /// Flushes, ends the file, makes it durable and gives it its name.
    ///
    /// # Errors
    /// As [`Batches::flush`], or it can't be renamed.
    pub fn seal(mut self, to: &Path) -> Result<SealedText, TextError> {
        self.flush()?;
        self.write(&[0; 2 * BLOCK])?;
        self.file
            .sync_all()
            .map_err(TextError::file("syncing", &self.path))?;
        rename(&self.path, to)?;
        Ok(SealedText {
            bytes: self.bytes,
            sha256: hex(&self.digest.finalize()),
            torn_bytes: 0,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TextError> {
        if let Err(source) = self.file.write_all(bytes) {
            // What was written of it is no batch. Where that can't be cut off either, the next start does it.
            let _ = self.file.set_len(self.bytes);
            let _ = self.file.seek(SeekFrom::Start(self.bytes));
            return Err(TextError::file("writing", &self.path)(source));
        }
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Pending {
    fn push(&mut self, text: &Text) -> Result<(), TextError> {
        serde_json::to_writer(&mut self.lines, text)
            .map_err(|error| TextError::Encrypt(error.into()))?;
        self.lines.push(b'\n');
        let first = self.texts == 0;
        self.first = if first {
            text.exchange
        } else {
            self.first.min(text.exchange)
        };
        self.last = self.last.max(text.exchange);
        self.texts += 1;
        Ok(())
    }
}

/// A member of a tar: header, content, padding.
fn member(name: &str, content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(content.len() as u64);
    header.set_mode(0o600);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    let mut bytes = Vec::with_capacity(BLOCK + content.len().next_multiple_of(BLOCK));
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    Ok(bytes)
}

// ---- Recovery

/// Seals what a killed writer left: its whole batches stay, a torn one is cut off.
///
/// # Errors
/// The file can't be read, written or renamed.
pub fn recover(path: &Path, to: &Path) -> Result<Recovered, TextError> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(TextError::file("opening", path))?;
    let walk = walk(&mut file).map_err(TextError::file("reading", path))?;
    let batches = walk.members.len() as u64;
    let torn_bytes = if walk.ended { 0 } else { walk.len - walk.whole };
    if batches == 0 {
        std::fs::remove_file(path).map_err(TextError::file("removing", path))?;
        return Ok(Recovered {
            sealed: None,
            batches,
            torn_bytes,
        });
    }
    let sealed = end(&mut file, walk.whole).map_err(TextError::file("mending", path))?;
    let sealed = SealedText {
        torn_bytes,
        ..sealed
    };
    rename(path, to)?;
    Ok(Recovered {
        sealed: Some(sealed),
        batches,
        torn_bytes,
    })
}

/// Ends a tar after `whole` bytes.
fn end(file: &mut File, whole: u64) -> std::io::Result<SealedText> {
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    file.write_all(&[0; 2 * BLOCK])?;
    file.sync_all()?;
    digest(file)
}

/// What a sealed file is.
pub(crate) fn sealed(path: &Path) -> Result<SealedText, TextError> {
    File::open(path)
        .and_then(|mut file| digest(&mut file))
        .map_err(TextError::file("reading", path))
}

fn digest(file: &mut File) -> std::io::Result<SealedText> {
    file.seek(SeekFrom::Start(0))?;
    let mut digest = Sha256::new();
    let mut read = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        match file.read(&mut read)? {
            0 => break,
            n => {
                digest.update(read.get(..n).unwrap_or_default());
                bytes += n as u64;
            }
        }
    }
    Ok(SealedText {
        bytes,
        sha256: hex(&digest.finalize()),
        torn_bytes: 0,
    })
}

/// Finds the batches by their headers alone; reads no content. Stops at the first thing that is no batch of ours.
pub(super) fn walk(file: &mut File) -> std::io::Result<Walk> {
    let len = file.metadata()?.len();
    let mut walk = Walk {
        len,
        ..Walk::default()
    };
    while walk.whole + BLOCK as u64 <= len {
        file.seek(SeekFrom::Start(walk.whole))?;
        let mut block = [0; BLOCK];
        file.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            walk.ended = len == walk.whole + 2 * BLOCK as u64;
            break;
        }
        let Some(member) = Member::of(&block, walk.whole + BLOCK as u64) else {
            break;
        };
        let padded = member.bytes.checked_next_multiple_of(BLOCK as u64);
        let Some(after) = padded
            .and_then(|bytes| bytes.checked_add(member.at))
            .filter(|after| *after <= len)
        else {
            break;
        };
        walk.members.push(member);
        walk.whole = after;
    }
    Ok(walk)
}

impl Member {
    /// The member with this header, if it is a batch.
    fn of(block: &[u8; BLOCK], at: u64) -> Option<Self> {
        let mut header = tar::Header::new_old();
        header.as_mut_bytes().copy_from_slice(block);
        let stated = header.cksum().ok()?;
        header.set_cksum();
        if header.cksum().ok()? != stated {
            return None;
        }
        let name = String::from_utf8(header.path_bytes().into_owned()).ok()?;
        let mut numbers = name.strip_suffix(".jsonl.zst.age")?.split('-').skip(1);
        let mut number = || numbers.next()?.parse().ok();
        let exchanges = (number()?, number()?);
        Some(Self {
            exchanges,
            at,
            bytes: header.entry_size().ok()?,
            name,
        })
    }
}

// ---- Files

/// Gives a file its name, durably.
fn rename(from: &Path, to: &Path) -> Result<(), TextError> {
    std::fs::rename(from, to).map_err(TextError::file("renaming", from))?;
    let folder = to.parent().unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(TextError::file("syncing", folder))
}
