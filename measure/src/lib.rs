//! The definitions: one exchange in, exactly one record out.
//!
//! Pure: no JSON, no labels of the metric system, no IO, no clock. Time is an argument, in [`Nanos`].
//!
//! An [`Exchange`] is told what happens to one request, as it happens, and ends as one [`Record`]. A record knows its
//! quantities (TTFT, TPOT, …) by methods, each with its formula; a quantity is a [`Defined`] value, since "it has none"
//! and "it was cut before it had one" are answers too. [`InFlight`] knows how many exchanges there are at once,
//! [`GapHistogram`] the gaps between bursts, [`Shape`] the cell of lengths and concurrency that a record falls into.
//!
//! Invariants: an exchange yields one record and leaves the in-flight count once, whatever happens, also when it is
//! dropped; nothing kept for an exchange grows with the number of its tokens.

mod beside;
mod bursts;
mod defined;
mod definitions;
mod ending;
mod engine_load;
mod exchange;
mod flags;
mod gaps;
mod in_flight;
mod nanos;
mod outcome;
mod record;
mod recorder;
mod shape;

pub use beside::Beside;
pub use defined::Defined;
pub use ending::End;
pub use engine_load::EngineLoad;
pub use exchange::{Exchange, Phase};
pub use flags::{Flag, Flags};
pub use gaps::{GapBucket, GapHistogram};
pub use in_flight::{InFlight, InFlightMeans, Mark};
pub use nanos::Nanos;
pub use outcome::{Blame, Outcome};
pub use record::{Identity, Record, Role, Stamps};
pub use recorder::{Progress, Recorder};
pub use shape::{Bucket, Edges, EdgesError, Shape, ShapeEdges};
