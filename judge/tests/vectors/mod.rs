//! Vector files: numbers worked out outside this program, each computed anew from its inputs and compared.
//!
//! A file is read, every case is handed to the code of its topic, and what that computes is compared with what the file
//! expects. Nothing that is expected is ever read to compute it.

mod accuracy;
pub(crate) mod case;
mod compare;
mod dashboards;
mod money;
mod replays;
mod sequences;
pub(crate) mod streams;
mod table;
mod tests_of_arms;
mod verdicts;

use compare::Tolerance;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One vector file, read.
pub(crate) struct File {
    /// All of it.
    pub(crate) whole: Value,
    /// Where it and its siblings lie.
    pub(crate) folder: PathBuf,
}

/// What became of one file.
pub(crate) struct Report {
    name: String,
    /// Cases that were compared, or the first difference.
    outcome: Result<usize, String>,
}

impl Report {
    /// Every case came out as expected.
    pub(crate) fn passed(&self) -> bool {
        self.outcome.is_ok()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(cases) => write!(out, "passed {} ({cases} cases)", self.name),
            Err(difference) => write!(out, "failed {}: {difference}", self.name),
        }
    }
}

/// The vector files of this repository.
pub(crate) fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vectors")
}

/// Runs every JSON file of a folder, in order of names.
pub(crate) fn run_folder(folder: &Path) -> io::Result<Vec<Report>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths.iter().map(|path| run_file(path)).collect())
}

fn run_file(path: &Path) -> Report {
    let stem = path.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    let outcome = File::read(path).and_then(|file| file.run(&name));
    Report { name, outcome }
}

impl File {
    /// Reads one.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        Ok(Self {
            whole: serde_json::from_str(&text).map_err(|error| error.to_string())?,
            folder: path.parent().unwrap_or(Path::new(".")).to_owned(),
        })
    }

    /// The file beside it with this name, if there is one.
    pub(crate) fn sibling(&self, name: &str) -> Option<Result<Self, String>> {
        let path = self.folder.join(format!("{name}.json"));
        path.exists().then(|| Self::read(&path))
    }

    /// Its tolerance.
    pub(crate) fn tolerance(&self) -> Result<Tolerance, String> {
        let limit = |name: &str| {
            let value = self.whole.get("tolerance").and_then(|both| both.get(name));
            value.and_then(Value::as_f64)
        };
        Ok(Tolerance {
            relative: limit("rel").ok_or("it has no tolerance.rel")?,
            absolute: limit("abs").ok_or("it has no tolerance.abs")?,
        })
    }

    fn cases(&self) -> Result<&[Value], String> {
        let cases = self.whole.get("cases").and_then(Value::as_array);
        match cases {
            Some(cases) if !cases.is_empty() => Ok(cases),
            _ => Err("it has no cases".to_owned()),
        }
    }

    /// Computes every case by the code that belongs to `name`, and says how many there were.
    pub(crate) fn run(&self, name: &str) -> Result<usize, String> {
        let topic =
            table::topic(name).ok_or("no code of this program belongs to a file of this name")?;
        let tolerance = self.tolerance()?;
        for (at, case) in self.cases()?.iter().enumerate() {
            self.check(case, topic.case, tolerance).map_err(|problem| {
                let name = case.get("name").and_then(Value::as_str).unwrap_or("");
                format!("case {at} {name}: {problem}")
            })?;
        }
        topic.extra.map_or(Ok(()), |extra| extra(self))?;
        Ok(self.cases()?.len())
    }

    fn check(
        &self,
        case: &Value,
        compute: table::Compute,
        tolerance: Tolerance,
    ) -> Result<(), String> {
        let got = compute(&case::Case::of(case), self)?;
        let expected = case.get("expected").ok_or("it expects nothing")?;
        compare::difference(&got, expected, tolerance).map_or(Ok(()), Err)
    }
}
