//! Other tools' formats: rows out, rows in. One file a format; each says what it can carry, and converts times once.
//!
//! Out: [`Outgoing`] takes rows and makes a [`Trace`] of them, a [`Format`] writes its lines. In: a format reads a file into
//! [`Imported`], which becomes rows. Between both stands [`Entry`], in our units.
//!
//! Invariants: no hash, no key and no text leaves but what a format of prompts is made of; ids leave renumbered by first
//! sight; a file's unit is never guessed; what a file says that a row can't is kept in `extra`; the first bad line is named.

mod aiperf;
mod azure;
mod bailian;
mod baseten;
mod blocks;
mod burstgpt;
mod entry;
mod error;
mod folder;
mod guidellm;
mod incoming;
mod lines;
mod llm_d;
mod mooncake;
mod otel;
mod outgoing;
mod sagemaker;
mod servegen;
mod sessions;
mod spreadsheet;
mod units;
mod vllm;
mod weka;

pub use blocks::{BlockSize, Tail};
pub use entry::{Entry, Text};
pub use error::FormatError;
pub use folder::{Exported, Folder};
pub use incoming::{Imported, ImportedRows, import_name};
pub use outgoing::{Outgoing, Prefixes, Rounding, Trace};
pub use units::TimeUnit;

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;

use crate::Level;

/// A format of another tool.
#[derive(Debug)]
pub struct Format {
    /// Its name, as `--format` takes it.
    pub name: &'static str,
    /// What it is, in a line.
    pub says: &'static str,
    /// How it is written, if it is.
    pub export: Option<Export>,
    /// How it is read, if it is.
    pub import: Option<Import>,
}

/// How a format is written.
#[derive(Debug)]
pub struct Export {
    /// It is made of prompts.
    pub text: bool,
    /// Its blocks, if it has ids.
    pub blocks: Option<BlockSize>,
    /// Unit of its times.
    pub time: &'static str,
    /// What of a row it can say.
    pub carries: &'static [&'static str],
    /// What it can't.
    pub loses: &'static [&'static str],
    /// How the readers are called: Markdown, with `{model}` and `{count}`.
    pub commands: &'static str,
    pub(crate) write: fn(&Trace, &mut dyn Files) -> Result<(), FormatError>,
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub enum Import {
    /// From its lines.
    Lines(fn(&mut dyn BufRead, &Reading) -> Result<Imported, FormatError>),
    /// From a file, or from files beside it.
    File(fn(&Path, &Reading) -> Result<Imported, FormatError>),
}

/// What a file does not say of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Unit of its times.
    pub time: Option<TimeUnit>,
    /// Tokens a block.
    pub block: Option<u32>,
    /// What is drawn is drawn from this.
    pub seed: u64,
}

/// Where the lines of a format go, file by file.
pub trait Files {
    /// Appends a line to a file of this name.
    ///
    /// # Errors
    /// If it can't be written.
    fn line(&mut self, file: &str, line: &str) -> io::Result<()>;
}

/// In memory.
impl Files for BTreeMap<String, String> {
    fn line(&mut self, file: &str, line: &str) -> io::Result<()> {
        let text = self.entry(file.to_owned()).or_default();
        text.push_str(line);
        text.push('\n');
        Ok(())
    }
}

/// All formats.
pub static FORMATS: [&Format; 19] = [
    &mooncake::MOONCAKE,
    &aiperf::MOONCAKE_TRACE,
    &aiperf::PAYLOAD,
    &aiperf::MULTI_TURN,
    &aiperf::RAW_PAYLOAD,
    &guidellm::COLUMNS,
    &guidellm::SYNTHETIC,
    &vllm::CUSTOM,
    &vllm::TIMED_TRACE,
    &azure::AZURE,
    &burstgpt::BURSTGPT,
    &otel::OTEL,
    &otel::OTEL_FILES,
    &weka::WEKA,
    &llm_d::LLM_D,
    &bailian::BAILIAN,
    &servegen::SERVEGEN,
    &baseten::BASETEN,
    &sagemaker::SAGEMAKER,
];

impl Format {
    /// The format of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<&'static Self, FormatError> {
        let found = FORMATS.iter().find(|format| format.name == name);
        found.copied().ok_or_else(|| FormatError::Unknown {
            given: name.to_owned(),
            known: names(|_| true),
        })
    }

    /// How it is written.
    ///
    /// # Errors
    /// If it is not, or if it is made of prompts and the capture has none.
    pub fn export(&self, level: Level) -> Result<&Export, FormatError> {
        let Some(export) = &self.export else {
            return Err(FormatError::Direction {
                format: self.name,
                direction: "written",
                able: names(|format| format.export.is_some()),
            });
        };
        if export.text && level < Level::Text {
            let able = names(|format| format.export.as_ref().is_some_and(|export| !export.text));
            return Err(FormatError::NeedsText {
                format: self.name,
                level,
                able,
            });
        }
        Ok(export)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the format is not read, if the file can't be, or says something else.
    pub fn read(&self, path: &Path, reading: &Reading) -> Result<Imported, FormatError> {
        match self.import {
            Some(Import::Lines(read)) => {
                read(&mut io::BufReader::new(std::fs::File::open(path)?), reading)
            }
            Some(Import::File(read)) => read(path, reading),
            None => Err(FormatError::Direction {
                format: self.name,
                direction: "read",
                able: names(|format| format.import.is_some()),
            }),
        }
    }
}

impl Export {
    /// Takes rows for this format.
    pub fn begin(&self, rounding: Rounding) -> Outgoing {
        Outgoing::new(outgoing::Wish {
            blocks: self.blocks,
            rounding,
        })
    }

    /// Writes what was taken.
    ///
    /// # Errors
    /// If a line can't be written.
    pub fn write(&self, trace: &Trace, files: &mut dyn Files) -> Result<(), FormatError> {
        (self.write)(trace, files)
    }
}

fn names(wanted: impl Fn(&Format) -> bool) -> String {
    let names = FORMATS
        .iter()
        .filter(|format| wanted(format))
        .map(|format| format.name);
    names.collect::<Vec<&str>>().join(", ")
}
