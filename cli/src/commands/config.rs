//! `loadproof config`: check, print, schema, reference.

use anyhow::Context;
use clap::Subcommand;
use config::{Effective, Fault, Faults, Warning};
use serde_json::{Value, json};

use crate::args::{ConfigurationArgs, OutputArgs};
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  loadproof config check --config loadproof.yaml
  loadproof config print --upstream http://127.0.0.1:8000 > loadproof.yaml
  loadproof config schema > loadproof.schema.json";

/// Arguments of `loadproof config`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say `ok`, or everything that is wrong
    ///
    /// Reads what `loadproof proxy` would read with the same arguments and starts nothing. Exits with 2 if there is a fault.
    Check(Asked),
    /// Show every key in force and where its value came from
    ///
    /// The text is itself a configuration file.
    Print(Asked),
    /// Write the JSON schema of the file
    Schema,
    /// Write the reference of all keys as Markdown
    Reference,
}

#[derive(Debug, clap::Args)]
struct Asked {
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    configuration: ConfigurationArgs,
}

/// Runs `loadproof config`.
pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<Exit> {
    match &args.action {
        Action::Check(asked) => check(asked),
        Action::Print(asked) => print(asked),
        Action::Schema => document(&format!("{:#}\n", config::schema())),
        Action::Reference => document(&config::reference()),
    }
}

fn check(asked: &Asked) -> anyhow::Result<Exit> {
    let loaded = asked.configuration.load();
    let verdict = || verdict(&loaded);
    match &loaded {
        Ok(effective) => {
            output::result(asked.output.output_format, || "ok\n".to_owned(), verdict)
                .context(WRITING)?;
            output::warnings(effective);
            Ok(Exit::Pass)
        }
        Err(faults) => {
            output::result(asked.output.output_format, String::new, verdict).context(WRITING)?;
            Ok(output::faults(faults))
        }
    }
}

fn print(asked: &Asked) -> anyhow::Result<Exit> {
    let effective = asked.configuration.load()?;
    let text = || config::print(&effective);
    let json = || config::print_json(&effective);
    output::result(asked.output.output_format, text, json).context(WRITING)?;
    output::warnings(&effective);
    Ok(Exit::Pass)
}

fn document(text: &str) -> anyhow::Result<Exit> {
    output::document(text).context(WRITING)?;
    Ok(Exit::Pass)
}

fn verdict(loaded: &Result<Effective, Faults>) -> Value {
    let faults: Vec<Value> = loaded
        .as_ref()
        .err()
        .into_iter()
        .flatten()
        .map(Fault::to_json)
        .collect();
    let warnings = loaded
        .as_ref()
        .map(|effective| effective.warnings.as_slice())
        .unwrap_or_default();
    let warnings: Vec<Value> = warnings.iter().map(Warning::to_json).collect();
    json!({"ok": loaded.is_ok(), "faults": faults, "warnings": warnings})
}

/// What was being done when standard output failed.
const WRITING: &str = "cannot write to standard output";
