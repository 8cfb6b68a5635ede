//! Which kind of deployment a capture looks like, and so which metric governs it. A choice by rules, which it says.

use serde::Serialize;

use super::{Lengths, Seen};

/// A kind of deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deployment {
    /// `classification`, `batch`, `rag`, `chat`; `unknown` without lengths.
    pub looks_like: &'static str,
    /// What to judge it by.
    pub governed_by: &'static str,
    /// What it was told by.
    pub because: String,
}

impl Deployment {
    pub(super) fn of(lengths: &Lengths, seen: &[Seen]) -> Self {
        let medians = (
            lengths.input.as_ref().map(|input| input.p50),
            lengths.output.as_ref().map(|output| output.p50),
        );
        let whole = seen
            .iter()
            .filter(|seen| seen.streamed == Some(false))
            .count() as f64;
        let whole = whole / seen.len().max(1) as f64;
        let (Some(input), Some(output)) = medians else {
            return Self {
                looks_like: "unknown",
                governed_by: "unknown",
                because: "lengths in tokens are not known".to_owned(),
            };
        };
        let (looks_like, governed_by, because) = if output <= 8.0 {
            (
                "classification",
                "TTFT and throughput",
                format!("the median output is {output} tokens, 8 at most"),
            )
        } else if whole >= 0.95 {
            (
                "batch",
                "tokens a second",
                format!(
                    "{:.0} % are not streamed; if somebody waits for them, it is not",
                    whole * 100.0
                ),
            )
        } else if input >= 2000.0 && input >= 8.0 * output {
            (
                "rag",
                "TTFT",
                format!(
                    "the median prompt is {input} tokens, {:.0} times the median output",
                    input / output
                ),
            )
        } else {
            (
                "chat",
                "TTFT, then TPOT",
                format!(
                    "streamed, with a median prompt of {input} and a median output of {output} tokens"
                ),
            )
        };
        Self {
            looks_like,
            governed_by,
            because,
        }
    }
}
