//! What the process returns.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or the verdict is yes.
    Pass,
    /// Usage or configuration is wrong; nothing was done.
    Usage,
    /// The command could not do its work, or could not tell.
    Unknown,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Pass => Self::SUCCESS,
            Exit::Usage => Self::from(2),
            Exit::Unknown => Self::from(3),
        }
    }
}
