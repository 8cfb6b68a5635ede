//! What is known of a segment once it is sealed: stored in its file, beside [`About`](crate::About).

use serde::{Deserialize, Serialize};

use crate::row::{Count, Row};
use crate::text::SealedText;

/// Why no further row was put into a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SealedBy {
    /// It had grown to its limit. Another segment follows.
    Size,
    /// It had reached its age. Another segment follows.
    Age,
    /// Capturing ended as it was meant to. It is the last.
    Closed,
    /// The process had died; the next start found its log. It is the last of its capture, and rows that had not been
    /// flushed are missing after it.
    Recovered,
}

/// A file that this one stands in for, after an erasure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// SHA-256 of the file that was there, in hex: what the next segment names as the one before it.
    pub sha256: String,
    /// Rows that it had and this one has not.
    pub erased: u64,
    /// When, µs after 1970-01-01 UTC.
    pub at_us: i64,
}

/// What is known of a segment at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// Rows in it.
    pub rows: u64,
    /// Rows of the capture before it, those included that were erased since.
    pub rows_before: u64,
    /// Rows that were not kept since the segment before, by reason.
    pub dropped: Vec<Count>,
    /// Why it ended.
    pub by: SealedBy,
    /// Bytes at the end of a recovered log that were no whole record.
    pub torn_bytes: u64,
    /// The earliest arrival in it by the wall clock, µs after 1970-01-01 UTC.
    pub first_wall_us: Option<i64>,
    /// The latest.
    pub last_wall_us: Option<i64>,
    /// The earliest arrival in it on the monotonic clock.
    pub first_arrival_ns: Option<u64>,
    /// The latest. Rows lie in the order of their arrivals.
    pub last_arrival_ns: Option<u64>,
    /// The file of its texts, beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<SealedText>,
    /// Files that it stands in for, the oldest first.
    pub replaced: Vec<Replaced>,
}

impl Seal {
    /// Counts a row that follows those that were counted before.
    pub(crate) fn count(&mut self, row: &Row) {
        let (wall, arrival) = (row.wall_us, row.arrival_ns);
        self.rows += 1;
        self.first_wall_us = Some(self.first_wall_us.map_or(wall, |first| first.min(wall)));
        self.last_wall_us = Some(self.last_wall_us.map_or(wall, |last| last.max(wall)));
        self.first_arrival_ns = self.first_arrival_ns.or(Some(arrival));
        self.last_arrival_ns = Some(arrival);
    }
}
