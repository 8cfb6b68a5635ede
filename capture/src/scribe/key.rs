//! The key of a capture: 32 random bytes in memory, and in a file only where the operator says so.

use judge::prefix::Key;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// What is wrong with a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The system has no random bytes.
    #[error("the system gives no random bytes for the capture's key: {0}")]
    Random(getrandom::Error),
    /// Its file can't be read or made.
    #[error("the key file {path} can't be used")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others may read it.
    #[error("the key file {path} may be read by others than its owner: chmod 600 it")]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It holds something else.
    #[error(
        "the key file {path} holds no key: it has 64 hexadecimal digits; remove it to have a new one made"
    )]
    Form {
        /// The file.
        path: PathBuf,
    },
}

/// A random name for a capture.
///
/// # Errors
/// The system gives no random bytes.
pub fn new_name() -> Result<String, KeyError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(KeyError::Random)?;
    Ok(hex(&bytes))
}

/// The key of the file, which is made if it is not there; without a file, a new one.
pub(super) fn key(file: Option<&Path>) -> Result<Key, KeyError> {
    let Some(path) = file else {
        return Ok(Key::new(*random()?));
    };
    let failed = |source| KeyError::File {
        path: path.to_owned(),
        source,
    };
    match fs::metadata(path) {
        Ok(about) if about.mode() & 0o077 != 0 => Err(KeyError::Open {
            path: path.to_owned(),
        }),
        Ok(_) => {
            let text = Zeroizing::new(fs::read_to_string(path).map_err(failed)?);
            let bytes = bytes_of(text.trim()).ok_or_else(|| KeyError::Form {
                path: path.to_owned(),
            })?;
            Ok(Key::new(*bytes))
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            let bytes = random()?;
            let text = Zeroizing::new(hex(&*bytes) + "\n");
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file = options.open(path).map_err(failed)?;
            file.write_all(text.as_bytes()).map_err(failed)?;
            file.sync_all().map_err(failed)?;
            Ok(Key::new(*bytes))
        }
        Err(why) => Err(failed(why)),
    }
}

fn random() -> Result<Zeroizing<[u8; 32]>, KeyError> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes).map_err(KeyError::Random)?;
    Ok(bytes)
}

fn bytes_of(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    if text.len() != 64 || !text.is_ascii() {
        bytes.zeroize();
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Text can always be written to.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
