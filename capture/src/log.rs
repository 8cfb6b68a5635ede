//! The open segment: an append-only log of checksummed records.
//!
//! ```text
//! "LPCAPLG1"  record  record  …
//! record = length u32le | CRC-32 u32le of kind and payload | kind u8 | payload, `length` bytes
//! kind H  header, JSON, the first record and no other: about, rows before, columns with their types
//! kind R  a row, postcard, in the columns' order
//! kind D  rows that were not kept, JSON: [{"kind": …, "count": …}]
//! ```
//! What follows the last record that is whole and whose checksum is right is a torn tail: it is given up, and its length
//! is told. A payload has up to 16 MiB.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use arrow_schema::Field;
use serde::{Deserialize, Serialize};

use crate::about::About;
use crate::columns;
use crate::error::{Doing, Error};
use crate::folder;
use crate::other_columns;
use crate::row::{Count, Row};
use crate::segment::VERSION;

const MAGIC: &[u8; 8] = b"LPCAPLG1";
/// Length, checksum and kind.
const HEAD: usize = 9;
const PAYLOAD_MAX: usize = 16 * 1024 * 1024;
/// Bytes that are held back for one write.
const BUFFER: usize = 256 * 1024;

/// What a log begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) about: About,
    pub(crate) rows_before: u64,
    pub(crate) columns: Vec<Field>,
}

/// A log that is being written.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    buffered_rows: u64,
    written: u64,
}

impl Log {
    /// Begins a log. Its header is in the file when this returns.
    pub(crate) fn create(path: PathBuf, about: About, rows_before: u64) -> Result<Self, Error> {
        let header = Header {
            about,
            rows_before,
            columns: columns()?,
        };
        let mut buffer = MAGIC.to_vec();
        let json =
            serde_json::to_vec(&header).map_err(|why| Error::file(&path, why.to_string()))?;
        push_record(&mut buffer, b'H', |out| out.extend_from_slice(&json));
        let file = folder::create(&path)?;
        let mut log = Self {
            path,
            file,
            buffer,
            buffered_rows: 0,
            written: 0,
        };
        match log.flush() {
            Ok(()) => Ok(log),
            Err((why, _)) => {
                // Without a header it would be in the way of the next try.
                folder::remove(&log.path)?;
                Err(why)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes in the file, and bytes that wait to be.
    pub(crate) fn bytes(&self) -> u64 {
        self.written + u64::try_from(self.buffer.len()).unwrap_or(u64::MAX)
    }

    /// Adds a row. False: it is larger than a record may be, and was not added.
    pub(crate) fn push(&mut self, row: &Row) -> Result<bool, postcard::Error> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEAD - 1]);
        self.buffer.push(b'R');
        let buffer = postcard::to_extend(row, std::mem::take(&mut self.buffer))?;
        self.buffer = buffer;
        let fits = self.buffer.len() - start - HEAD <= PAYLOAD_MAX;
        if fits {
            finish_record(&mut self.buffer, start);
            self.buffered_rows += 1;
        } else {
            self.buffer.truncate(start);
        }
        Ok(fits)
    }

    /// Adds what was not kept.
    pub(crate) fn push_dropped(&mut self, dropped: &[Count]) {
        if let Ok(json) = serde_json::to_vec(dropped) {
            push_record(&mut self.buffer, b'D', |out| out.extend_from_slice(&json));
        }
    }

    /// Whether enough has gathered for a write.
    pub(crate) fn is_ripe(&self) -> bool {
        self.buffer.len() >= BUFFER
    }

    /// Hands all that waits to the operating system. On a failure what waited is lost, and the number of rows in it is
    /// returned with the reason; the log is as it was before them.
    pub(crate) fn flush(&mut self) -> Result<(), (Error, u64)> {
        // At a position of our own: a write that got half way is overwritten by the next.
        let done = self.file.write_all_at(&self.buffer, self.written);
        let rows = std::mem::take(&mut self.buffered_rows);
        let length = self.buffer.len();
        self.buffer.clear();
        match done.doing("write to", &self.path) {
            Ok(()) => {
                self.written += u64::try_from(length).unwrap_or(u64::MAX);
                Ok(())
            }
            Err(why) => {
                // If this fails too, the torn record stays, and is found as such.
                let _ = self.file.set_len(self.written);
                Err((why, rows))
            }
        }
    }
}

fn push_record(buffer: &mut Vec<u8>, kind: u8, payload: impl FnOnce(&mut Vec<u8>)) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEAD - 1]);
    buffer.push(kind);
    payload(buffer);
    finish_record(buffer, start);
}

/// Writes length and checksum of the record that began at `start` and goes to the end.
fn finish_record(buffer: &mut [u8], start: usize) {
    let (head, rest) = buffer[start..].split_at_mut(HEAD - 1);
    let length = u32::try_from(rest.len() - 1).unwrap_or(u32::MAX);
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
}

fn columns() -> Result<Vec<Field>, Error> {
    let fields = columns::fields()?;
    Ok(fields.iter().map(|field| field.as_ref().clone()).collect())
}

/// Where a row lies in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) arrival_ns: u64,
    offset: u64,
    length: u32,
}

/// A log that is being read: what is whole in it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) header: Header,
    /// Its rows by arrival.
    pub(crate) entries: Vec<Entry>,
    pub(crate) dropped: Vec<Count>,
    pub(crate) first_wall_us: Option<i64>,
    pub(crate) last_wall_us: Option<i64>,
    /// Bytes after the last whole record.
    pub(crate) torn_bytes: u64,
    /// Its columns are those of this version.
    ours: bool,
    path: PathBuf,
    file: File,
}

impl Found {
    /// Reads a log to its last whole record. `None`: not even its header is whole, so that no row was ever in it.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Error> {
        let file = File::open(path).doing("open", path)?;
        let length = file.metadata().doing("look at", path)?.len();
        let mut records = Records::new(&file, length);
        let Some((b'H', json)) = records.start().then(|| records.next()).flatten() else {
            return Ok(None);
        };
        let header: Header = serde_json::from_slice(json)
            .map_err(|why| Error::file(path, format!("its header is not understood: {why}")))?;
        if header.about.version != VERSION {
            let why = format!(
                "it is of version {} of the format; start loadproof {} on the folder once, which seals it",
                header.about.version, header.about.written_by
            );
            return Err(Error::file(path, why));
        }
        let ours = header.columns == columns()?;
        let mut found = Self {
            header,
            entries: Vec::new(),
            dropped: Vec::new(),
            first_wall_us: None,
            last_wall_us: None,
            torn_bytes: 0,
            ours,
            path: path.to_owned(),
            file: file.try_clone().doing("open", path)?,
        };
        found.index(&mut records)?;
        found.torn_bytes = length - records.good;
        found.entries.sort_unstable();
        Ok(Some(found))
    }

    fn index(&mut self, records: &mut Records<'_>) -> Result<(), Error> {
        let mut dropped: BTreeMap<String, u64> = BTreeMap::new();
        loop {
            let offset = records.good + HEAD as u64;
            let Some((kind, payload)) = records.next() else {
                break;
            };
            if kind == b'D' {
                let counts: Vec<Count> = serde_json::from_slice(payload)
                    .map_err(|why| Error::file(&self.path, why.to_string()))?;
                for Count { kind, count } in counts {
                    *dropped.entry(kind).or_default() += count;
                }
                continue;
            }
            let number = self.entries.len() as u64 + 1;
            let row = self.decode(number, payload)?;
            let wall = row.wall_us;
            self.first_wall_us = Some(self.first_wall_us.map_or(wall, |first| first.min(wall)));
            self.last_wall_us = Some(self.last_wall_us.map_or(wall, |last| last.max(wall)));
            self.entries.push(Entry {
                arrival_ns: row.arrival_ns,
                offset,
                length: u32::try_from(payload.len()).unwrap_or(u32::MAX),
            });
        }
        let counts = dropped.into_iter();
        self.dropped = counts.map(|(kind, count)| Count { kind, count }).collect();
        Ok(())
    }

    /// One of its rows.
    pub(crate) fn row(&self, entry: Entry) -> Result<Row, Error> {
        let mut payload = vec![0; usize::try_from(entry.length).unwrap_or(usize::MAX)];
        let read = self.file.read_exact_at(&mut payload, entry.offset);
        read.doing("read", &self.path)?;
        self.decode(entry.offset, &payload)
    }

    fn decode(&self, row: u64, payload: &[u8]) -> Result<Row, Error> {
        let decoded = if self.ours {
            postcard::from_bytes(payload).map_err(|why| why.to_string())
        } else {
            other_columns::decode(&self.header.columns, payload)
        };
        decoded.map_err(|why| Error::Row {
            path: self.path.clone(),
            row,
            why,
        })
    }
}

/// Records one after another, as far as they are whole.
struct Records<'file> {
    input: BufReader<&'file File>,
    payload: Vec<u8>,
    good: u64,
    length: u64,
}

impl<'file> Records<'file> {
    fn new(file: &'file File, length: u64) -> Self {
        Self {
            input: BufReader::with_capacity(BUFFER, file),
            payload: Vec::new(),
            good: 0,
            length,
        }
    }

    /// Whether it begins as a log does.
    fn start(&mut self) -> bool {
        let mut magic = [0; MAGIC.len()];
        let begins = self.input.read_exact(&mut magic).is_ok() && &magic == MAGIC;
        self.good = if begins { MAGIC.len() as u64 } else { 0 };
        begins
    }

    /// The next whole record: its kind and payload.
    fn next(&mut self) -> Option<(u8, &[u8])> {
        let mut head = [0; HEAD - 1];
        self.input.read_exact(&mut head).ok()?;
        let [a, b, c, d, e, f, g, h] = head;
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
        let end = self.good + (HEAD + length) as u64;
        if length > PAYLOAD_MAX || end > self.length {
            return None;
        }
        self.payload.resize(length + 1, 0);
        self.input.read_exact(&mut self.payload).ok()?;
        if crc32fast::hash(&self.payload) != u32::from_le_bytes([e, f, g, h]) {
            return None;
        }
        self.good = end;
        let (kind, payload) = self.payload.split_first()?;
        Some((*kind, payload))
    }
}
