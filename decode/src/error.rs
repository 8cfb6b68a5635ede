//! What can be wrong with a recording, or with what was said about it.

use wire::Endpoint;

/// Why a recording was not decoded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing in it.
    #[error("the recording is empty; record an answer with `curl -iN`")]
    Empty,
    /// A path that is no generating route.
    #[error("{0:?} is no route that generates; give one of {routes}", routes = routes())]
    UnknownEndpoint(String),
    /// The bytes fit no route, or several.
    #[error("{why}; say with --endpoint which route answered: {routes}", routes = routes())]
    NoEndpoint {
        /// What was tried.
        why: String,
    },
    /// A line of a head that is none.
    #[error(
        "line {line}: {text:?} is no {expected}; a head is a status line, fields and a blank line"
    )]
    Head {
        /// Counting from 1.
        line: usize,
        /// The line, cut.
        text: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A chunked body that is none.
    #[error(
        "byte {offset}: {text:?} is no {expected} of the chunked coding; if the recorder took the coding off, remove the \
         field transfer-encoding from the head"
    )]
    Chunk {
        /// In the file, counting from 0.
        offset: usize,
        /// What stands there, cut.
        text: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A HAR file that is none.
    #[error("line {line}, column {column}: not a HAR file: {source}; export it anew, with contents", line = source.line(), column = source.column())]
    Har {
        /// What the parser says.
        source: serde_json::Error,
    },
    /// No entry of a HAR file can be decoded.
    #[error(
        "none of the {entries} entries is a POST to a known route; choose one with --entry and name its route with --endpoint"
    )]
    NoEntry {
        /// How many there are.
        entries: usize,
    },
    /// A number above the last entry.
    #[error("there is no entry {entry}: the file has {entries}, counting from 0")]
    EntryOutOfRange {
        /// As asked for.
        entry: usize,
        /// How many there are.
        entries: usize,
    },
    /// Base64 that is none.
    #[error("{place}: the base64 is damaged: {source}")]
    Base64 {
        /// Which entry or line.
        place: String,
        /// What the decoder says.
        source: base64::DecodeError,
    },
    /// A line of a timed recording that is none.
    #[error(
        "line {line}: {source}; a timed recording has one JSON object a line, with at_ms and one of head, data, base64 or end"
    )]
    Timed {
        /// Counting from 1.
        line: usize,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A line of a timed recording that lies before the one above it.
    #[error("line {line}: at_ms {at} lies before the line above; times never go back")]
    TimeWentBack {
        /// Counting from 1.
        line: usize,
        /// As stated, in milliseconds.
        at: f64,
    },
}

impl Error {
    /// Another call can help: the recording is well, what was said about it is not enough.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownEndpoint(_)
                | Self::NoEndpoint { .. }
                | Self::NoEntry { .. }
                | Self::EntryOutOfRange { .. }
        )
    }
}

fn routes() -> String {
    let names: Vec<&str> = Endpoint::ALL
        .iter()
        .chain(&Endpoint::GRPC)
        .map(|endpoint| endpoint.as_str())
        .collect();
    names.join(", ")
}
