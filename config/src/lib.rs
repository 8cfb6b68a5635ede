//! Text, environment and flags to a checked configuration.
//!
//! Two steps: a [`Draft`](crate) is what was written, doing nothing; [`Checked`] is what the program relies on. Between
//! them all faults are found at once, each with its key path, its value and the fix.

mod checked;

pub use checked::{Checked, Drain, Level, Limits, Log, LogFormat, Models, Shape, Slo, Upstream};
