//! `loadproof demo`: known load against a known engine, and what is reported beside what is true.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use rig::demo::{self, Options, Progress, Started, Watch};

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output;
use crate::output::Meter;

const EXAMPLES: &str = "\
Examples:
  loadproof demo
  loadproof demo --seconds 60 --rate 20 --seed 7
  loadproof demo --output-format json | jq .agreement

While it runs, the metrics are at the address that it says, as they would be in front of a real engine.

Exit codes:
  0  what was reported is true: the p95 of TTFT and that of gaps differ by at most 1 ms
  1  it is not
  2  an option is wrong
  3  could not run, or too little was answered to tell";

/// Arguments of `loadproof demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// How long requests are sent; the run ends with the last answer
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Requests a second, on average
    #[arg(long, value_name = "RATE", default_value_t = 15.0)]
    rate: f64,
    /// What arrivals, lengths and the engine's noise are drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Where the metrics are served [default: 127.0.0.1:9464 if it is free, else any port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<SocketAddr>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `loadproof demo`.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let options = Options {
        duration: Duration::from_secs(args.seconds),
        rate: args.rate,
        seed: args.seed,
        admin_listen: args.admin_listen,
    };
    let mut display = Display(Meter::new(options.duration));
    let report = match demo::run(&options, &mut display) {
        Err(error @ rig::Error::Option { .. }) => return Ok(output::refused(&error)),
        ended => ended.context("the demo could not run")?,
    };
    drop(display);
    let json = serde_json::to_value(&report)?;
    output::result(args.output.output_format, || report.to_string(), || json)
        .context("cannot write to standard output")?;
    Ok(Exit::verdict(report.agreement.agrees))
}

/// Shows how far it is.
struct Display(Meter);

impl Watch for Display {
    fn started(&mut self, started: &Started) {
        let Started { proxy, admin } = started;
        self.0.say(&format!(
            "A simulated engine is served at http://{proxy}; metrics: http://{admin}/metrics (Ctrl-C ends it early)"
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
        in_flight,
        failed,
        ttft_p95,
        tokens_per_second,
    } = progress;
    let ttft = ttft_p95.map_or_else(
        || "–".to_owned(),
        |ttft| format!("{:.0} ms", ttft.as_secs_f64() * 1e3),
    );
    format!(
        "{:.0} s · {done} done · {in_flight} in flight · TTFT p95 {ttft} · {tokens_per_second:.0} tokens/s · {failed} failed",
        elapsed.as_secs_f64()
    )
}
