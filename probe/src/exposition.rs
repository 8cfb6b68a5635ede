//! Just enough of Prometheus' text format to find a few samples in a long exposition: a line at a time, with no more than
//! one line kept, and nothing looked at but names until one is wanted.
//!
//! Lenient: a line that can't be read is passed over. Timestamps and exemplars are ignored.

use memchr::memchr;
use std::borrow::Cow;

/// Longest line that is read, in bytes; longer ones are passed over. Samples are a few hundred bytes long.
const LINE_BYTES: usize = 16 * 1024;

/// Cuts bytes into lines, however they come.
#[derive(Debug, Default)]
pub struct Lines {
    /// The beginning of the line at hand.
    partial: Vec<u8>,
    /// The line at hand is too long.
    skipping: bool,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Its full name.
    pub name: &'a str,
    /// What stands between the braces.
    labels: &'a str,
    /// Its value.
    pub value: f64,
}

// ---- Lines

impl Lines {
    /// Takes the next bytes; each line that they complete goes to `line`, without its end.
    pub fn push(&mut self, mut bytes: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (head, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            if self.skipping {
                self.skipping = false;
            } else if self.partial.is_empty() {
                line(head);
            } else {
                self.keep(head);
                line(&self.partial);
            }
            self.partial.clear();
        }
        self.keep(bytes);
    }

    /// The end of the exposition; a last line may lack its line end.
    pub fn finish(self, mut line: impl FnMut(&[u8])) {
        if !self.partial.is_empty() {
            line(&self.partial);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.partial.len() + bytes.len() > LINE_BYTES {
            self.partial.clear();
            self.skipping = true;
            return;
        }
        self.partial.extend_from_slice(bytes);
    }
}

// ---- Sample

impl<'a> Sample<'a> {
    /// Reads a line; `None` for a comment and for what is no sample.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim();
        let end = line.find(['{', ' ', '\t'])?;
        let (name, rest) = line.split_at(end);
        if name.is_empty() || name.starts_with('#') {
            return None;
        }
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inside) => {
                let end = closing_brace(inside)?;
                (inside.get(..end)?, inside.get(end + 1..)?)
            }
            None => ("", rest),
        };
        let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Self {
            name,
            labels,
            value,
        })
    }

    /// The value of a label.
    pub fn label(&self, wanted: &str) -> Option<Cow<'a, str>> {
        self.labels()
            .find_map(|(name, value)| (name == wanted).then(|| unescaped(value)))
    }

    /// Names and values of all labels, escapes as they are written.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = self.labels;
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once("=\"")?;
            let end = closing_quote(after)?;
            rest = after.get(end + 1..)?;
            let name = name.trim_matches([',', ' ', '\t']);
            Some((name, after.get(..end)?))
        })
    }
}

/// The place of the brace that closes the labels; braces may stand in their values.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = inside.get(at..)?;
        match (rest.find('}')?, rest.find('"')) {
            (brace, Some(quote)) if quote < brace => {
                at += quote + 1;
                at += closing_quote(inside.get(at..)?)? + 1;
            }
            (brace, _) => return Some(at + brace),
        }
    }
}

/// The place of the quote that closes a value.
fn closing_quote(value: &str) -> Option<usize> {
    let mut escaped = false;
    value.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match (c, chars.as_str().chars().next()) {
            ('\\', Some('n')) => text.push('\n'),
            ('\\', Some(next @ ('\\' | '"'))) => text.push(next),
            _ => {
                text.push(c);
                continue;
            }
        }
        chars.next();
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut found = Vec::new();
        let mut add = |line: &[u8]| found.push(String::from_utf8_lossy(line).into_owned());
        let mut lines = Lines::default();
        for piece in pieces {
            lines.push(piece, &mut add);
        }
        lines.finish(&mut add);
        found
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = b"a 1\nbb 2\n\nc 3";
        for size in 1..=text.len() {
            let pieces: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(lines(&pieces), ["a 1", "bb 2", "", "c 3"], "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_costs_its_limit_and_no_more() {
        let endless = vec![b'x'; LINE_BYTES];
        let mut lines = Lines::default();
        for _ in 0..100 {
            lines.push(&endless, |_| panic!("no line ended"));
            assert!(lines.partial.capacity() <= 2 * LINE_BYTES);
        }
        let mut after = Vec::new();
        lines.push(b"\na 1\n", |line| after.push(line.to_vec()));
        assert_eq!(after, [b"a 1".to_vec()], "the next line is read again");
    }

    #[test]
    fn samples_in_every_spelling() {
        let parse = |line: &str| {
            let sample = Sample::parse(line.as_bytes())?;
            let label = sample.label("a").map(Cow::into_owned);
            Some((sample.name.to_owned(), label, sample.value))
        };
        let of = |name: &str, label: Option<&str>, value| {
            Some((name.to_owned(), label.map(str::to_owned), value))
        };
        for (line, expected) in [
            ("x:y 1", of("x:y", None, 1.0)),
            ("x{} 2.5", of("x", None, 2.5)),
            ("x{a=\"b\"} 3 1796040000", of("x", Some("b"), 3.0)),
            (
                "x{z=\"}\",a=\"q\\\"}\\\\\\n\",} 4 # {t=\"u\"} 1",
                of("x", Some("q\"}\\\n"), 4.0),
            ),
            ("x{ba=\"1\", a=\"2\"} 1e3", of("x", Some("2"), 1000.0)),
            ("x{a=\"\"}1", of("x", Some(""), 1.0)),
            ("# HELP x y", None),
            ("", None),
            ("x", None),
            ("x{a=\"b} 1", None),
            ("x{a=\"b\" 1", None),
            ("x much", None),
            ("{\"quoted\"} 1", None),
        ] {
            assert_eq!(parse(line), expected, "{line}");
        }
        assert!(Sample::parse(b"x NaN").is_some_and(|sample| sample.value.is_nan()));
        assert_eq!(Sample::parse(b"x\xff 1"), None);
    }
}
