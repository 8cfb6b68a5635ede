//! One file a command. To add one: a file here, a variant of [`Command`], a line in [`run`].

mod calibrate;
mod capture;
mod config;
mod decode;
mod demo;
mod proxy;
mod soak;

use clap::Subcommand;

use crate::exit::Exit;

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stand in front of an engine and time its tokens
    Proxy(proxy::ProxyArgs),
    /// Watch a simulated engine being measured, and compare with the truth
    Demo(demo::DemoArgs),
    /// Measure what a proxy adds to a stream, and how far our own reported times are off
    Calibrate(calibrate::CalibrateArgs),
    /// Run into everything that goes wrong for a long time, and see that nothing grows or is lost
    Soak(soak::SoakArgs),
    /// Say what a recorded answer means, event by event, and why
    Decode(decode::DecodeArgs),
    /// Look into captures on disk
    Capture(capture::CaptureArgs),
    /// Check, show or describe the configuration
    Config(config::ConfigArgs),
}

/// Does what `command` asks for. An error ends the process with code 2 if it is the configuration's, else with 3.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Proxy(args) => proxy::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Capture(args) => capture::run(&args),
        Command::Config(args) => config::run(&args),
    }
}

/// Lets this process open as many files as the system allows, where that is not refused. Returns how many; `None` is no
/// limit.
fn raise_open_files() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
    getrlimit(Resource::Nofile).current
}
