//! The text level: what a prompt and its answer say, redacted, then encrypted to keys whose other halves are elsewhere.
//!
//! A segment's texts lie in a file beside it, `NAME.text.tar`: a tar of age files, one for each batch that was flushed, named
//! `BATCH-FIRST-LAST.jsonl.zst.age` by its number and the lowest and highest exchange in it. A batch is a [`Text`] as JSON
//! a line, compressed by zstd. So no tool of ours is needed to read it:
//!
//! ```text
//! tar -xOf NAME.text.tar 000000-1-57.jsonl.zst.age | age -d -i key.txt | zstd -d
//! ```
//!
//! Why a container, and not one age file a segment: age encrypts in chunks of 64 KiB and the last one is marked, so that a
//! file whose writer was killed lacks its end, and up to 64 KiB that were "flushed" would still be in memory. A batch that
//! was flushed is whole; of a torn one the next start says so and cuts it off ([`recover`]). A file key lives as long as
//! its batch is being written.
//!
//! Invariants: only X25519 recipients, no plugin, no passphrase, so that nothing runs and nothing is asked for. What is not
//! in [`Text`] is not kept: no header but two (their kind from closed lists), no query, no cookie, no credential. Nothing
//! is encrypted before a [`Redaction`] has seen it. What can't be redacted is left out and says why ([`LeftOut`]).
//!
//! Limits: a batch ends at 1 MiB of text. Answers of gRPC and compressed ones are left out. A reader takes no batch above
//! 256 MiB and no text above 64 MiB.

mod file;
mod heads;
mod heard;
mod json;
mod kept;
mod keys;
mod reader;
mod redaction;
mod said;

pub(crate) use file::sealed;
pub use file::{Batches, Recovered, SealedText, recover};
pub use heard::{Heard, HeardBody};
pub use kept::{Kept, Room};
pub use keys::{Identities, Recipients};
pub use reader::Reader;
pub use redaction::{Redaction, Rule};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Blame;

/// What one exchange said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// Number of the exchange, as in its row.
    pub exchange: u64,
    /// Family of the client's `user-agent`, from a closed list; `other` for the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The request.
    pub request: Part,
    /// The answer.
    pub answer: Part,
}

/// One side of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its `content-type` without parameters, from a closed list; `other` for the rest.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// More came than was kept. Only a streamed answer can be cut, at a whole event; what else is cut is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What it said.
    #[serde(flatten)]
    pub body: Body,
}

/// What a body said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The body as it was sent, but for what was redacted. JSON stays JSON, in the same order.
    Text(String),
    /// A streamed answer, joined: a secret that was streamed in pieces is redacted as a whole.
    Said(Vec<Said>),
    /// Nothing of it is kept.
    LeftOut(LeftOut),
}

/// What a choice of a streamed answer said in one kind, in order of first sight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Index of the choice, or of the block in dialects that number blocks.
    pub choice: u64,
    /// Its kind.
    pub kind: Kind,
    /// Index of the tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// The text.
    pub text: String,
}

/// What a text of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// For the reader.
    Answer,
    /// Reasoning, thinking.
    Reasoning,
    /// The model refuses.
    Refusal,
    /// Name of a tool that is called.
    Tool,
    /// Its arguments.
    Arguments,
    /// An error's message.
    Error,
}

/// Why nothing of a body is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// It is longer than the copy that was kept, and half a JSON can be neither redacted nor replayed.
    TooLarge,
    /// It is compressed.
    Compressed,
    /// It is no UTF-8, or a message of gRPC.
    NotText,
    /// There was none.
    Empty,
}

/// What can go wrong with texts.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// A recipient that can't be used.
    #[error(
        "recipient {0:?} is no X25519 public key of age: it must begin with age1, as age-keygen -y prints it"
    )]
    Recipient(String),
    /// A private key where a public one belongs.
    #[error(
        "a recipient is a private key (AGE-SECRET-KEY-…): it must not come near the sidecar; give what age-keygen -y prints"
    )]
    PrivateRecipient,
    /// Nobody could read it.
    #[error("no recipient: level text needs at least one public key of age (age1…)")]
    NoRecipient,
    /// A rule that can't be used.
    #[error("rule {name:?} of the redaction is no regular expression")]
    Rule {
        /// Its name.
        name: String,
        /// What is wrong.
        source: Box<regex::Error>,
    },
    /// A file of identities without one.
    #[error("{0} has no identity of age: a line that begins with AGE-SECRET-KEY-1 is needed")]
    NoIdentity(PathBuf),
    /// A file can't be read or written.
    #[error("{what} {path}")]
    File {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// Encryption failed.
    #[error("encrypting a batch of texts")]
    Encrypt(#[source] std::io::Error),
    /// The identities don't open it.
    #[error("{path}: none of the identities opens batch {batch}")]
    NotForUs {
        /// The file.
        path: PathBuf,
        /// The member of the tar.
        batch: String,
    },
    /// It is no file of texts, or not a whole one.
    #[error("{path}: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        what: String,
    },
}

impl TextError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::File { .. } => Blame::Disk,
            Self::Damaged { .. } => Blame::File,
            Self::Encrypt(_) => Blame::Us,
            _ => Blame::Settings,
        }
    }

    fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }
}
