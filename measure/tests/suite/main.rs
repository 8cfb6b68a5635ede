//! Tests of the room through its public surface. One binary, so that it links once.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

// The room's alias, as everywhere else.
extern crate measure as measure;

mod beside;
mod censoring;
mod counts;
mod gaps;
mod in_flight;
mod outcomes;
mod population;
mod quantities;
mod script;
mod shape;
mod sizes;
mod stamps;
mod streams;
mod vector;
