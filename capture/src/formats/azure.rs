//! Azure's public traces: CSV of arrival, prompt and output length (Azure/AzurePublicDataset). Arrivals are dates to 100 ns.

use std::io::BufRead;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::spreadsheet::{Cells, Sheet};
use super::{Entry, Export, Files, Format, FormatError, Import, Imported, Reading, Trace};

const HEAD: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";
const COLUMNS: [&str; 4] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens", "NumImages"];

pub(super) static AZURE: Format = Format {
    name: "azure",
    says: "CSV of arrival and lengths, as Azure's public traces; read by inference-perf",
    export: Some(Export {
        text: false,
        blocks: None,
        time: "date and time of day, UTC, to 100 ns",
        carries: &[
            "arrivals",
            "prompt and output lengths",
            "images in a prompt, where there are any",
        ],
        loses: &[
            "shared prefixes",
            "sessions and think times",
            "models",
            "outcomes",
            "sampling settings",
        ],
        commands: include_str!("commands/azure.md"),
        write,
    }),
    import: Some(Import::Lines(read)),
};

fn write(trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
    let images = trace
        .entries
        .iter()
        .any(|entry| entry.images.is_some_and(|images| images > 0));
    let head = if images {
        format!("{HEAD},NumImages")
    } else {
        HEAD.to_owned()
    };
    files.line("azure.csv", &head)?;
    for entry in &trace.entries {
        let at = date(trace.start_us, entry.at_ns)?;
        let (input, output) = (entry.input.unwrap_or(0), entry.output.unwrap_or(0));
        let mut line = format!("{at},{input},{output}");
        if images {
            line.push_str(&format!(",{}", entry.images.unwrap_or(0)));
        }
        files.line("azure.csv", &line)?;
    }
    Ok(())
}

fn date(start_us: i64, at_ns: u64) -> Result<String, FormatError> {
    let ns = i128::from(start_us) * 1000 + i128::from(at_ns);
    let at =
        Timestamp::from_nanosecond(ns).map_err(|error| FormatError::File(error.to_string()))?;
    let hundreds = at.subsec_nanosecond().rem_euclid(1_000_000_000) / 100;
    Ok(format!(
        "{}.{hundreds:07}",
        at.strftime("%Y-%m-%d %H:%M:%S")
    ))
}

fn read(mut input: &mut dyn BufRead, _: &Reading) -> Result<Imported, FormatError> {
    let mut sheet = Sheet::new(&mut input)?;
    sheet.needs(COLUMNS.get(..3).unwrap_or_default())?;
    let mut dated = Vec::new();
    while let Some(cells) = sheet.next()? {
        dated.push(entry(&cells)?);
    }
    Ok(Imported::dated(dated))
}

/// An exchange and its arrival, ns after 1970-01-01 UTC.
fn entry(cells: &Cells<'_>) -> Result<(i128, Entry), FormatError> {
    let cell = cells.required("TIMESTAMP")?;
    let wrong = || {
        cells.wrong(
            "TIMESTAMP",
            cell,
            "a date such as 2026-11-30 10:00:00.1250000",
        )
    };
    let at = match cell.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let civil = cell.parse::<DateTime>().map_err(|_| wrong())?;
            TimeZone::UTC.to_timestamp(civil).map_err(|_| wrong())?
        }
    };
    let images = cells.text("NumImages").map(|cell| {
        cell.parse()
            .map_err(|_| cells.wrong("NumImages", cell, "a whole number"))
    });
    let entry = Entry {
        input: Some(cells.count("ContextTokens")?),
        output: Some(cells.count("GeneratedTokens")?),
        images: images.transpose()?,
        extra: cells.others(&COLUMNS),
        ..Entry::default()
    };
    Ok((at.as_nanosecond(), entry))
}
