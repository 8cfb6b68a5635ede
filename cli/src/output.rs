//! The one place that writes to the terminal.
//!
//! Results go to standard output, in the form asked for; everything else goes to standard error. A reader that has gone
//! away, as `head` does, ends the writing quietly.

mod meter;

pub(crate) use meter::Meter;

use std::io::{self, Write};

use config::{Effective, Faults};
use serde_json::Value;

use crate::args::OutputFormat;
use crate::exit::Exit;

/// Writes a result to standard output in the form that `format` says.
pub(crate) fn result(
    format: OutputFormat,
    text: impl FnOnce() -> String,
    json: impl FnOnce() -> Value,
) -> io::Result<()> {
    match format {
        OutputFormat::Text => document(&text()),
        OutputFormat::Json => document(&format!("{:#}\n", json())),
    }
}

/// Writes a document that has one form only to standard output.
pub(crate) fn document(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    quiet(
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.flush()),
    )
}

/// Writes what is odd about a configuration that is otherwise well to standard error.
pub(crate) fn warnings(effective: &Effective) {
    for warning in &effective.warnings {
        aside(&format!("warning: {warning}\n"));
    }
}

/// Writes what is wrong with a configuration to standard error.
pub(crate) fn faults(faults: &Faults) -> Exit {
    let count = faults.iter().count();
    let plural = if count == 1 { "" } else { "s" };
    aside(&format!(
        "{faults}\nloadproof: {count} fault{plural} in the configuration\n"
    ));
    Exit::Usage
}

/// Writes why a command failed to standard error.
pub(crate) fn failure(error: &anyhow::Error) -> Exit {
    if let Some(wrong) = error.downcast_ref::<Faults>() {
        return faults(wrong);
    }
    aside(&format!("loadproof: {error:#}\n"));
    Exit::Unknown
}

/// Writes why an option was refused to standard error.
pub(crate) fn refused(error: &dyn std::error::Error) -> Exit {
    aside(&format!("loadproof: {error}\n"));
    Exit::Usage
}

/// Writes help, the version or what is wrong with the command line to where it belongs.
pub(crate) fn usage(message: &clap::Error) -> Exit {
    let written = quiet(message.print());
    match (message.use_stderr(), written) {
        (false, Ok(())) => Exit::Pass,
        (false, Err(_)) => Exit::Unknown,
        (true, _) => Exit::Usage,
    }
}

/// Standard error is the last resort: if it cannot be written to, nobody is left to be told.
fn aside(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn quiet(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
