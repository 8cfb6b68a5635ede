//! Lines between the chunks of a body.

use super::Fault;
use super::classes::{self, VALUE};
use super::lines::trim;
use memchr::memchr;

/// Longest line, its end included, in bytes.
const LINE_BYTES: usize = 1024;

/// Most bytes of extensions in one body. hyper gives up a little later, and without an answer.
pub(super) const EXTENSION_BYTES: usize = 15 * 1024;

/// The line before a chunk's data.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChunkLine {
    /// Of the line, its end included, in bytes.
    pub(super) length: usize,
    /// Of the data, in bytes; 0 is the last chunk.
    pub(super) size: u64,
    /// Of the extensions, in bytes.
    pub(super) extension: usize,
}

/// Reads a chunk's line; `None` if more bytes are needed, and then the first `seen` need not be looked at again.
pub(super) fn read(bytes: &[u8], seen: &mut usize) -> Result<Option<ChunkLine>, Fault> {
    let within = &bytes[..bytes.len().min(LINE_BYTES)];
    let Some(distance) = memchr(b'\n', &within[*seen..]) else {
        *seen = within.len();
        return if within.len() == LINE_BYTES {
            Err(Fault::ChunkLineTooLong)
        } else {
            Ok(None)
        };
    };
    let length = *seen + distance + 1;
    let line = within[..length]
        .strip_suffix(b"\r\n")
        .ok_or(Fault::LineEnd)?;
    let (digits, rest) = line.split_at(
        line.iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count(),
    );
    let size = size(digits).ok_or(Fault::ChunkSize)?;
    let is_extension = trim(rest).starts_with(b";") && classes::all(rest, VALUE);
    if !rest.is_empty() && !is_extension {
        return Err(Fault::ChunkExtension);
    }
    Ok(Some(ChunkLine {
        length,
        size,
        extension: rest.len(),
    }))
}

/// Sixteen hexadecimal digits always fit into 64 bits.
fn size(digits: &[u8]) -> Option<u64> {
    (1..=16).contains(&digits.len()).then(|| {
        digits.iter().fold(0, |size, digit| {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                other => (other | 0x20) - b'a' + 10,
            };
            (size << 4) | u64::from(value)
        })
    })
}
