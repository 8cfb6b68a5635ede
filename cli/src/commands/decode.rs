//! `loadproof decode`: what is understood of a recorded answer, event by event, and why.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use decode::Options;
use wire::EngineKind;

use crate::args::OutputArgs;
use crate::exit::Exit;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  curl -iN http://127.0.0.1:8000/v1/chat/completions -d @request.json | loadproof decode -
  loadproof decode --endpoint /v1/chat/completions answer.sse
  loadproof decode --entry 3 --output-format json session.har

FILE is the body of an answer, a raw HTTP/1.1 response, what `curl -i` shows, a HAR file, or a timed recording. docs/DECODE.md
describes them, and the JSON form.

Exit codes:
  0  decoded, whatever the outcome of the answer
  2  an option is wrong, or --endpoint is needed
  3  the file cannot be read, or is none of these";

/// Arguments of `loadproof decode`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DecodeArgs {
    /// The recording; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Route that answered [otherwise: learned from the recording]
    #[arg(long, value_name = "PATH")]
    endpoint: Option<String>,
    /// Engine that answered, where its routes tell which of several it was: vllm, sglang, trtllm, triton, tgi, llamacpp
    #[arg(long, value_name = "NAME", value_parser = engine)]
    engine: Option<EngineKind>,
    /// Body of the request, for what only it tells: n, prompts, echo, stream
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// Entry of a HAR file, counting from 0 [otherwise: each that is a known route]
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `loadproof decode`.
pub(crate) fn run(args: &DecodeArgs) -> anyhow::Result<Exit> {
    let endpoint = match args.endpoint.as_deref().map(decode::endpoint).transpose() {
        Ok(endpoint) => endpoint,
        Err(error) => return Ok(output::refused(&error)),
    };
    let request = args.request.as_deref().map(read).transpose()?;
    let recording = read(&args.file)?;
    let options = Options {
        endpoint,
        engine: args.engine,
        request: request.as_deref(),
        entry: args.entry,
    };
    let report = match decode::decode(&recording, &options) {
        Err(error) if error.is_usage() => return Ok(output::refused(&error)),
        decoded => decoded.with_context(|| args.file.display().to_string())?,
    };
    let json = serde_json::to_value(&report)?;
    output::result(args.output.output_format, || report.to_string(), || json)
        .context("cannot write to standard output")?;
    Ok(Exit::Pass)
}

fn engine(name: &str) -> Result<EngineKind, String> {
    EngineKind::of(name).ok_or_else(|| {
        let names: Vec<&str> = EngineKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("the engines are {}", names.join(", "))
    })
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
