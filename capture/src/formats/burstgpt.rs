//! BurstGPT's CSV (HPMLL/BurstGPT): arrival in seconds, session, duration, lengths.
//!
//! vLLM reads it by position, and only rows of the model `GPT-4` with an answer; so that is the model of every row.

use std::io::BufRead;

use super::sessions::Sessions;
use super::spreadsheet::{Cells, Sheet};
use super::units::seconds;
use super::{
    Entry, Export, Files, Format, FormatError, Import, Imported, Reading, TimeUnit, Trace,
};

const HEAD: &str =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type";
const COLUMNS: [&str; 8] = [
    "Timestamp",
    "Session ID",
    "Elapsed time",
    "Model",
    "Request tokens",
    "Response tokens",
    "Total tokens",
    "Log Type",
];

pub(super) static BURSTGPT: Format = Format {
    name: "burstgpt",
    says: "CSV of arrival, session, duration and lengths; read by AIPerf and vLLM",
    export: Some(Export {
        text: false,
        blocks: None,
        time: "s after the first arrival",
        carries: &[
            "arrivals",
            "sessions",
            "durations",
            "prompt and output lengths",
        ],
        loses: &[
            "shared prefixes",
            "models: each is GPT-4, the one that vLLM reads",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/burstgpt.md"),
        write,
    }),
    import: Some(Import::Lines(read)),
};

fn write(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    files.line("burstgpt.csv", HEAD)?;
    for entry in &trace.entries {
        let (input, output) = (entry.input.unwrap_or(0), entry.output.unwrap_or(0));
        let session = entry
            .session
            .map(|session| format!("s-{session}"))
            .unwrap_or_default();
        let elapsed = entry
            .e2e_ns
            .map(|ns| seconds(ns).to_string())
            .unwrap_or_default();
        let kind = if session.is_empty() {
            "API log"
        } else {
            "Conversation log"
        };
        let at = seconds(entry.at_ns);
        files.line(
            "burstgpt.csv",
            &format!(
                "{at},{session},{elapsed},GPT-4,{input},{output},{},{kind}",
                input + output
            ),
        )?;
    }
    Ok(())
}

fn read(mut input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut sheet = Sheet::new(&mut input)?;
    sheet.needs(&["Timestamp", "Request tokens", "Response tokens"])?;
    let mut entries = Vec::new();
    let mut names = Vec::new();
    while let Some(cells) = sheet.next()? {
        let index = entries.len();
        entries.push(entry(&cells)?);
        names.extend(
            cells
                .text("Session ID")
                .map(|name| (index, name.to_owned())),
        );
    }
    names.sort_by_key(|(index, _)| entries.get(*index).map_or(0, |entry: &Entry| entry.at_ns));
    let mut sessions = Sessions::default();
    for (index, name) in names {
        if let Some(entry) = entries.get_mut(index) {
            sessions.of(&name).join(entry);
        }
    }
    let (entries, _) = Imported::from_first(entries);
    Ok(Imported {
        entries,
        block: None,
        start_us: None,
    })
}

fn entry(cells: &Cells<'_>) -> Result<Entry, FormatError> {
    let time = |name: &str, cell: &str| {
        let time = cell
            .parse::<f64>()
            .ok()
            .and_then(|time| TimeUnit::Seconds.nanoseconds(time));
        time.ok_or_else(|| cells.wrong(name, cell, "a time in seconds"))
    };
    let elapsed = cells
        .text("Elapsed time")
        .map(|cell| time("Elapsed time", cell))
        .transpose()?;
    let mut extra = cells.others(&COLUMNS);
    extra.extend(
        cells
            .text("Log Type")
            .map(|kind| ("Log Type".to_owned(), kind.into())),
    );
    Ok(Entry {
        at_ns: time("Timestamp", cells.required("Timestamp")?)?,
        e2e_ns: elapsed,
        model: cells.text("Model").map(str::to_owned),
        input: Some(cells.count("Request tokens")?),
        output: Some(cells.count("Response tokens")?),
        extra,
        ..Entry::default()
    })
}
