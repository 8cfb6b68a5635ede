//! `loadproof soak`: everything that goes wrong, for a long time, and whether the proxy's process stays level and loses nothing.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use rig::soak::{self, Options, Progress, Watch};

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output::{self, Meter};

const EXAMPLES: &str = "\
Examples:
  loadproof soak
  loadproof soak --seconds 60 --output-format json

Exit codes:
  0  memory, descriptors and tasks are level, and nothing was lost
  1  they are not, or something was
  2  an option is wrong
  3  could not run, or could not tell";

/// A line this often where nobody watches.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Arguments of `loadproof soak`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SoakArgs {
    /// How long clients play
    #[arg(long, value_name = "SECONDS", default_value_t = 1200, value_parser = clap::value_parser!(u64).range(20..=86_400))]
    seconds: u64,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `loadproof soak`.
pub(crate) fn run(args: &SoakArgs) -> anyhow::Result<Exit> {
    super::raise_open_files();
    let options = Options {
        duration: Duration::from_secs(args.seconds),
        binary: std::env::current_exe().context("cannot find this program's own file")?,
    };
    let mut display = Display(Meter::with_lines(options.duration, LINE_EVERY));
    let report = match soak::run(&options, &mut display) {
        Err(error @ rig::Error::Option { .. }) => return Ok(output::refused(&error)),
        ended => ended.context("the soak could not run")?,
    };
    drop(display);
    let json = serde_json::to_value(&report)?;
    output::result(args.output.output_format, || report.to_string(), || json)
        .context("cannot write to standard output")?;
    Ok(Exit::verdict(report.holds))
}

/// Shows how far it is.
struct Display(Meter);

impl Watch for Display {
    fn started(&mut self, proxy: SocketAddr) {
        self.0.say(&format!(
            "The proxy listens on http://{proxy}, a process of its own"
        ));
    }

    fn progress(&mut self, progress: &Progress) {
        self.0.show(progress.elapsed, || line(progress));
    }
}

fn line(progress: &Progress) -> String {
    let Progress {
        elapsed,
        done,
        wrong,
        looked,
    } = progress;
    let known =
        |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!(
        "{} s · {done} done · {} in flight · {} KB resident · {} descriptors · {} tasks · {wrong} wrong",
        elapsed.as_secs(),
        looked.in_flight,
        known(looked.holding.resident_bytes.map(|bytes| bytes / 1000)),
        known(looked.holding.open_files),
        looked.traffic_tasks + looked.service_tasks,
    )
}
