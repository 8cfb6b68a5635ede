//! Real programs around the program under test, and a client that shares no code with it.
//!
//! A test starts what it needs on free ports of the loopback and drops it at its end: [`Engine`] is llama.cpp's own server
//! with a small model, [`Prometheus`] is Debian's, [`Proxy`] is the binary `loadproof`, [`Tee`] is a wire between two of
//! them that keeps what passed. [`client`] speaks HTTP over a plain socket and stamps each read; it uses none of our
//! crates, so that an error of theirs can't hide in both. `make e2e` brings the programs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]
#![allow(
    dead_code,
    unused_imports,
    reason = "each test file is a crate of its own and uses its part"
)]

pub(crate) mod client;
mod engine;
pub(crate) mod message;
mod openai;
mod patience;
mod program;
mod prometheus;
mod proxy;
mod tee;

pub(crate) use client::{Answer, Open};
pub(crate) use engine::Engine;
pub(crate) use message::Message;
pub(crate) use openai::Stream;
pub(crate) use patience::eventually;
pub(crate) use program::{Program, terminate, tool};
pub(crate) use prometheus::{Native, Prometheus, Sample, promtool};
pub(crate) use proxy::{BINARY, Proxy};
pub(crate) use tee::{Passed, Tee};
