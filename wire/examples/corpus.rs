//! Runs a corpus of recorded answers and says for each whether the decoder understands it as expected.
//!
//! ```text
//! cargo run -p wire --example corpus -- FOLDER [--engine NAME]... [--json]
//! ```
//!
//! FOLDER holds `expected.json` and the files that it names, in the form of `wire/tests/fixtures/corpus`. Each case is run
//! by its own reads and in reads of 1 and of 7 bytes. Exit code: 0 all that is decoded is as expected, 1 something is
//! not, 2 the call or the folder is wrong.

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use corpus::{Case, Corpus, Verdict};
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: corpus FOLDER [--engine NAME]... [--json]";

/// What the command line asks for.
#[derive(Default)]
struct Call {
    folder: PathBuf,
    /// Empty: all of them.
    engines: Vec<String>,
    format: Format,
}

#[derive(Default, Clone, Copy)]
enum Format {
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Default)]
struct Counts {
    pass: usize,
    fail: usize,
    skipped: usize,
}

fn main() -> ExitCode {
    let result =
        Call::parse(std::env::args().skip(1)).and_then(|call| run(&call, &mut io::stdout().lock()));
    match result {
        Ok(counts) if counts.fail == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // Where even this can't be written there is nobody to tell.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(call: &Call, out: &mut impl Write) -> Result<Counts, Box<dyn Error>> {
    let corpus = Corpus::read(&call.folder)?;
    let mut counts = Counts::default();
    for case in corpus.cases.iter().filter(|case| call.wants(case)) {
        let verdict = corpus.check(case)?;
        match verdict {
            Verdict::Pass => counts.pass += 1,
            Verdict::Fail(_) => counts.fail += 1,
            Verdict::Skipped => counts.skipped += 1,
        }
        match call.format {
            Format::Text => write_text(out, case, &verdict)?,
            Format::Json => write_json(out, case, &verdict)?,
        }
    }
    let Counts {
        pass,
        fail,
        skipped,
    } = counts;
    match call.format {
        Format::Text => writeln!(out, "{pass} pass, {fail} fail, {skipped} skipped")?,
        Format::Json => {
            writeln!(
                out,
                "{}",
                serde_json::json!({"pass": pass, "fail": fail, "skipped": skipped})
            )?;
        }
    }
    if pass + fail + skipped == 0 {
        return Err("no case is left to run; --engine takes the names in expected.json".into());
    }
    Ok(counts)
}

fn write_text(out: &mut impl Write, case: &Case, verdict: &Verdict) -> io::Result<()> {
    let id = &case.id;
    match verdict {
        Verdict::Pass => writeln!(out, "pass     {id}"),
        Verdict::Skipped => writeln!(
            out,
            "skipped  {id} (endpoint not decoded yet: {})",
            case.endpoint
        ),
        Verdict::Fail(differences) => {
            writeln!(out, "FAIL     {id}")?;
            differences
                .iter()
                .try_for_each(|difference| writeln!(out, "         {difference}"))
        }
    }
}

fn write_json(out: &mut impl Write, case: &Case, verdict: &Verdict) -> io::Result<()> {
    let (verdict, differences) = match verdict {
        Verdict::Pass => ("pass", &[][..]),
        Verdict::Skipped => ("skipped", &[][..]),
        Verdict::Fail(differences) => ("fail", differences.as_slice()),
    };
    let differences: Vec<_> = differences
        .iter()
        .map(|one| {
            serde_json::json!({
                "field": one.field, "expected": one.expected, "observed": one.observed, "reads": one.reads,
            })
        })
        .collect();
    let line = serde_json::json!({
        "id": case.id, "engine": case.engine, "endpoint": case.endpoint, "verdict": verdict, "differences": differences,
    });
    writeln!(out, "{line}")
}

impl Call {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut call = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--engine" => call
                    .engines
                    .push(words.next().ok_or("--engine needs a name")?),
                "--json" => call.format = Format::Json,
                _ if word.starts_with('-') => {
                    return Err(format!("unknown option {word}; {USAGE}").into());
                }
                _ if call.folder.as_os_str().is_empty() => call.folder = word.into(),
                _ => return Err(format!("one folder at a time, not also {word}; {USAGE}").into()),
            }
        }
        if call.folder.as_os_str().is_empty() {
            return Err(USAGE.into());
        }
        Ok(call)
    }

    fn wants(&self, case: &Case) -> bool {
        self.engines.is_empty() || self.engines.contains(&case.engine)
    }
}
