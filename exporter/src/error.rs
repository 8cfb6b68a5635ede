//! What can go wrong in this room: settings that can't be exported, and an exposition that can't be written.

use prometheus_client::encoding::prometheus_protobuf;

use crate::models::{MODEL_NAME_BYTES, MODELS_MAX};

/// Most targets of one metric: each adds an edge to every cell of its histogram.
pub const TARGETS_MAX: usize = 16;

/// Errors of this room.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration names more models than may become label values.
    #[error(
        "{count} model names are configured and at most {MODELS_MAX} can be label values: name fewer, the rest is counted as `other`"
    )]
    TooManyModels {
        /// How many it names.
        count: usize,
    },
    /// A configured model name can't be a label value.
    #[error(
        "model name {position} has {bytes} bytes and can't be a label value: use 1 to {MODEL_NAME_BYTES} bytes"
    )]
    ModelName {
        /// Which one, counting from 1.
        position: usize,
        /// Its length.
        bytes: usize,
    },
    /// A target that isn't a span of time.
    #[error(
        "target {value} s for {metric} is not above 0 and finite: state a duration such as 500ms"
    )]
    Target {
        /// `ttft`, `tpot` or `e2e`.
        metric: &'static str,
        /// What was stated.
        value: f64,
    },
    /// More targets than edges may be added.
    #[error(
        "{count} targets are configured for {metric} and at most {TARGETS_MAX} can be bucket edges: state fewer"
    )]
    TooManyTargets {
        /// `ttft`, `tpot` or `e2e`.
        metric: &'static str,
        /// How many.
        count: usize,
    },
    /// No cell would be left for any shape.
    #[error("the most cells per family is 0: state at least 1")]
    NoCells,
    /// The text form could not be written.
    #[error("could not write the text exposition")]
    Text(#[from] std::fmt::Error),
    /// The protobuf form could not be written.
    #[error("could not write the protobuf exposition")]
    Protobuf(#[from] prometheus_protobuf::EncodeError),
}
