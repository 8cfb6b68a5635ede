//! The metric catalogue and its Prometheus exposition.

mod format;

pub use format::{Format, negotiate};
