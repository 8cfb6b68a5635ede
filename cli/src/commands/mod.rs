//! One file a command. To add one: a file here, a variant of [`Command`], a line in [`run`].

mod config;
mod demo;
mod proxy;

use clap::Subcommand;

use crate::exit::Exit;

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stand in front of an engine and time its tokens
    Proxy(proxy::ProxyArgs),
    /// Watch a simulated engine being measured, and compare with the truth
    Demo(demo::DemoArgs),
    /// Check, show or describe the configuration
    Config(config::ConfigArgs),
}

/// Does what `command` asks for. An error ends the process with code 2 if it is the configuration's, else with 3.
pub(crate) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Proxy(args) => proxy::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Config(args) => config::run(&args),
    }
}
