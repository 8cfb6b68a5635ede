//! Known load against a known engine: what we report beside what is true.
//!
//! * [`demo`]: a realistic mix of requests through the proxy to a simulated engine, and each figure that the proxy reports
//!   beside the figure that the engine wrote down itself.
//! * [`calibrate`]: what a proxy adds to a stream, and how far the times that ours reports are off, against a scripted
//!   backend.
//!
//! Everything runs on the loopback. Times are nanoseconds of one clock within a run, seconds in reports.

pub mod calibrate;
mod clock;
pub mod demo;
mod engine_thread;
mod error;
mod listen;
mod part;
mod process;
mod proxy_thread;
mod quantile;

pub use error::Error;
pub use process::Holding;
