//! The `loadproof` binary: glue only.
//!
//! Arguments become calls into the rooms; results and failures leave through `output`, and nothing else writes to the
//! terminal. What the process returns is in [`exit::Exit`].

mod args;
mod commands;
mod exit;
mod output;

use clap::Parser;
use std::process::ExitCode;

/// What a crowd of clients held goes back to the system when they have gone: glibc keeps it, for the life of the process.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match args::Args::try_parse() {
        Ok(args) => commands::run(args.command)
            .unwrap_or_else(|error| output::failure(&error))
            .into(),
        Err(message) => output::usage(&message).into(),
    }
}
