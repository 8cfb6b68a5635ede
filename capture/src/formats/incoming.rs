//! What was read from another tool's file, as rows of a capture.
//!
//! What the file does not say stays absent: endpoint and outcome are `unknown`, the end is 0 where no duration is given.
//! Text is not kept: a capture keeps text only encrypted, and here is nobody to encrypt it to.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{Entry, Format, FormatError, Reading, Text};
use crate::{Level, Row};

/// A file of another tool, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// The exchanges, in the file's order.
    pub entries: Vec<Entry>,
    /// Tokens a block of the ids; `None` where there are no ids.
    pub block: Option<u32>,
    /// First arrival, µs after 1970-01-01 UTC, where the file has dates.
    pub start_us: Option<i64>,
}

/// A name for what is read from a file: the same for the same bytes and wishes, and no other's.
///
/// # Errors
/// If the file can't be read.
pub fn import_name(path: &Path, format: &Format, reading: &Reading) -> Result<String, FormatError> {
    let mut hash = Sha256::new();
    let mut file = BufReader::new(File::open(path)?);
    loop {
        let some = file.fill_buf()?;
        if some.is_empty() {
            break;
        }
        hash.update(some);
        let read = some.len();
        file.consume(read);
    }
    hash.update(format!("{} {reading:?}", format.name));
    let digest = hash.finalize();
    let hex: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!("import-{hex}"))
}

/// Rows of a file of another tool, and what holds for all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRows {
    /// In order of arrival.
    pub rows: Vec<Row>,
    /// What they keep.
    pub level: Level,
    /// Tokens a block.
    pub block: u32,
    /// Rows whose arrival is not given, but a wait after the turn before: it is the earliest it can have been.
    pub inferred: u64,
    /// Rows whose text was left behind.
    pub texts: u64,
}

impl Imported {
    /// Sorts by arrival and puts the first at 0; returns what its time was.
    pub(super) fn from_first(mut entries: Vec<Entry>) -> (Vec<Entry>, u64) {
        entries.sort_by_key(|entry| entry.at_ns);
        let first = entries.first().map_or(0, |entry| entry.at_ns);
        for entry in &mut entries {
            entry.at_ns -= first;
        }
        (entries, first)
    }

    /// Of entries on a clock of the file's own, with block ids of so many tokens, where any has ids.
    pub(super) fn timed(entries: Vec<Entry>, block: u32) -> Self {
        let ids = entries.iter().any(|entry| !entry.ids.is_empty());
        let (entries, _) = Self::from_first(entries);
        Self {
            entries,
            block: ids.then_some(block),
            start_us: None,
        }
    }

    /// Of entries with their dates, in ns after 1970-01-01 UTC.
    pub(super) fn dated(dated: Vec<(i128, Entry)>) -> Self {
        let first = dated.iter().map(|(at, _)| *at).min().unwrap_or(0);
        let after = |at: i128| u64::try_from(at - first).unwrap_or(u64::MAX);
        let entries = dated.into_iter().map(|(at, entry)| Entry {
            at_ns: after(at),
            ..entry
        });
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_by_key(|entry| entry.at_ns);
        Self {
            entries,
            block: None,
            start_us: i64::try_from(first / 1000).ok(),
        }
    }

    /// The rows. `key` names the file: the same session name in another file is another session.
    ///
    /// # Errors
    /// If the file holds nothing.
    pub fn into_rows(self, key: &str) -> Result<ImportedRows, FormatError> {
        if self.entries.is_empty() {
            return Err(FormatError::File("the file holds no request".to_owned()));
        }
        let prefixes = self.entries.iter().any(|entry| !entry.ids.is_empty());
        let texts = self
            .entries
            .iter()
            .filter(|entry| entry.text.is_some())
            .count() as u64;
        let inferred = self
            .entries
            .iter()
            .filter(|entry| entry.at_inferred)
            .count() as u64;
        let start_us = self.start_us.unwrap_or(0);
        let mut entries = self.entries;
        entries.sort_by_key(|entry| entry.at_ns);
        let numbered = (1..).zip(entries);
        Ok(ImportedRows {
            rows: numbered
                .map(|(number, entry)| row(number, entry, (key, start_us)))
                .collect(),
            level: if prefixes {
                Level::Prefix
            } else {
                Level::Lengths
            },
            block: self.block.unwrap_or(16),
            inferred,
            texts,
        })
    }
}

fn row(exchange: u64, entry: Entry, (key, start_us): (&str, i64)) -> Row {
    let at_us = i64::try_from(entry.at_ns / 1000).unwrap_or(i64::MAX);
    let nothing = || Row {
        endpoint: "unknown".to_owned(),
        ..Row::default()
    };
    let of_text = entry.text.as_ref().map_or_else(nothing, facts);
    let source = |known: bool| if known { "import" } else { "none" }.to_owned();
    let outcome = if entry.failed { "failed" } else { "unknown" };
    let mut flags = Vec::new();
    if entry.at_inferred {
        flags.push("arrival_inferred".to_owned());
    }
    Row {
        exchange,
        role: "import".to_owned(),
        wall_us: start_us.saturating_add(at_us),
        arrival_ns: entry.at_ns,
        model: entry.model,
        stream: entry.stream.or(of_text.stream),
        images: entry.images,
        input_source: source(entry.input.is_some()),
        input_tokens: entry.input,
        output_source: source(entry.output.is_some()),
        output_tokens: entry.output,
        output_tokens_min: entry.output.unwrap_or(0),
        outcome: outcome.to_owned(),
        flags,
        body_sent_ns: entry.e2e_ns.or(entry.ttft_ns).map(|_| 0),
        first_token_ns: entry.ttft_ns,
        end_ns: entry.e2e_ns.unwrap_or(0),
        session: entry.session.map(|session| keyed(key, session)),
        session_by: entry.session.map(|_| "field".to_owned()),
        turn: entry.turn,
        think_ns: entry.think_ns,
        prompt_units: if entry.ids.is_empty() {
            None
        } else {
            entry.input
        },
        blocks: entry.ids,
        extra: (!entry.extra.is_empty())
            .then(|| serde_json::Value::Object(entry.extra).to_string()),
        ..of_text
    }
}

/// What the words tell without being kept.
fn facts(text: &Text) -> Row {
    let request = &text.request;
    let count = |name: &str| request.get(name).and_then(serde_json::Value::as_u64);
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let chat = request
        .get("messages")
        .and_then(serde_json::Value::as_array);
    let bytes = text
        .messages()
        .iter()
        .map(|message| message.content.len() as u64)
        .sum();
    let endpoint = if chat.is_some() {
        "/v1/chat/completions"
    } else {
        "/v1/completions"
    };
    Row {
        endpoint: endpoint.to_owned(),
        stream: request.get("stream").and_then(serde_json::Value::as_bool),
        messages: chat.map(|messages| small(messages.len() as u64)),
        max_tokens: count("max_tokens")
            .or_else(|| count("max_completion_tokens"))
            .map(small),
        prompt_bytes: Some(bytes),
        ..Row::default()
    }
}

fn keyed(key: &str, session: u64) -> u64 {
    let digest = Sha256::new()
        .chain_update(key)
        .chain_update(session.to_le_bytes())
        .finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
