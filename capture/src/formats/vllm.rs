//! What `vllm bench serve` reads: prompts with an output length, and timed traces.
//!
//! A timed trace is a line of Mooncake's, in milliseconds, with blocks of 16 tokens, vLLM's own default. A row without ids
//! would be an empty prompt to it, so that every row has some.

use std::io::BufRead;

use serde_json::json;

use super::mooncake::{Trust, line, read_timed};
use super::{
    BlockSize, Export, Files, Format, FormatError, Import, Imported, Reading, Tail, Trace,
};

const BLOCK: u32 = 16;

pub(super) static CUSTOM: Format = Format {
    name: "vllm-custom",
    says: "prompts and output lengths for `vllm bench serve --dataset-name custom`",
    export: Some(Export {
        text: true,
        blocks: None,
        time: "none",
        carries: &["prompts, a chat as one text", "output lengths"],
        loses: &[
            "arrivals",
            "sessions",
            "roles within a chat",
            "models",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/vllm-custom.md"),
        write: write_custom,
    }),
    import: None,
};

pub(super) static TIMED_TRACE: Format = Format {
    name: "vllm-timed-trace",
    says: "arrival, lengths and block ids for `vllm bench serve --dataset-name timed_trace`",
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
            "shared prefixes, by blocks of 16 tokens",
        ],
        loses: &[
            "sessions and think times",
            "models",
            "outcomes",
            "sampling settings",
            "what was streamed",
        ],
        commands: include_str!("commands/vllm-timed-trace.md"),
        write: write_timed,
    }),
    import: Some(Import::Lines(read_any)),
};

fn write_custom(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for entry in &trace.entries {
        let Some(text) = &entry.text else { continue };
        let line = json!({ "prompt": text.prompt(), "output_tokens": entry.output });
        files.line("custom.jsonl", &line.to_string())?;
    }
    Ok(())
}

fn write_timed(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for entry in &trace.entries {
        files.line("timed.jsonl", &line(entry).to_string())?;
    }
    Ok(())
}

/// vLLM takes unit and block size from its flags, so that the file alone tells neither.
fn read_any(input: &mut dyn BufRead, reading: &Reading) -> Result<Imported, FormatError> {
    let unsaid = |what, option| FormatError::Unsaid { what, option };
    let unit = reading
        .time
        .ok_or_else(|| unsaid("the unit of its times", "--time-unit ms or --time-unit s"))?;
    let block = reading.block.ok_or_else(|| {
        unsaid(
            "the size of its blocks",
            "--block TOKENS, such as 16 or 512",
        )
    })?;
    read_timed(input, block, (unit, Trust::Said))
}
