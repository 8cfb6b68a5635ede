//! The command line, as typed and doing nothing.
//!
//! Values of configuration stay text here: `config` reads them with those of the file and the environment, so that all
//! faults are told at once and in one way.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use config::{Effective, Environment, Faults, Flag};

use crate::commands::Command;

const EXAMPLES: &str = "\
Examples:
  loadproof proxy --upstream http://127.0.0.1:8000
  loadproof proxy --config loadproof.yaml --set drain.timeout=2m
  loadproof config check --config loadproof.yaml

Exit codes:
  0  done
  1  the verdict is no
  2  usage or configuration is wrong
  3  could not tell, or failed to run";

/// Times every token that your LLM engine serves.
///
/// A proxy in front of the engine stamps the first and each later token of real traffic and exports Prometheus metrics by
/// input length, output length and concurrency.
#[derive(Debug, Parser)]
#[command(name = "loadproof", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where configuration comes from. A flag wins over the environment, the environment over the file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigurationArgs {
    /// YAML file to read [otherwise: the one LOADPROOF_CONFIG names]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where clients connect, such as 0.0.0.0:8080, or 0.0.0.0:8000-8003 for an engine of four ports
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// The engine, such as http://127.0.0.1:8000, or http://127.0.0.1:8200-8203
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// Where metrics, probes and status are served
    #[arg(long, value_name = "ADDRESS:PORT")]
    admin_listen: Option<String>,
    /// Path of your own that is served as a known route, such as /team/chat=/v1/chat/completions; may be repeated
    #[arg(long, value_name = "PATH=ROUTE")]
    route: Vec<String>,
    /// What a client may switch to: none or websocket
    #[arg(long, value_name = "PROTOCOL")]
    allow_upgrade: Option<String>,
    /// Model name that may become a label value; may be repeated
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,
    /// Least severe level that is logged: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Form of a log line: text or json
    #[arg(long, value_name = "FORM")]
    log_format: Option<String>,
    /// Any other key, such as limits.body_bytes=64MiB; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// How a command that produces a result writes it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct OutputArgs {
    /// Form of the result
    #[arg(long, value_enum, value_name = "FORM", default_value_t = OutputFormat::Text)]
    pub(crate) output_format: OutputFormat,
}

/// Forms of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
}

impl ConfigurationArgs {
    /// The configuration that the file, the environment of this process and the flags say.
    pub(crate) fn load(&self) -> Result<Effective, Faults> {
        config::load(
            self.config.as_deref(),
            &Environment::of_process(),
            &self.flags(),
        )
    }

    fn flags(&self) -> Vec<Flag> {
        let single = [
            ("--listen", "listen", &self.listen),
            ("--upstream", "upstream.url", &self.upstream),
            ("--admin-listen", "admin.listen", &self.admin_listen),
            ("--allow-upgrade", "allow_upgrade", &self.allow_upgrade),
            ("--log-level", "log.level", &self.log_level),
            ("--log-format", "log.format", &self.log_format),
        ];
        let given = single
            .into_iter()
            .filter_map(|(flag, path, text)| Some((flag, path, text.as_deref()?)));
        let mut flags: Vec<Flag> = given
            .map(|(flag, path, text)| Flag::one(flag, path, text))
            .collect();
        if !self.model.is_empty() {
            flags.push(Flag::many("--model", "models.names", &self.model));
        }
        if !self.route.is_empty() {
            flags.push(Flag::many("--route", "routes", &self.route));
        }
        flags.extend(self.set.iter().map(|text| Flag::assignment(text)));
        flags
    }
}
