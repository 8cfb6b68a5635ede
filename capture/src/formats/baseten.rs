//! Baseten's traces: Parquet of arrival, prompt, lengths, block hashes and session. Times are milliseconds after 1970.
//!
//! The prompt is not kept. Hashes are those of whole or begun blocks of `block_size` tokens, and have to be a chain.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row as Record};
use serde_json::Map;

use super::blocks::Chain;
use super::sessions::Sessions;
use super::{Entry, Format, FormatError, Import, Imported, Reading, Text, TimeUnit};

pub(super) static BASETEN: Format = Format {
    name: "baseten",
    says: "Baseten's Parquet traces",
    export: None,
    import: Some(Import::File(read)),
};

fn read(path: &Path, reading: &Reading) -> Result<Imported, FormatError> {
    let reader = SerializedFileReader::new(File::open(path)?)?;
    let mut chain = Chain::default();
    let mut block = reading.block;
    let mut named = Vec::new();
    for (line, record) in (1..).zip(reader.get_row_iter(None)?) {
        let record = record?;
        let size = cell(&record, "block_size")
            .and_then(whole)
            .and_then(|size| u32::try_from(size).ok());
        match (block, size) {
            (Some(block), Some(size)) if block != size => {
                return Err(FormatError::line(
                    line,
                    format!(
                        "blocks are of {size} tokens, and of {block} before: they can't be compared"
                    ),
                ));
            }
            _ => block = block.or(size),
        }
        let entry = exchange(&record, line)?;
        if !entry.ids.is_empty() && block.is_none() {
            return Err(FormatError::Unsaid {
                what: "the size of its blocks",
                option: "--block TOKENS",
            });
        }
        chain.check(line, &entry.ids)?;
        let session =
            cell(&record, "provided_session_id").or_else(|| cell(&record, "poor_man_session_id"));
        named.push((entry, session.map(|session| session.to_string())));
    }
    named.sort_by_key(|(entry, _)| entry.at_ns);
    let mut sessions = Sessions::default();
    let mut entries = Vec::new();
    for (mut entry, session) in named {
        if let Some(session) = session {
            sessions.of(&session).join(&mut entry);
        }
        entries.push(entry);
    }
    let (entries, first) = Imported::from_first(entries);
    Ok(Imported {
        entries,
        block,
        start_us: i64::try_from(first / 1000).ok(),
    })
}

fn exchange(record: &Record, line: u64) -> Result<Entry, FormatError> {
    let count = |name: &str| {
        let value = cell(record, name).and_then(whole);
        value.ok_or_else(|| FormatError::line(line, format!("has no whole number in {name:?}")))
    };
    let milliseconds = |ms: u64| TimeUnit::Milliseconds.nanoseconds(ms as f64);
    let at = count("timestamp_start_unix_ms")?;
    let text = match cell(record, "prompt") {
        Some(Field::Str(prompt)) => Some(Text {
            request: Map::from_iter([("prompt".to_owned(), prompt.as_str().into())]),
            answer: None,
        }),
        _ => None,
    };
    let ids = match cell(record, "total_hashes") {
        Some(Field::ListInternal(list)) => list
            .elements()
            .iter()
            .map(|hash| {
                whole(hash).ok_or_else(|| {
                    FormatError::line(line, "\"total_hashes\" holds what is no whole number")
                })
            })
            .collect::<Result<Vec<u64>, FormatError>>()?,
        _ => Vec::new(),
    };
    Ok(Entry {
        at_ns: milliseconds(at)
            .ok_or_else(|| FormatError::line(line, "\"timestamp_start_unix_ms\" is no time"))?,
        input: Some(count("input_tokens")?),
        output: Some(count("output_tokens")?),
        e2e_ns: cell(record, "duration_e2e_ms")
            .and_then(whole)
            .and_then(milliseconds),
        ids,
        text,
        ..Entry::default()
    })
}

fn cell<'a>(record: &'a Record, name: &str) -> Option<&'a Field> {
    let found = record
        .get_column_iter()
        .find(|(column, _)| column.as_str() == name);
    found
        .map(|(_, field)| field)
        .filter(|field| !matches!(field, Field::Null))
}

fn whole(field: &Field) -> Option<u64> {
    match field {
        Field::Int(number) => u64::try_from(*number).ok(),
        Field::Long(number) => u64::try_from(*number).ok(),
        Field::UInt(number) => Some(u64::from(*number)),
        Field::ULong(number) => Some(*number),
        Field::TimestampMillis(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}
