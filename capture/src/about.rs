//! What holds for all rows of a segment: its header.

use serde::{Deserialize, Serialize};

/// How much of an exchange is kept. Each level keeps what those before it keep.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Nothing.
    Off,
    /// Lengths, times, settings, outcomes.
    Lengths,
    /// Chained hashes of the prompt's blocks, and who goes on with whose conversation.
    #[default]
    Prefix,
    /// Prompts and answers, encrypted to the operator's recipients, beside the rows.
    Text,
}

/// What a prompt's blocks are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tokens of the tokenizer that [`About::tokenizer`] names.
    Tokens,
    /// Bytes of the prompt's canonical form.
    Bytes,
}

/// What holds for all rows of a segment. Stored in the Parquet file's metadata, and at the head of the open log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Version of the format.
    pub version: u32,
    /// The capture that it belongs to: a random name, made when capturing began.
    pub capture: String,
    /// The pod, or the host.
    pub pod: String,
    /// Number of the segment in this capture and pod, from 0, without holes.
    pub segment: u64,
    /// SHA-256 of the segment before, in hex; empty for the first.
    pub previous: String,
    /// What is kept.
    pub level: Level,
    /// What blocks are counted in.
    pub unit: Unit,
    /// Units in a block.
    pub block: u32,
    /// SHA-256 of the tokenizer's file, in hex, where blocks are tokens.
    pub tokenizer: Option<String>,
    /// Name of the hashing key, which tells keys apart and gives nothing of it away.
    pub key: String,
    /// Share of the sessions that are kept, above 0 and up to 1.
    pub sample: f64,
    /// Version of loadproof.
    pub written_by: String,
}
