//! Runs every vector file of a folder and prints one line a file: `cargo run --example vectors -- FOLDER`.
//!
//! Without an argument it runs the ones of this repository. Exit code 1 if any file failed, or if there is none.

extern crate judge as judge;

#[path = "../tests/vectors/mod.rs"]
mod vectors;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(vectors::own_folder, PathBuf::from);
    let reports = vectors::run_folder(&folder)?;
    let mut out = std::io::stdout().lock();
    for report in &reports {
        writeln!(out, "{report}")?;
    }
    let passed = reports.iter().filter(|report| report.passed()).count();
    writeln!(out, "{passed} of {} files passed", reports.len())?;
    let all = !reports.is_empty() && passed == reports.len();
    Ok(if all {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
