//! The definitions: one exchange in, exactly one record out.
//!
//! Pure: no JSON, no labels, no IO, no clock. Time is an argument.

mod gaps;
mod nanos;
mod outcome;
mod record;

pub use gaps::GapHistogram;
pub use nanos::Nanos;
pub use outcome::{Blame, Outcome};
pub use record::{Defined, Flags, Identity, InFlightMeans, Record, Role, Stamps};
