//! `loadproof capture`: what is done with captures on disk.

use std::path::PathBuf;

use anyhow::Context;
use clap::Subcommand;

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output;

const VERIFY_EXAMPLES: &str = "\
Examples:
  loadproof capture verify /var/lib/loadproof/capture
  loadproof capture verify --output-format json capture/

Every file is read to its last row: hashes from segment to segment, numbers without holes, rows counted. What was deleted by
age or for space, and what was erased, is told and is no fault.

Exit codes:
  0  whole
  1  something is missing or was changed; it is named
  3  the folder can't be read, or there is no capture in it";

/// Arguments of `loadproof capture`.
#[derive(Debug, clap::Args)]
pub(crate) struct CaptureArgs {
    #[command(subcommand)]
    command: CaptureCommand,
}

/// What can be done with a capture.
#[derive(Debug, Subcommand)]
enum CaptureCommand {
    /// Say whether a capture is whole, and what is missing
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArgs),
}

/// Arguments of `loadproof capture verify`.
#[derive(Debug, clap::Args)]
struct VerifyArgs {
    /// A folder of captures, of one pod or of many, or one segment
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `loadproof capture`.
pub(crate) fn run(args: &CaptureArgs) -> anyhow::Result<Exit> {
    match &args.command {
        CaptureCommand::Verify(args) => verify(args),
    }
}

fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let verified = capture::verify(&args.path)?;
    let json = serde_json::to_value(&verified)?;
    output::result(args.output.output_format, || verified.to_string(), || json)
        .context("cannot write to standard output")?;
    Ok(Exit::verdict(Some(verified.whole)))
}
