//! Where a value came from.
//!
//! Lines and columns count from 1, columns in characters.

use std::fmt;

use serde_json::{Value, json};

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Column in characters, from 1.
    pub column: u64,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody wrote it.
    Default,
    /// A file, and the place in it unless the whole file is meant.
    File {
        /// The file's name as it was given.
        name: String,
        /// The place in it.
        position: Option<Position>,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        name: String,
    },
    /// A flag.
    Flag {
        /// The flag as typed, such as `--listen`.
        name: String,
    },
}

impl Origin {
    /// The same as a JSON object with a `kind`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Default => json!({"kind": "default"}),
            Self::File {
                name,
                position: None,
            } => json!({"kind": "file", "name": name}),
            Self::File {
                name,
                position: Some(at),
            } => {
                json!({"kind": "file", "name": name, "line": at.line, "column": at.column})
            }
            Self::Environment { name } => json!({"kind": "environment", "name": name}),
            Self::Flag { name } => json!({"kind": "flag", "name": name}),
        }
    }

    /// Order in which faults are listed: the file from its top, then the environment, flags, and what nobody wrote.
    pub(crate) fn rank(&self) -> (u8, Option<Position>) {
        match self {
            Self::File { position, .. } => (0, *position),
            Self::Environment { .. } => (1, None),
            Self::Flag { .. } => (2, None),
            Self::Default => (3, None),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File {
                name,
                position: None,
            } => f.write_str(name),
            Self::File {
                name,
                position: Some(at),
            } => write!(f, "{name}:{}:{}", at.line, at.column),
            Self::Environment { name } => write!(f, "environment {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}
