//! Accuracy: is the candidate right as often as the incumbent?
//!
//! A labelled slice is scored ([`Scorer`]); the same items on both arms are compared in pairs ([`PairedAccuracy`]), or by
//! clusters where several items come from one document or conversation ([`ClusteredAccuracy`]). Without labels only
//! agreement can be told ([`agreement`]), which never gates.

pub mod agreement;
mod clustered;
mod json;
mod paired;
mod scorer;
mod text;

pub use clustered::ClusteredAccuracy;
pub use json::{JsonFields, JsonSchema};
pub use paired::{ChiSquared, PairedAccuracy};
pub use scorer::{Choice, Pattern, Score, Scorer, Take, Tolerance};
pub use text::{NormalForm, TextOptions};
