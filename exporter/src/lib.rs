//! The metric catalogue and its Prometheus exposition.
//!
//! [`catalogue`] declares every family once. An [`Exporter`] takes finished records ([`Exporter::observe`]) and a few
//! events beside them, and writes the exposition in the form that [`negotiate`] found ([`Exporter::encode`]). It opens no
//! socket and reads no clock; whoever serves it hands it what is true at the moment, as [`Live`].
//!
//! Invariants: no label value is a client's text; every set of label values has a bound, and going beyond it is counted;
//! what has no value is absent, never 0; an observation waits for a scrape no longer than it takes to copy one histogram.
//!
//! This room knows neither the bytes of a protocol nor files.

pub mod catalogue;
pub mod query;
pub mod reference;

mod cells;
mod counters;
mod descriptor;
mod error;
mod exporter;
mod exposition;
mod format;
mod histogram;
mod live;
mod models;
mod native;
mod ports;
mod series;
mod settings;
mod unmeasured;

pub use error::{Error, TARGETS_MAX};
pub use exporter::Exporter;
pub use format::{Format, negotiate};
pub use live::Live;
pub use models::{MODEL_NAME_BYTES, MODELS_MAX};
pub use ports::Ports;
pub use settings::{Build, DEFAULT_MAX_CELLS, Settings, Targets, Vocabulary};
pub use unmeasured::Unmeasured;
