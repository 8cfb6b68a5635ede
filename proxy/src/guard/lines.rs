//! Sections of lines that an empty line ends: heads and trailers. Lines end in CR LF and in nothing else.

use super::Fault;
use memchr::memchr;

/// Bounds of a section, and what it is to be beyond them.
pub(super) struct Bounds {
    /// Most bytes, the empty line included.
    pub(super) bytes: usize,
    pub(super) too_long: Fault,
    /// Most lines, the empty one not counted.
    pub(super) lines: usize,
    pub(super) too_many: Fault,
}

/// How far a section was looked at. Each byte is looked at once, however it arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scan {
    seen: usize,
    line_start: usize,
    lines: usize,
}

impl Scan {
    /// Looks for the section's end in `bytes`, which begin where the section does and may have grown since the last call.
    /// Returns its length with the empty line, or `None` if more bytes are needed.
    pub(super) fn end(&mut self, bytes: &[u8], bounds: &Bounds) -> Result<Option<usize>, Fault> {
        let within = &bytes[..bytes.len().min(bounds.bytes)];
        while let Some(distance) = memchr(b'\n', &within[self.seen..]) {
            let line = &within[self.line_start..self.seen + distance];
            let Some(text) = line.strip_suffix(b"\r") else {
                return Err(Fault::LineEnd);
            };
            self.seen += distance + 1;
            if text.is_empty() {
                return Ok(Some(self.seen));
            }
            self.line_start = self.seen;
            self.lines += 1;
            if self.lines > bounds.lines {
                return Err(bounds.too_many);
            }
        }
        self.seen = within.len();
        if within.len() == bounds.bytes {
            return Err(bounds.too_long);
        }
        Ok(None)
    }
}

/// The lines of a whole section, without their ends.
pub(super) struct Lines<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (line, rest) = self.0.split_at_checked(memchr(b'\n', self.0)? + 1)?;
        self.0 = rest;
        line.strip_suffix(b"\r\n").filter(|text| !text.is_empty())
    }
}

/// `bytes` before and after the first `byte`.
pub(super) fn split_once(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let (before, rest) = bytes.split_at_checked(memchr(byte, bytes)?)?;
    Some((before, rest.get(1..)?))
}

/// Without the spaces and tabs at both ends; nothing else is white space in HTTP.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
