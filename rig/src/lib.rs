//! Known load against a known engine: what we report beside what is true.
//!
//! * [`demo`]: a realistic mix of requests through the proxy to a simulated engine, and each figure that the proxy reports
//!   beside the figure that the engine wrote down itself.
//! * [`calibrate`]: what a proxy adds to a stream, and how far the times that ours reports are off, against a scripted
//!   backend.
//! * [`paired`]: what must not slow a stream, by turns with it and without.
//! * [`soak`]: everything that goes wrong, for a long time: what the proxy's process holds stays level, and nothing is lost.
//!
//! Everything runs on the loopback. Times are nanoseconds of one clock within a run, seconds in reports.

pub mod calibrate;
mod child;
mod clock;
pub mod demo;
mod engine_thread;
mod error;
mod listen;
pub mod paired;
mod part;
mod process;
mod proxy_thread;
mod quantile;
pub mod soak;

pub use error::Error;
pub use process::Holding;
