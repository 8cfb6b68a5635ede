//! The real prompt distribution, in files: records to segments and back, privacy levels, other tools' formats.
//!
//! A [`Row`] is what is kept of an exchange, [`About`] what holds for all rows of a segment. `wire` is used for its words
//! and for reading a kept body, never on the path of traffic.

mod about;
mod record;
pub mod remote;
mod row;
pub mod text;

pub use about::{About, Level, Unit};
pub use record::Unknown;
pub use row::{Count, Gap, Row};
