//! The real prompt distribution, in files: records to segments and back, privacy levels, other tools' formats.
//!
//! A [`Row`] is what is kept of an exchange, [`About`] what holds for all rows of a segment. `wire` is used for its words
//! and for reading a kept body, never on the path of traffic.
//!
//! [`Scribe`] makes rows of records and kept bodies. [`Store`] writes: one thread owns it, hands it rows and the time, and nothing waits for it. [`Reader`] gives the rows of
//! a folder back, of one pod or of many.

mod about;
mod chain;
mod columns;
mod erasure;
mod error;
mod folder;
pub mod formats;
pub mod inspect;
mod limits;
mod log;
mod notice;
mod other_columns;
mod quantities;
mod reader;
mod record;
mod recovery;
pub mod remote;
mod retention;
mod row;
mod scribe;
mod seal;
mod sealing;
mod segment;
mod stop;
mod store;
#[cfg(test)]
mod testing;
pub mod text;
mod texts;
mod timeline;
mod verify;

pub use about::{About, Level, Unit};
pub use erasure::{Erased, Tenant, erase};
pub use error::{Blame, Error};
pub use limits::{Limits, Moment};
pub use notice::Notice;
pub use reader::{Located, Reader};
pub use record::Unknown;
pub use row::{Count, Gap, Row};
pub use scribe::{Kept, KeyError, Scribe, ScribeSettings, SetupError, new_name};
pub use seal::{Replaced, Seal, SealedBy};
pub use segment::{Rows, Segment, VERSION};
pub use stop::{Status, Stop};
pub use store::{RETRY, Store};
pub use timeline::Timeline;
pub use verify::{Ending, Verified, VerifiedCapture, verify};
