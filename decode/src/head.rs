//! Heads of responses as recorders write them: HTTP/1.x and HTTP/2, lines that end with CRLF or LF.

use crate::Error;
use wire::EngineTimes;

/// What decoding needs of a head.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_length: Option<u64>,
    pub(crate) is_chunked: bool,
    /// TGI counts in the head of an answer that is not streamed.
    pub(crate) generated_tokens: Option<u64>,
    pub(crate) prompt_tokens: Option<u64>,
    pub(crate) engine_times: EngineTimes,
}

/// Whether a file begins with a status line.
pub(crate) fn is_status_line(text: &[u8]) -> bool {
    text.strip_prefix(b"HTTP/")
        .and_then(<[u8]>::first)
        .is_some_and(u8::is_ascii_digit)
}

/// The last of the heads that `text` begins with, where its body begins, and how many came before it.
pub(crate) fn last(text: &[u8]) -> Result<(Head, usize, usize), Error> {
    let (mut at, mut line, mut passed) = (0, 1, 0);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let (head, bytes, lines) = one(rest, line)?;
        at += bytes;
        line += lines;
        if !is_status_line(text.get(at..).unwrap_or_default()) {
            return Ok((head, at, passed));
        }
        passed += 1;
    }
}

/// One head, its bytes and its lines; its first line has the number `line`.
fn one(text: &[u8], line: usize) -> Result<(Head, usize, usize), Error> {
    let mut fields: Vec<(String, String)> = Vec::new();
    let (mut status, mut bytes) = (0, 0);
    for (place, with_end) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        bytes += with_end.len();
        let wrong = |expected| Error::Head {
            line: line + place,
            text: String::from_utf8_lossy(with_end.trim_ascii_end())
                .chars()
                .take(60)
                .collect(),
            expected,
        };
        let content = String::from_utf8_lossy(with_end.trim_ascii_end());
        if place == 0 {
            status = status_of(&content).ok_or_else(|| wrong("status line"))?;
        } else if content.is_empty() {
            return Ok((Head::of(status, &fields), bytes, place + 1));
        } else {
            let (name, value) = content
                .split_once(':')
                .ok_or_else(|| wrong("header field"))?;
            fields.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    Ok((Head::of(status, &fields), bytes, fields.len() + 1))
}

fn status_of(line: &str) -> Option<u16> {
    let code = line.strip_prefix("HTTP/")?.split(' ').nth(1)?;
    code.parse().ok().filter(|code| (100..600).contains(code))
}

// ---- Head

impl Head {
    /// A head with these fields.
    pub(crate) fn of(status: u16, fields: &[(String, String)]) -> Self {
        let value = |name: &str| {
            let named = |field: &&(String, String)| field.0.eq_ignore_ascii_case(name);
            fields.iter().find(named).map(|field| field.1.as_str())
        };
        let count = |name| value(name).and_then(|count| count.parse().ok());
        Self {
            status,
            content_type: value("content-type").map(str::to_owned),
            content_encoding: value("content-encoding").map(str::to_owned),
            content_length: count("content-length"),
            is_chunked: value("transfer-encoding")
                .is_some_and(|codings| codings.to_ascii_lowercase().contains("chunked")),
            generated_tokens: count("x-generated-tokens"),
            prompt_tokens: count("x-prompt-tokens"),
            engine_times: EngineTimes::of_head(value),
        }
    }
}
