//! A realistic mix of requests through the proxy to a simulated engine.
//!
//! Engine, proxy and clients run in one process, each on a thread of its own, and talk by TCP on the loopback. They read one
//! clock, so that what the proxy reports about a request can be set beside what the engine wrote down about it. Truth and
//! record find each other by the request's number, which it carries as its seed.
//!
//! Memory is bounded: figures of at most [`KEPT`] requests are kept, some hundred bytes each; beyond that only counts and
//! histograms go on.

mod control;
mod load;
mod mix;
mod pairing;
mod parcel;
mod report;
mod session;
mod table;
mod truth;

pub use pairing::KEPT;
pub use report::{
    Agreement, Cell, Compared, Pooled, Process, Quantiles, Report, Requests, Settings, Total,
};
pub use session::{Progress, Started, Watch};

use crate::Error;
use crate::part;
use std::net::SocketAddr;
use std::time::Duration;

/// What to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How long requests are sent. The run ends with the last answer after that.
    pub duration: Duration,
    /// Requests a second, on average.
    pub rate: f64,
    /// What arrivals, lengths and the engine's noise are drawn from.
    pub seed: u64,
    /// Where the proxy's metrics are served: by default Prometheus' usual place for us if it is free, else anywhere.
    pub admin_listen: Option<SocketAddr>,
}

impl Options {
    /// Longest run: a day.
    pub const DURATION_MOST: Duration = Duration::from_secs(24 * 3600);
    /// Highest rate, in requests a second.
    pub const RATE_MOST: f64 = 1000.0;

    fn check(&self) -> Result<(), Error> {
        if self.duration.is_zero() || self.duration > Self::DURATION_MOST {
            let value = format!("{:?}", self.duration);
            return Err(Error::Option {
                option: "--seconds",
                value,
                fix: "give 1 to 86400",
            });
        }
        if !(self.rate > 0.0 && self.rate <= Self::RATE_MOST) {
            let value = self.rate.to_string();
            return Err(Error::Option {
                option: "--rate",
                value,
                fix: "give more than 0 and at most 1000",
            });
        }
        Ok(())
    }
}

/// Runs the load and compares. An interrupt (SIGINT) ends the sending early, a second one the run.
///
/// # Errors
/// If it could not run, or was interrupted twice.
pub fn run(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    options.check()?;
    part::runtime("clients")?.block_on(session::run(options, watch))
}
