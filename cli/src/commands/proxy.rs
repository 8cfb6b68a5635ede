//! `loadproof proxy`: configuration and logging, then the relay.

use std::io;

use anyhow::Context;
use config::{Effective, Level, Log, LogFormat};
use proxy::{Listeners, Parts, Proxy, Signals};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::ConfigurationArgs;
use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  loadproof proxy --upstream http://127.0.0.1:8000
  loadproof proxy --config loadproof.yaml --listen 0.0.0.0:8080 --log-format json
  loadproof proxy --listen 0.0.0.0:8000-8003 --upstream http://127.0.0.1:8200-8203
  LOADPROOF_UPSTREAM_URL=http://127.0.0.1:8000 loadproof proxy --set slo.ttft=500ms,2s

`loadproof config print` with the same arguments shows what is in force.";

/// Files of a client: its connection, and one to the engine.
const FILES_OF_A_CLIENT: u64 = 2;

/// Files that no client may take: listeners, scrapes and probes, certificates, the runtime's own.
const FILES_OF_OUR_OWN: u64 = 64;

/// Arguments of `loadproof proxy`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProxyArgs {
    #[command(flatten)]
    configuration: ConfigurationArgs,
}

/// Runs `loadproof proxy`.
pub(crate) fn run(args: &ProxyArgs) -> anyhow::Result<Exit> {
    let mut effective = args.configuration.load()?;
    start_logging(&effective.checked.log)?;
    for warning in &effective.warnings {
        tracing::warn!(key = warning.key, source = %warning.origin, advice = warning.advice, "{}", warning.wrong);
    }
    if let Some(files) = super::raise_open_files() {
        fit_into(files, &mut effective.checked.limits.connections);
    }
    serve(&effective)
}

/// Lowers the limit on clients' connections to what so many open files are enough for: then a client too many is told so, and
/// no connection to the engine and no scrape is short of a file.
fn fit_into(files: u64, connections: &mut usize) {
    let fitting = files.saturating_sub(FILES_OF_OUR_OWN) / FILES_OF_A_CLIENT;
    let fitting = usize::try_from(fitting).unwrap_or(usize::MAX).max(1);
    if fitting < *connections {
        tracing::warn!(
            files,
            connections = fitting,
            advice = "raise the limit on open files (ulimit -n, LimitNOFILE), or lower limits.connections",
            "fewer clients are served at once than limits.connections says, for want of open files"
        );
        *connections = fitting;
    }
}

/// Log lines go to standard error, whole lines at a time, in the form that the configuration says.
fn start_logging(log: &Log) -> anyhow::Result<()> {
    let level = match log.level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let lines = fmt().with_max_level(level).with_writer(io::stderr);
    match log.format {
        LogFormat::Text => lines.finish().try_init()?,
        LogFormat::Json => lines.json().finish().try_init()?,
    }
    Ok(())
}

/// Binds, says where it listens, and serves until a signal and the drain after it.
fn serve(effective: &Effective) -> anyhow::Result<Exit> {
    let config = &effective.checked;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        let signals = Signals::system().context("cannot listen for signals")?;
        let view = config::print_json(effective).to_string();
        let proxy = Parts::of(config, view)
            .map_err(proxy::Error::from)
            .and_then(|parts| Proxy::new(config, parts))
            .map_err(|error| told(effective, error))?;
        let listeners = Listeners::bind(config)?;
        let admin = listeners.admin.local_addr()?;
        for (listen, upstream) in listeners.data.iter().zip(proxy.engines()) {
            tracing::info!(%listen, %admin, upstream, "listening");
        }
        proxy.run(listeners, signals).await;
        Ok(Exit::Pass)
    })
}

/// A file that can't be used is a fault of the configuration, and is told as one.
fn told(effective: &Effective, error: proxy::Error) -> anyhow::Error {
    match error {
        proxy::Error::Tls(fault) => effective.fault(fault.key, fault.wrong, fault.fix).into(),
        error => error.into(),
    }
}
