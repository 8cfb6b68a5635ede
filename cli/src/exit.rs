//! What the process returns.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or the verdict is yes.
    Pass,
    /// The verdict is no.
    No,
    /// Usage or configuration is wrong; nothing was done.
    Usage,
    /// The command could not do its work, or could not tell.
    Unknown,
}

impl Exit {
    /// Of a verdict that may be out of reach.
    pub(crate) fn verdict(verdict: Option<bool>) -> Self {
        match verdict {
            Some(true) => Self::Pass,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Pass => Self::SUCCESS,
            Exit::No => Self::from(1),
            Exit::Usage => Self::from(2),
            Exit::Unknown => Self::from(3),
        }
    }
}
