//! Why a file can't be written or read in another tool's format.

use crate::Level;

/// What is wrong with a capture, a file, or what was asked of them.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// A format that nobody here speaks.
    #[error("there is no format {given:?}: the formats are {known}")]
    Unknown {
        /// What was asked for.
        given: String,
        /// The names that there are.
        known: String,
    },
    /// It has one direction only.
    #[error("{format} is not {direction}: {direction} are {able}")]
    Direction {
        /// The format.
        format: &'static str,
        /// `written` or `read`.
        direction: &'static str,
        /// Formats that are.
        able: String,
    },
    /// A format of prompts, of a capture without.
    #[error(
        "{format} holds prompts, and the capture is at level {level:?}, which keeps none: formats without text are {able}"
    )]
    NeedsText {
        /// The format.
        format: &'static str,
        /// What was kept.
        level: Level,
        /// Formats that can be written.
        able: String,
    },
    /// Rows that can't be told as one: their blocks are not comparable.
    #[error(
        "the rows differ in {what} ({one} and {other}): export them apart, or merge them first"
    )]
    Mixed {
        /// In what.
        what: &'static str,
        /// Of some rows.
        one: String,
        /// Of other rows.
        other: String,
    },
    /// Blocks that are not a whole part of the wanted ones.
    #[error(
        "blocks of {have} tokens can't be told as blocks of {want}: capture with a size that divides {want}, such as 16"
    )]
    Blocks {
        /// Tokens of a captured block.
        have: u32,
        /// Tokens of a block in the file.
        want: u32,
    },
    /// No row is left.
    #[error("nothing to write: of {rows} rows, {why}")]
    Nothing {
        /// Rows that there were.
        rows: u64,
        /// Why none is left.
        why: String,
    },
    /// A line that is not what the format says. Lines count from 1.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number.
        line: u64,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The file as a whole.
    #[error("{0}")]
    File(String),
    /// It says too little of itself.
    #[error("{what} is not said in the file: say it with {option}")]
    Unsaid {
        /// What.
        what: &'static str,
        /// The option, with its choices.
        option: &'static str,
    },
    /// Reading or writing failed.
    #[error("the file cannot be read or written")]
    Io(#[from] std::io::Error),
    /// Not Parquet, or not whole.
    #[error("the Parquet file cannot be read")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A value that JSON has no form for.
    #[error("a value cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// Not YAML.
    #[error("a report cannot be written as YAML: {0}")]
    Yaml(String),
}

impl FormatError {
    pub(super) fn line(line: u64, problem: impl Into<String>) -> Self {
        Self::Line {
            line,
            problem: problem.into(),
        }
    }
}
