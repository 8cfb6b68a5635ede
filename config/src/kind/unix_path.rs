//! The path of a Unix socket, as both sides of the proxy write it: `unix:/run/engine.sock`.

use std::path::{Path, PathBuf};

use crate::fault::{Code, Complaint};

/// What stands before the path.
pub(crate) const SCHEME: &str = "unix:";

/// Longest path, bytes: what a socket address of Linux holds beside its terminating zero.
const BYTES_MAX: usize = 107;

/// The path in `text`, if it says that it is one.
pub(crate) fn parse(text: &str) -> Option<Result<PathBuf, Complaint>> {
    let path = text.strip_prefix(SCHEME)?;
    Some(check(path))
}

fn check(path: &str) -> Result<PathBuf, Complaint> {
    if !path.starts_with('/') || path.ends_with('/') {
        return Err(Complaint::value(
            "not the absolute path of a socket",
            "write unix:/PATH, for example unix:/run/loadproof/loadproof.sock",
        ));
    }
    if path.chars().any(char::is_control) {
        return Err(Complaint::value(
            "a path with control characters",
            "write a path of printable characters",
        ));
    }
    if path.len() > BYTES_MAX {
        return Err(Complaint::new(
            Code::Range,
            format!("a path of {} bytes", path.len()),
            format!(
                "give a path of at most {BYTES_MAX} bytes, which is what the system takes for a socket"
            ),
        ));
    }
    Ok(PathBuf::from(path))
}

/// The text that [`parse`] takes back.
pub(crate) fn show(path: &Path) -> String {
    format!("{SCHEME}{}", path.display())
}
