//! From a log to a sealed segment: Parquet under its final name, or nothing at all.
//!
//! Rows are written in the order of their arrivals, so that a reader needs no sort. A row group holds 8,192 rows, which
//! bounds what sealing takes of memory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use sha2::{Digest, Sha256};

use crate::about::About;
use crate::columns;
use crate::error::{Doing, Error};
use crate::folder::{self, Folder};
use crate::log::Found;
use crate::row::Row;
use crate::seal::{Seal, SealedBy};
use crate::texts;

/// Key of [`About`] in a file's metadata.
pub(crate) const ABOUT: &str = "loadproof.about";
/// Key of [`Seal`].
pub(crate) const SEAL: &str = "loadproof.seal";
/// Rows that are in memory at once.
const ROWS_AT_ONCE: usize = 1024;
const ROW_GROUP: usize = 8192;

/// A segment that was just sealed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sealed {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    /// Those of the texts included.
    pub(crate) bytes: u64,
    pub(crate) seal: Seal,
}

/// Seals a log. The log stays: whoever calls deletes it once the segment is known to be there.
pub(crate) fn seal(
    folder: &Folder,
    log: &Found,
    by: SealedBy,
    now_us: i64,
) -> Result<Sealed, Error> {
    let about = &log.header.about;
    let wall_us = log.first_wall_us.unwrap_or(now_us);
    let path = folder.segment(&about.capture, about.segment, wall_us);
    let seal = Seal {
        texts: texts::seal(folder, about, &path)?,
        rows: log.entries.len() as u64,
        rows_before: log.header.rows_before,
        dropped: log.dropped.clone(),
        by,
        torn_bytes: log.torn_bytes,
        first_wall_us: log.first_wall_us,
        last_wall_us: log.last_wall_us,
        first_arrival_ns: log.entries.first().map(|entry| entry.arrival_ns),
        last_arrival_ns: log.entries.last().map(|entry| entry.arrival_ns),
        replaced: Vec::new(),
    };
    let rows = log.entries.iter().map(|entry| log.row(*entry));
    let (sha256, bytes) = write(folder, Put::New(&path), (about, &seal), rows)?;
    let bytes = bytes + seal.texts.as_ref().map_or(0, |texts| texts.bytes);
    Ok(Sealed {
        path,
        sha256,
        bytes,
        seal,
    })
}

/// Where a segment goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Put<'a> {
    /// Where nothing is yet.
    New(&'a Path),
    /// In the place of the segment that is there.
    Instead(&'a Path),
}

/// Writes rows as a segment, and makes it appear under its name. Returns its SHA-256, in hex, and its bytes.
pub(crate) fn write(
    folder: &Folder,
    put: Put<'_>,
    metadata: (&About, &Seal),
    rows: impl Iterator<Item = Result<Row, Error>>,
) -> Result<(String, u64), Error> {
    let (Put::New(path) | Put::Instead(path)) = put;
    let name = path.file_name().unwrap_or_default();
    let partial = folder.state().join(name).with_extension("partial");
    folder::remove(&partial)?;
    let done = write_partial(&partial, metadata, rows).and_then(|written| {
        folder::make(path.parent().unwrap_or(Path::new("")))?;
        match put {
            Put::New(path) => folder::publish(&partial, path)?,
            Put::Instead(path) => folder::replace(&partial, path)?,
        }
        Ok(written)
    });
    if done.is_err() {
        // The reason that counts is the first.
        let _ = folder::remove(&partial);
    }
    done
}

fn write_partial(
    partial: &Path,
    (about, seal): (&About, &Seal),
    mut rows: impl Iterator<Item = Result<Row, Error>>,
) -> Result<(String, u64), Error> {
    let parquet = |source| Error::Parquet {
        path: partial.to_owned(),
        source,
    };
    let json = |why: serde_json::Error| Error::file(partial, why.to_string());
    let metadata = vec![
        KeyValue::new(ABOUT.into(), serde_json::to_string(about).map_err(json)?),
        KeyValue::new(SEAL.into(), serde_json::to_string(seal).map_err(json)?),
    ];
    let out = Hashed::new(folder::create(partial)?);
    let schema = columns::batch(&[])?.schema();
    let properties = properties(metadata).map_err(parquet)?;
    let mut writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(parquet)?;
    loop {
        let some: Vec<Row> = rows.by_ref().take(ROWS_AT_ONCE).collect::<Result<_, _>>()?;
        if some.is_empty() {
            break;
        }
        writer.write(&columns::batch(&some)?).map_err(parquet)?;
    }
    let out = writer.into_inner().map_err(parquet)?;
    out.finish(partial)
}

fn properties(metadata: Vec<KeyValue>) -> Result<WriterProperties, parquet::errors::ParquetError> {
    let mut builder = WriterProperties::builder()
        .set_created_by(format!("loadproof {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(metadata));
    // Ever-growing numbers are small as differences, and no dictionary helps them.
    for column in ["exchange", "wall_us", "arrival_ns"] {
        let column = ColumnPath::from(column);
        builder = builder
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(builder.build())
}

/// A file that knows the SHA-256 of what was written to it.
struct Hashed {
    out: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Hashed {
    fn new(file: File) -> Self {
        Self {
            out: BufWriter::new(file),
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    fn finish(mut self, path: &Path) -> Result<(String, u64), Error> {
        self.out.flush().doing("write to", path)?;
        self.out.get_ref().sync_all().doing("sync", path)?;
        Ok((hex(&self.hash.finalize()), self.bytes))
    }
}

impl Write for Hashed {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buffer)?;
        self.hash.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// SHA-256 of a file, in hex.
pub(crate) fn sha256(path: &Path) -> Result<String, Error> {
    let mut file = File::open(path).doing("open", path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut piece).doing("read", path)?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&piece[..read]);
    }
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let pairs = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.collect()
}
