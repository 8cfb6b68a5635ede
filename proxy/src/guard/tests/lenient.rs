//! A parser that forgives, as parsers behind a proxy do, each kind in its own way. It is wrong on purpose: what the guard
//! admits must not depend on how.

use super::reading::Request;

/// What a parser forgives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lenience {
    line_end: LineEnd,
    winner: Winner,
    /// Which of several lines of a name counts.
    line: Line,
    /// Reads `_` in a name as `-`, and white space before the colon as nothing.
    loose_names: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Pair,
    LineFeed,
    Either,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Winner {
    Coding,
    Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    First,
    Last,
}

impl Lenience {
    pub(super) const ALL: [Self; 5] = [
        Self::of(LineEnd::Pair, Winner::Coding, Line::First, false),
        Self::of(LineEnd::Pair, Winner::Length, Line::Last, true),
        Self::of(LineEnd::LineFeed, Winner::Coding, Line::Last, true),
        Self::of(LineEnd::LineFeed, Winner::Length, Line::First, false),
        Self::of(LineEnd::Either, Winner::Coding, Line::First, true),
    ];

    const fn of(line_end: LineEnd, winner: Winner, line: Line, loose_names: bool) -> Self {
        Self {
            line_end,
            winner,
            line,
            loose_names,
        }
    }
}

/// Reads requests until it finds no whole one any more.
pub(super) fn read_all(bytes: &[u8], lenience: Lenience) -> Vec<Request> {
    let mut requests = Vec::new();
    let mut reader = Reader {
        bytes,
        at: 0,
        lenience,
    };
    while let Some(request) = reader.request() {
        requests.push(request);
    }
    requests
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    lenience: Lenience,
}

impl Reader<'_> {
    fn request(&mut self) -> Option<Request> {
        let mut line = self.line()?;
        while line.is_empty() {
            line = self.line()?;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut fields: Vec<(String, String)> = Vec::new();
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                _ if line.is_empty() => break,
                _ if line.starts_with([' ', '\t']) => fields.last_mut()?.1.push_str(&line),
                Some((name, value)) => fields.push((self.name(name), value.trim().to_owned())),
                None => {}
            }
        }
        let coded = self
            .value(&fields, "transfer-encoding")
            .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
        let length = self.value(&fields, "content-length").map(number);
        let body = match (coded, length) {
            (true, Some(length)) if self.lenience.winner == Winner::Length => self.take(length)?,
            (true, _) => self.chunks()?,
            (false, length) => self.take(length.unwrap_or(0))?,
        };
        Some(Request {
            method,
            target,
            body,
            end: self.at,
        })
    }

    fn name(&self, name: &str) -> String {
        let name = name.to_ascii_lowercase();
        if self.lenience.loose_names {
            name.trim().replace('_', "-")
        } else {
            name
        }
    }

    fn value<'f>(&self, fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
        let mut values = fields
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.as_str());
        match self.lenience.line {
            Line::First => values.next(),
            Line::Last => values.next_back(),
        }
    }

    /// The next line without its end.
    fn line(&mut self) -> Option<String> {
        let rest = &self.bytes[self.at..];
        let find = |end: &[u8]| rest.windows(end.len()).position(|window| window == end);
        let (length, end) = match self.lenience.line_end {
            LineEnd::Pair => (find(b"\r\n")?, 2),
            LineEnd::LineFeed => (find(b"\n")?, 1),
            LineEnd::Either => {
                let at = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'))?;
                let is_pair = rest[at..].starts_with(b"\r\n");
                (at, if is_pair { 2 } else { 1 })
            }
        };
        self.at += length + end;
        let line: String = rest[..length]
            .iter()
            .map(|byte| char::from(*byte))
            .collect();
        Some(line.trim_end_matches('\r').to_owned())
    }

    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let taken = self.bytes[self.at..].get(..length)?.to_vec();
        self.at += length;
        Some(taken)
    }

    /// The size is the digits that the line begins with, none is 0; what follows the data is skipped like a line.
    fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let digits: String = line
                .trim_start()
                .chars()
                .take_while(char::is_ascii_hexdigit)
                .collect();
            match usize::from_str_radix(&digits, 16).unwrap_or(0) {
                0 => break,
                size => body.extend(self.take(size)?),
            }
            self.line()?;
        }
        while !self.line()?.is_empty() {}
        Some(body)
    }
}

/// The digits that a value begins with.
fn number(value: &str) -> usize {
    let digits: String = value
        .trim_start_matches('+')
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}
