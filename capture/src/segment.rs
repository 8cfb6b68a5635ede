//! One sealed segment as a reader sees it: what its file says of itself, then its rows, a batch at a time.
//!
//! Nothing in a file is believed: its length, version, columns and each row are checked, and an error names the file and
//! the row. Columns that are not known are not even decoded. Limits: a footer of 16 MiB, a file of 10^8 rows, a list of
//! 2^20 entries in a row, a text of 16 MiB, 10^6 arrivals a second.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use serde::de::DeserializeOwned;

use crate::about::{About, Level};
use crate::columns;
use crate::error::{Doing, Error};
use crate::folder;
use crate::row::Row;
use crate::seal::Seal;
use crate::sealing::{ABOUT, SEAL};

/// The version that this code reads.
pub const VERSION: u32 = 1;
/// Rows that are in memory at once.
const BATCH: usize = 256;
const FOOTER_MAX: u32 = 16 * 1024 * 1024;
const ROWS_MAX: u64 = 100_000_000;
const LIST_MAX: usize = 1_048_576;
const TEXT_MAX: usize = 16 << 20;
/// So many rows in less than so long is a rate above 10^6 a second, which is no traffic.
const CROWD_ROWS: u64 = 10_000;
const CROWD_NS: u64 = 10_000_000;
/// A folder has this many levels above its segments.
const DEPTH_MAX: usize = 3;

/// A sealed segment: its file, and what that says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// The file.
    pub path: PathBuf,
    /// What holds for all of its rows.
    pub about: About,
    /// What is known of it at its end.
    pub seal: Seal,
}

impl Segment {
    /// Reads what a file says of itself.
    ///
    /// # Errors
    /// It can't be read, is no segment, or is of another version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).doing("open", path)?;
        Ok(load(path, &file)?.1)
    }

    /// Its rows, in the order of their arrivals.
    ///
    /// # Errors
    /// It can't be read, or has other columns than a segment has. A row that can't be is an error of the iterator, which
    /// ends there.
    pub fn rows(&self) -> Result<Rows, Error> {
        let file = File::open(&self.path).doing("open", &self.path)?;
        let (metadata, segment) = load(&self.path, &file)?;
        Rows::new(file, metadata, segment)
    }
}

fn load(path: &Path, file: &File) -> Result<(ArrowReaderMetadata, Segment), Error> {
    check_footer(path, file)?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::load(file, options).map_err(|why| {
        Error::file(
            path,
            format!("it is no Parquet file that can be read: {why}"),
        )
    })?;
    let segment = Segment {
        path: path.to_owned(),
        about: said(path, &metadata, ABOUT)?,
        seal: said(path, &metadata, SEAL)?,
    };
    if segment.about.version != VERSION {
        let why = format!(
            "it is of version {} of the format, written by loadproof {}; this one reads version {VERSION}",
            segment.about.version, segment.about.written_by
        );
        return Err(Error::file(path, why));
    }
    check_about(path, &segment.about)?;
    let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(u64::MAX);
    if rows > ROWS_MAX {
        return Err(Error::file(
            path,
            format!("it claims {rows} rows, more than a segment has"),
        ));
    }
    Ok((metadata, segment))
}

/// Refuses names that would lead elsewhere if a path were made of them, and numbers that make no sense.
fn check_about(path: &Path, about: &About) -> Result<(), Error> {
    let names = [
        ("the pod's name", &about.pod),
        ("the capture's name", &about.capture),
    ];
    for (what, name) in names {
        folder::check_name(what, name).map_err(|why| Error::file(path, why.to_string()))?;
    }
    let kept = about.sample > 0.0 && about.sample <= 1.0;
    if kept && about.block > 0 && about.level != Level::Off {
        return Ok(());
    }
    let why = format!(
        "it claims a sample of {}, blocks of {} and level {:?}; a capture has a sample above 0 and up to 1, blocks, and a level",
        about.sample, about.block, about.level
    );
    Err(Error::file(path, why))
}

/// Refuses a footer that would be read into memory and isn't there, or is larger than any of ours.
fn check_footer(path: &Path, mut file: &File) -> Result<(), Error> {
    let length = file.metadata().doing("look at", path)?.len();
    let mut tail = [0; 8];
    let whole = length >= 12
        && file.seek(SeekFrom::End(-8)).is_ok()
        && file.read_exact(&mut tail).is_ok()
        && tail.ends_with(b"PAR1");
    if !whole {
        return Err(Error::file(
            path,
            "it does not end as a Parquet file does: it is cut short, or something else",
        ));
    }
    let [a, b, c, d, ..] = tail;
    let footer = u32::from_le_bytes([a, b, c, d]);
    if footer > FOOTER_MAX || u64::from(footer) + 12 > length {
        return Err(Error::file(
            path,
            format!("its footer claims {footer} bytes"),
        ));
    }
    Ok(())
}

/// What stands in the file's metadata under a key.
fn said<T: DeserializeOwned>(
    path: &Path,
    metadata: &ArrowReaderMetadata,
    key: &str,
) -> Result<T, Error> {
    let entries = metadata.metadata().file_metadata().key_value_metadata();
    let entry = entries.and_then(|entries| entries.iter().find(|entry| entry.key == key));
    let value = entry.and_then(|entry| entry.value.as_deref());
    let value = value.ok_or_else(|| {
        Error::file(
            path,
            format!("it says nothing under {key}: it is no segment of a capture"),
        )
    })?;
    serde_json::from_str(value)
        .map_err(|why| Error::file(path, format!("what it says under {key}: {why}")))
}

/// The rows of one segment.
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    rows: std::vec::IntoIter<Row>,
    /// Number of the row that comes next, from 1.
    next: u64,
    claimed: u64,
    /// Arrival of the row that is a multiple of [`CROWD_ROWS`] before.
    crowd_ns: Option<u64>,
    last_arrival_ns: u64,
    first_arrival_ns: Option<u64>,
    done: bool,
}

impl Rows {
    fn new(file: File, metadata: ArrowReaderMetadata, segment: Segment) -> Result<Self, Error> {
        let path = segment.path;
        let known = check_columns(&path, &metadata)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
        let mask = ProjectionMask::roots(builder.parquet_schema(), known);
        let batches = builder.with_projection(mask).with_batch_size(BATCH).build();
        Ok(Self {
            batches: batches.map_err(|why| Error::file(&path, why.to_string()))?,
            path,
            rows: Vec::new().into_iter(),
            next: 1,
            claimed: segment.seal.rows,
            crowd_ns: None,
            last_arrival_ns: 0,
            first_arrival_ns: segment.seal.first_arrival_ns,
            done: false,
        })
    }

    fn advance(&mut self) -> Option<Result<Row, Error>> {
        loop {
            if let Some(row) = self.rows.next() {
                let checked = self.check(&row);
                self.next += 1;
                return Some(checked.map(|()| row));
            }
            match self.batches.next() {
                None => return self.end(),
                Some(Err(why)) => return Some(Err(self.wrong(why.to_string()))),
                Some(Ok(batch)) => match self.decode(&batch) {
                    Ok(rows) => self.rows = rows.into_iter(),
                    Err(why) => return Some(Err(why)),
                },
            }
        }
    }

    fn decode(&self, batch: &RecordBatch) -> Result<Vec<Row>, Error> {
        columns::rows(batch).map_err(|why| self.wrong(why.to_string()))
    }

    /// A file that has fewer rows than it says was tampered with.
    fn end(&mut self) -> Option<Result<Row, Error>> {
        let rows = self.next - 1;
        let missing = rows != self.claimed;
        missing.then(|| {
            Err(self.wrong(format!(
                "the file ends here, and says that it has {} rows",
                self.claimed
            )))
        })
    }

    fn check(&mut self, row: &Row) -> Result<(), Error> {
        if self.next == 1 && self.first_arrival_ns != Some(row.arrival_ns) {
            return Err(
                self.wrong("the file says that its first row arrived at another time".into())
            );
        }
        if row.arrival_ns < self.last_arrival_ns {
            return Err(self.wrong(
                "it arrived before the row above it; rows lie in the order of their arrivals"
                    .into(),
            ));
        }
        self.last_arrival_ns = row.arrival_ns;
        if self.next % CROWD_ROWS == 1 {
            let since = self.crowd_ns.replace(row.arrival_ns);
            if since.is_some_and(|since| row.arrival_ns - since < CROWD_NS) {
                let why = format!(
                    "the {CROWD_ROWS} requests before it arrive within {} ms",
                    CROWD_NS / 1_000_000
                );
                return Err(self.wrong(why));
            }
        }
        if let Some(list) = longest_list(row).filter(|(_, length)| *length > LIST_MAX) {
            return Err(self.wrong(format!(
                "{} has {} entries, more than {LIST_MAX}",
                list.0, list.1
            )));
        }
        if row
            .extra
            .as_ref()
            .is_some_and(|extra| extra.len() > TEXT_MAX)
        {
            return Err(self.wrong(format!("extra has more than {TEXT_MAX} bytes")));
        }
        let shares = [
            row.engine_kv_usage,
            row.in_flight_life,
            row.in_flight_prefill,
            row.in_flight_decode,
            row.decoders,
        ];
        if shares
            .iter()
            .flatten()
            .any(|value| !value.is_finite() || *value < 0.0)
        {
            return Err(self.wrong("a mean or a share is below 0, or no number".into()));
        }
        Ok(())
    }

    fn wrong(&self, why: String) -> Error {
        Error::Row {
            path: self.path.clone(),
            row: self.next,
            why,
        }
    }
}

fn longest_list(row: &Row) -> Option<(&'static str, usize)> {
    let lists = [
        ("flags", row.flags.len()),
        ("anomalies", row.anomalies.len()),
        ("gaps", row.gaps.len()),
        ("blocks", row.blocks.len()),
    ];
    lists.into_iter().max_by_key(|(_, length)| *length)
}

impl Iterator for Rows {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.advance();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Positions of the columns that are known. One that is required must be there, and each must have its type.
fn check_columns(path: &Path, metadata: &ArrowReaderMetadata) -> Result<Vec<usize>, Error> {
    let theirs = metadata.schema().fields();
    let mut known = Vec::new();
    for ours in columns::fields()? {
        let found = theirs.iter().position(|field| field.name() == ours.name());
        match found {
            Some(at) if same_type(ours.data_type(), theirs[at].data_type()) => known.push(at),
            Some(at) => {
                let why = format!(
                    "column {} is {}, not {}",
                    ours.name(),
                    theirs[at].data_type(),
                    ours.data_type()
                );
                return Err(Error::file(path, why));
            }
            // A column that was added to the version after the file was written.
            None if ours.is_nullable() || matches!(ours.data_type(), DataType::List(_)) => {}
            None => {
                return Err(Error::file(
                    path,
                    format!("column {} is missing", ours.name()),
                ));
            }
        }
    }
    Ok(known)
}

/// Equal but for what writers call a list's items.
fn same_type(ours: &DataType, theirs: &DataType) -> bool {
    match (ours, theirs) {
        (DataType::List(ours), DataType::List(theirs)) => {
            same_type(ours.data_type(), theirs.data_type())
        }
        (DataType::Struct(ours), DataType::Struct(theirs)) => {
            let same = |(ours, theirs): (&arrow_schema::FieldRef, &arrow_schema::FieldRef)| {
                ours.name() == theirs.name() && same_type(ours.data_type(), theirs.data_type())
            };
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
        }
        (ours, theirs) => ours == theirs,
    }
}

/// The segments below a folder, by name; of a file, itself. Links are not followed.
pub(crate) fn paths(at: &Path) -> Result<Vec<PathBuf>, Error> {
    if fs::metadata(at).doing("look at", at)?.is_file() {
        return Ok(vec![at.to_owned()]);
    }
    let mut found = Vec::new();
    collect(at, DEPTH_MAX, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).doing("list", folder)? {
        let entry = entry.doing("list", folder)?;
        let kind = entry.file_type().doing("look at", &entry.path())?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() && depth > 0 && !name.starts_with('.') {
            collect(&entry.path(), depth - 1, found)?;
        } else if kind.is_file() && name.starts_with("segment-") && name.ends_with(".parquet") {
            found.push(entry.path());
        }
    }
    Ok(())
}
