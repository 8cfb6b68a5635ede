//! What GuideLLM reads beside other tools' traces: columns with prompts, and lengths with arrivals. Times are seconds.

use std::io::BufRead;

use serde_json::json;

use super::lines::Lines;
use super::units::seconds;
use super::{
    Entry, Export, Files, Format, FormatError, Import, Imported, Reading, TimeUnit, Trace,
};

pub(super) static COLUMNS: Format = Format {
    name: "guidellm",
    says: "prompts, lengths and arrivals in GuideLLM's columns",
    export: Some(Export {
        text: true,
        blocks: None,
        time: "s after the first arrival",
        carries: &[
            "arrivals",
            "system prompts",
            "prompts, the rest of a chat as one text",
            "prompt and output lengths",
        ],
        loses: &[
            "sessions and think times",
            "roles within a chat",
            "models",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/guidellm.md"),
        write: write_columns,
    }),
    import: None,
};

pub(super) static SYNTHETIC: Format = Format {
    name: "guidellm-synthetic",
    says: "arrival and lengths, GuideLLM's `trace_synthetic`",
    export: Some(Export {
        text: false,
        blocks: None,
        time: "s after the first arrival",
        carries: &["arrivals", "prompt and output lengths"],
        loses: &[
            "shared prefixes",
            "sessions and think times",
            "models",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/guidellm-synthetic.md"),
        write: write_synthetic,
    }),
    import: Some(Import::Lines(read_synthetic)),
};

fn write_columns(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for entry in &trace.entries {
        let Some(text) = &entry.text else { continue };
        let mut messages = text.messages();
        let leads = messages
            .first()
            .is_some_and(|first| matches!(first.role.as_str(), "system" | "developer"));
        let system = if leads && messages.len() > 1 {
            Some(messages.remove(0).content)
        } else {
            None
        };
        let rest: Vec<String> = messages
            .into_iter()
            .map(|message| message.content)
            .collect();
        let mut line = json!({
            "prompt": rest.join("\n"),
            "prompt_tokens_count": entry.input,
            "output_tokens_count": entry.output,
            "relative_timestamp": seconds(entry.at_ns),
        });
        // Every row has the same columns: a file in which some lack one is refused.
        if let Some(line) = line.as_object_mut() {
            line.insert(
                "system_prompt".to_owned(),
                system.unwrap_or_default().into(),
            );
        }
        files.line("columns.jsonl", &line.to_string())?;
    }
    Ok(())
}

fn write_synthetic(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    for entry in &trace.entries {
        let line = json!({
            "timestamp": seconds(entry.at_ns),
            "input_length": entry.input,
            "output_length": entry.output,
        });
        files.line("synthetic.jsonl", &line.to_string())?;
    }
    Ok(())
}

fn read_synthetic(input: &mut dyn BufRead, reading: &Reading) -> Result<Imported, FormatError> {
    let unit = reading.time.unwrap_or(TimeUnit::Seconds);
    let mut lines = Lines::new(input);
    let mut entries = Vec::new();
    while let Some(mut members) = lines.next()? {
        let at = members.time("timestamp", unit)?;
        let tokens = members.count("input_length")?;
        let entry = Entry {
            at_ns: members.required("timestamp", at)?,
            input: Some(members.required("input_length", tokens)?),
            output: members.count("output_length")?,
            ..Entry::default()
        };
        entries.push(Entry {
            extra: members.rest(),
            ..entry
        });
    }
    let (entries, _) = Imported::from_first(entries);
    Ok(Imported {
        entries,
        block: None,
        start_us: None,
    })
}
