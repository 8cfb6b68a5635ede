//! What a store does that is worth a line in a log.

use std::path::PathBuf;

use crate::stop::Stop;

/// Something worth a line in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A segment lies under its final name.
    Sealed {
        /// Its file.
        path: PathBuf,
        /// Rows in it.
        rows: u64,
        /// Size of the file.
        bytes: u64,
    },
    /// A log of a process that had died was sealed.
    Recovered {
        /// Its segment.
        path: PathBuf,
        /// Rows in it.
        rows: u64,
        /// Bytes at the log's end that were no whole record, and are gone.
        torn_bytes: u64,
    },
    /// A log of a process that had died could not be read, and lies where it lay.
    Unreadable {
        /// What is wrong, with the path.
        why: String,
    },
    /// A segment had had its time and was deleted.
    Expired {
        /// Its file.
        path: PathBuf,
    },
    /// A segment has had its time and could not be deleted; it is tried again.
    NotDeleted {
        /// Why not, with the path.
        why: String,
    },
    /// Capturing stopped; rows are dropped from here on.
    Stopped {
        /// Why.
        stop: Stop,
        /// What exactly failed, where something did.
        why: Option<String>,
    },
    /// Capturing goes on.
    Resumed,
}
