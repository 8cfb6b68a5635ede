//! Everything that goes wrong, for a long time: what the proxy's process holds stays level, and nothing is lost.
//!
//! A `loadproof proxy` of its own process stands in front of a simulated engine here. A fixed number of clients play one
//! scene after the other (`scene`): healthy requests and every fault of client and engine that the simulator knows, over
//! HTTP/1 and HTTP/2. Once a second it is looked at what the process holds. At the end
//!
//! * memory, descriptors and tasks must not have grown since the warm-up (the first quarter), by a straight line whose
//!   slope's upper limit must lie below a bound;
//! * the engine's own log of requests and the proxy's records must have the same counts, by route and by how they ended;
//! * every client must have got what was due to it;
//! * nothing is in flight, and descriptors and tasks are those of the beginning.
//!
//! Limits: no TLS, one engine. The clients share the machine with the proxy. The longest that a client may take nothing
//! and what an exchange may queue are set lower than usual, so that stalled clients come to their end often.

mod answer;
mod http1;
mod http2;
mod ledger;
mod looked;
mod report;
mod scene;
mod session;
mod trend;

pub use ledger::Group;
pub use looked::Looked;
pub use report::{Check, Report, Row, SceneCount};
pub use session::{Progress, Watch};
pub use trend::Trend;

use crate::{Error, part};
use std::path::PathBuf;
use std::time::Duration;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How long clients play.
    pub duration: Duration,
    /// The program whose `proxy` is looked at.
    pub binary: PathBuf,
}

impl Options {
    /// Shortest run: long enough for a line to be drawn after the warm-up.
    pub const DURATION_LEAST: Duration = Duration::from_secs(20);
    /// Longest run: a day.
    pub const DURATION_MOST: Duration = Duration::from_secs(24 * 3600);

    fn check(&self) -> Result<(), Error> {
        let allowed = Self::DURATION_LEAST..=Self::DURATION_MOST;
        if allowed.contains(&self.duration) {
            return Ok(());
        }
        Err(Error::Option {
            option: "--seconds",
            value: format!("{:?}", self.duration),
            fix: "give 20 to 86400",
        })
    }
}

/// Runs it.
///
/// # Errors
/// If something could not be started, or the proxy's process could not be reached.
pub fn run(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    options.check()?;
    part::runtime("soak")?.block_on(session::run(options, watch))
}
