//! Tests of the room through its public surface. One binary, so that it links once.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

// The room's alias, as everywhere else.
extern crate decode as decode;

mod corpus;
mod errors;
mod forms;
mod hostile;
mod hostile_page;
mod timed;
