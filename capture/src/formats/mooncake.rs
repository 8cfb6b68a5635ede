//! Mooncake traces: JSON lines of arrival, lengths and block ids (kvcache-ai/Mooncake).
//!
//! Times are whole milliseconds from the first request; blocks are 512 tokens, the last, shorter one included.

use std::io::BufRead;

use serde_json::{Value, json};

use super::blocks::Chain;
use super::lines::{Lines, Members};
use super::units::milliseconds;
use super::{
    BlockSize, Entry, Export, Files, Format, FormatError, Import, Imported, Reading, Tail,
    TimeUnit, Trace,
};

const BLOCK: u32 = 512;

pub(super) static MOONCAKE: Format = Format {
    name: "mooncake",
    says: "JSON lines of arrival, lengths and block ids; read by GuideLLM, AIPerf and vLLM",
    export: Some(Export {
        text: false,
        blocks: Some(BlockSize {
            tokens: BLOCK,
            tail: Tail::Kept,
        }),
        time: "ms after the first arrival, whole",
        carries: &[
            "arrivals",
            "prompt and output lengths",
            "shared prefixes, by blocks of 512 tokens",
        ],
        loses: &[
            "sessions and think times",
            "models",
            "outcomes",
            "sampling settings",
            "what was streamed",
        ],
        commands: include_str!("commands/mooncake.md"),
        write,
    }),
    import: Some(Import::Lines(read)),
};

fn write(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for entry in &trace.entries {
        files.line("mooncake.jsonl", &line(entry).to_string())?;
    }
    Ok(())
}

/// The line of an entry, which timed traces of vLLM share.
pub(super) fn line(entry: &Entry) -> Value {
    json!({
        "timestamp": milliseconds(entry.at_ns),
        "input_length": entry.input,
        "output_length": entry.output,
        "hash_ids": entry.ids,
    })
}

fn read(input: &mut dyn BufRead, reading: &Reading) -> Result<Imported, FormatError> {
    let block = reading.block.unwrap_or(BLOCK);
    let unit = reading.time.unwrap_or(TimeUnit::Milliseconds);
    let trust = if reading.time.is_some() {
        Trust::Said
    } else {
        Trust::WholeOnly
    };
    read_timed(input, block, (unit, trust))
}

/// Whether a time with a fraction is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The unit was said.
    Said,
    /// The unit is the format's, whose times are whole: a fraction means another unit.
    WholeOnly,
}

/// Reads lines of `timestamp`, `input_length`, `output_length` and `hash_ids`.
pub(super) fn read_timed(
    input: &mut dyn BufRead,
    block: u32,
    (unit, trust): (TimeUnit, Trust),
) -> Result<Imported, FormatError> {
    let mut lines = Lines::new(input);
    let mut chain = Chain::default();
    let mut entries = Vec::new();
    while let Some(mut members) = lines.next()? {
        let at = members.any("timestamp");
        let at = members.required("timestamp", at)?;
        if trust == Trust::WholeOnly && at.as_u64().is_none() {
            return Err(members.wrong(
                "timestamp",
                &at,
                "a whole number of milliseconds (if these are seconds, say --time-unit s)",
            ));
        }
        let at_ns = at.as_f64().and_then(|at| unit.nanoseconds(at));
        let at_ns = at_ns.ok_or_else(|| members.wrong("timestamp", &at, "a time, not below 0"))?;
        let entry = Entry {
            at_ns,
            ..lengths(&mut members, block, Tail::Kept)?
        };
        chain.check(members.line, &entry.ids)?;
        entries.push(Entry {
            extra: members.rest(),
            ..entry
        });
    }
    Ok(Imported::timed(entries, block))
}

/// Lengths and ids, which have to be of each other's number.
pub(super) fn lengths(members: &mut Members, block: u32, tail: Tail) -> Result<Entry, FormatError> {
    let input = members.count("input_length")?;
    let input = members.required("input_length", input)?;
    let output = members.count("output_length")?;
    let ids = members.ids("hash_ids")?.unwrap_or_default();
    counted(
        members.line,
        (&ids, input),
        BlockSize {
            tokens: block,
            tail,
        },
    )?;
    Ok(Entry {
        input: Some(input),
        output,
        ids,
        ..Entry::default()
    })
}

/// There are as many ids as the length has blocks, or none.
pub(super) fn counted(
    line: u64,
    (ids, tokens): (&[u64], u64),
    block: BlockSize,
) -> Result<(), FormatError> {
    let size = u64::from(block.tokens);
    let wanted = match block.tail {
        Tail::Kept => tokens.div_ceil(size),
        Tail::Dropped => tokens / size,
    };
    if ids.is_empty() || ids.len() as u64 == wanted {
        return Ok(());
    }
    Err(FormatError::line(
        line,
        format!(
            "has {} block ids for {tokens} tokens, which are {wanted} blocks of {size}: if blocks are of another size, say it with \
             --block",
            ids.len()
        ),
    ))
}
