//! Why rows are not kept, and where a store stands.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use crate::error::Error;

/// Where a store stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Rows taken since it was opened, those in the open log included.
    pub rows: u64,
    /// Rows dropped since it was opened, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Texts taken since it was opened, those included that wait in memory.
    pub texts: u64,
    /// Texts that were not kept.
    pub texts_dropped: u64,
    /// Segments sealed since it was opened.
    pub segments: u64,
    /// Bytes of the pod's segments and its open log.
    pub bytes: u64,
    /// Why rows are dropped just now, if they are.
    pub stopped: Option<Stop>,
}

/// Why rows are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Stop {
    /// The pod's files take as much as `Limits::quota_bytes` allows.
    #[error("the capture's quota is used up")]
    Quota,
    /// Less than `Limits::low_water_bytes` is free.
    #[error("less is free on the disk than is to stay free")]
    LowWater,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The folder can't be written to.
    #[error("the folder is read-only")]
    ReadOnly,
    /// Any other failure of the disk.
    #[error("the disk failed")]
    Broken,
    /// This row alone: it is larger than 16 MiB.
    #[error("the row is too large")]
    TooLarge,
}

impl Stop {
    /// The reason under which dropped rows are counted.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::LowWater => "low_water",
            Self::Full => "disk_full",
            Self::ReadOnly => "read_only",
            Self::Broken => "disk_failed",
            Self::TooLarge => "too_large",
        }
    }

    pub(crate) fn of(error: &Error) -> Self {
        match error.io().map(std::io::Error::kind) {
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => {
                Self::Full
            }
            Some(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) => Self::ReadOnly,
            _ => Self::Broken,
        }
    }
}
