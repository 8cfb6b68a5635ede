//! The chunked coding of HTTP/1.1 (RFC 9112, section 7.1), undone in a recording that still has it.

use crate::Error;
use measure::End;

/// Whether a body begins with a chunk's size. No event stream and no JSON does.
pub(crate) fn is_chunked(body: &[u8]) -> bool {
    body.is_empty() || line(body).is_some_and(|(size, _)| size_of(size).is_some())
}

/// The data of each chunk, and how the body ended. Offsets of errors count from the file's begin, `begin` bytes before.
pub(crate) fn undo(body: &[u8], begin: usize) -> Result<(Vec<Vec<u8>>, End), Error> {
    let mut pieces = Vec::new();
    let mut rest = body;
    loop {
        let at = begin + (body.len() - rest.len());
        let Some((size, after)) = line(rest) else {
            return Ok((pieces, End::Truncated));
        };
        let size = size_of(size).ok_or_else(|| wrong(at, size, "size"))?;
        if size == 0 {
            // What follows are trailers and the blank line, without which the body is not whole.
            let whole = after.starts_with(b"\r\n")
                || after.starts_with(b"\n")
                || after.windows(4).any(|window| window == b"\r\n\r\n");
            return Ok((pieces, if whole { End::Clean } else { End::Truncated }));
        }
        let Some((data, after)) = after.split_at_checked(size) else {
            pieces.push(after.to_vec());
            return Ok((pieces, End::Truncated));
        };
        pieces.push(data.to_vec());
        rest = match after {
            [b'\r', b'\n', rest @ ..] | [b'\n', rest @ ..] => rest,
            [] | [b'\r'] => return Ok((pieces, End::Truncated)),
            _ => {
                let at = begin + (body.len() - after.len());
                return Err(wrong(at, after, "line end after a chunk"));
            }
        };
    }
}

/// The first line, without its end, and what follows it.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = bytes.split_at(end);
    Some((line.trim_ascii_end(), rest.get(1..)?))
}

fn size_of(line: &[u8]) -> Option<usize> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let digits = std::str::from_utf8(digits).ok()?;
    let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits
        .then(|| usize::from_str_radix(digits, 16).ok())
        .flatten()
}

fn wrong(offset: usize, bytes: &[u8], expected: &'static str) -> Error {
    let begin = bytes.get(..bytes.len().min(40)).unwrap_or(bytes);
    Error::Chunk {
        offset,
        text: String::from_utf8_lossy(begin).into_owned(),
        expected,
    }
}
