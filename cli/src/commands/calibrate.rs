//! `loadproof calibrate`: what a proxy adds to a stream, and how far our own reported times are off.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use rig::calibrate::{self, Options, Subject, Watch};

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  loadproof calibrate
  loadproof calibrate --streams 1,64,512 --output-format json
  loadproof calibrate --backend-listen 127.0.0.1:9001 --via http://127.0.0.1:8080

With --via another proxy is measured, from the outside: point it at --backend-listen first. Without, `loadproof proxy` is
started as a process of its own, so that its CPU and memory are its own.

Exit codes:
  0  measured
  2  an option is wrong
  3  could not run";

/// Arguments of `loadproof calibrate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CalibrateArgs {
    /// Streams open at once: a level each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 64, 512])]
    streams: Vec<u32>,
    /// Measure the proxy that runs there instead of ours
    #[arg(long, value_name = "URL", requires = "backend_listen")]
    via: Option<String>,
    /// Where the scripted backend listens [default: any port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    backend_listen: Option<SocketAddr>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `loadproof calibrate`.
pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    super::raise_open_files();
    let proxy = match &args.via {
        None => {
            Subject::Ours(std::env::current_exe().context("cannot find this program's own file")?)
        }
        Some(url) => Subject::Other(address(url)?),
    };
    let options = Options {
        streams: args.streams.clone(),
        proxy,
        backend_listen: args.backend_listen,
    };
    let report = match calibrate::run(&options, &mut Display) {
        Err(error @ rig::Error::Option { .. }) => return Ok(output::refused(&error)),
        ended => ended.context("the calibration could not run")?,
    };
    let json = serde_json::to_value(&report)?;
    output::result(args.output.output_format, || format!("{report}\n"), || json)
        .context("cannot write to standard output")?;
    Ok(Exit::Pass)
}

/// The address in `http://HOST:PORT`.
fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let rest = url
        .strip_prefix("http://")
        .map(|rest| rest.trim_end_matches('/'));
    let found = rest.and_then(|authority| {
        std::net::ToSocketAddrs::to_socket_addrs(authority)
            .ok()?
            .next()
    });
    match found {
        Some(address) => Ok(address),
        None => bail!("--via is {url:?}; give the proxy's address as http://HOST:PORT"),
    }
}

/// Shows how far it is, a line a part.
struct Display;

impl Watch for Display {
    fn started(&mut self, backend: SocketAddr) {
        output::Meter::new(Duration::ZERO)
            .say(&format!("The scripted backend listens on http://{backend}"));
    }

    fn step(&mut self, what: &str, done: usize, all: usize) {
        output::Meter::new(Duration::ZERO).say(&format!("[{}/{all}] {what}", done + 1));
    }
}
