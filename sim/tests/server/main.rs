//! The server as a client hears it, held against the truth that it writes down.

#![expect(
    clippy::expect_used,
    reason = "a test that can't go on fails; clippy knows functions with #[test] alone"
)]

mod client;
mod dialects;
mod engines;
mod faults;
mod plain;
mod reading;
mod script;
mod stage;
mod stop;
mod streams;
mod tcp;
