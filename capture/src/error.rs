//! What can go wrong with a capture's files, whose fault it is, and what helps.

use std::io;
use std::path::{Path, PathBuf};

use crate::text::TextError;

use parquet::errors::ParquetError;

/// Who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The disk, or the file system: full, read-only, broken.
    Disk,
    /// Whoever chose the folder, the pod's name or the settings.
    Settings,
    /// The file: damaged, of another version, or made to hurt.
    File,
    /// We.
    Us,
}

/// A failure with the path it is about.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("could not {doing} {path}: {source}")]
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another process writes here.
    #[error(
        "{path} is locked: another process captures into this folder under the same pod name; give each its own"
    )]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// A value that can't be a part of a file's name, or makes no sense.
    #[error("{what} {value:?}: {fix}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        fix: &'static str,
    },
    /// A file that is no segment, or no log, of a version that is known.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what helps.
        why: String,
    },
    /// A row that can't be.
    #[error("{path}, row {row}: {why}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Its number in the file, from 1.
        row: u64,
        /// What is wrong with it.
        why: String,
    },
    /// Texts could not be encrypted, written or read.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Rows that don't become columns.
    #[error("could not turn rows into columns")]
    Columns(#[from] serde_arrow::Error),
    /// Parquet could not be written.
    #[error("could not write {path} as Parquet")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ParquetError,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Io { .. } => Blame::Disk,
            Self::Text(why) => why.blame(),
            Self::Locked { .. } | Self::Setting { .. } => Blame::Settings,
            Self::File { .. } | Self::Row { .. } => Blame::File,
            Self::Columns(_) | Self::Parquet { .. } => Blame::Us,
        }
    }

    /// The operating system's word, where it is its word.
    pub fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Io { source, .. } | Self::Text(TextError::File { source, .. }) => Some(source),
            Self::Parquet {
                source: ParquetError::External(inner),
                ..
            } => inner.downcast_ref(),
            _ => None,
        }
    }

    /// With all that it came from, in one line.
    pub fn in_full(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            let inner_text = inner.to_string();
            if !text.contains(&inner_text) {
                text = format!("{text}: {inner_text}");
            }
            cause = inner.source();
        }
        text
    }

    pub(crate) fn file(path: &Path, why: impl Into<String>) -> Self {
        Self::File {
            path: path.to_owned(),
            why: why.into(),
        }
    }
}

/// Says what was being done to which file when the operating system refused.
pub(crate) trait Doing<T> {
    /// `doing` is a verb: "open", "write to".
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            doing,
            path: path.to_owned(),
            source,
        })
    }
}

impl<T> Doing<T> for rustix::io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(io::Error::from).doing(doing, path)
    }
}
