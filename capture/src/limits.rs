//! How much a capture may take of a disk, and for how long.

use measure::Nanos;

/// The two clocks at one moment. Nothing in this room reads a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// On the monotonic clock of the process.
    pub mono: Nanos,
    /// By the wall clock, µs after 1970-01-01 UTC.
    pub wall_us: i64,
}

/// Limits of a [`crate::Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the open log at which it is sealed.
    pub segment_bytes: u64,
    /// Time after its first row at which it is sealed.
    pub segment_age: Nanos,
    /// Bytes that the pod's log and segments may take: capture stops there, and goes on once there is room.
    pub quota_bytes: Option<u64>,
    /// Bytes that stay free on the disk: capture stops below.
    pub low_water_bytes: u64,
    /// Bytes of segments above which the oldest are deleted.
    pub keep_bytes: Option<u64>,
    /// Seconds after a segment's last arrival at which it is deleted.
    pub keep_secs: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            segment_age: Nanos::from_secs(300),
            quota_bytes: None,
            low_water_bytes: 256 << 20,
            keep_bytes: None,
            keep_secs: None,
        }
    }
}
