//! ServeGen's models of a client (alibaba/ServeGen): rates in windows of 600 s, and lengths to draw from.
//!
//! Two files: `NAME-trace.csv` without a head (start of the window in s, rate, CV, pattern, shape, scale) and, beside it,
//! `NAME-dataset.json`, which says from which second on which lengths have which weight. It is a model and no recording:
//! gaps are drawn from the window's Gamma or Weibull distribution, lengths from the weights, each by itself, all from one
//! seed. The weights are texts that look like a Python dictionary; they are parsed, never evaluated.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use csv::ReaderBuilder;
use judge::prng::SplitMix64;
use serde_json::Value;
use statrs::distribution::{ContinuousCDF, Gamma, Weibull};

use super::{Entry, Format, FormatError, Import, Imported, Reading, TimeUnit};

const WINDOW_S: f64 = 600.0;

pub(super) static SERVEGEN: Format = Format {
    name: "servegen",
    says: "ServeGen's model of a client: arrivals and lengths are drawn from it",
    export: None,
    import: Some(Import::File(read)),
};

/// Weights of lengths.
type Weights = Vec<(u64, f64)>;

/// Arrivals of one window.
struct Window {
    start_s: f64,
    gaps: Gaps,
}

enum Gaps {
    Gamma(Gamma),
    Weibull(Weibull),
}

fn read(path: &Path, reading: &Reading) -> Result<Imported, FormatError> {
    let windows = windows(path)?;
    let datasets = datasets(&beside(path)?)?;
    let mut generator = SplitMix64::new(reading.seed);
    let mut entries = Vec::new();
    for window in windows {
        let mut at_s = window.start_s + window.gap(&mut generator);
        while at_s < window.start_s + WINDOW_S {
            let at_ns = TimeUnit::Seconds.nanoseconds(at_s);
            let at_ns = at_ns.ok_or_else(|| {
                FormatError::File(format!("the window at {} s is no time", window.start_s))
            })?;
            let (input, output) = lengths(&datasets, at_s, &mut generator)?;
            entries.push(Entry {
                at_ns,
                input: Some(input),
                output: Some(output),
                ..Entry::default()
            });
            at_s += window.gap(&mut generator);
        }
    }
    let (entries, _) = Imported::from_first(entries);
    Ok(Imported {
        entries,
        block: None,
        start_us: None,
    })
}

impl Window {
    /// A gap, never so short that a window would never end.
    fn gap(&self, generator: &mut SplitMix64) -> f64 {
        let unit = generator.unit();
        let gap = match &self.gaps {
            Gaps::Gamma(gamma) => gamma.inverse_cdf(unit),
            Gaps::Weibull(weibull) => weibull.inverse_cdf(unit),
        };
        gap.max(1e-6)
    }
}

fn windows(path: &Path) -> Result<Vec<Window>, FormatError> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .from_path(path)
        .map_err(|error| FormatError::File(error.to_string()))?;
    let mut windows = Vec::new();
    for (line, record) in (1..).zip(reader.records()) {
        let record =
            record.map_err(|error| FormatError::line(line, format!("is no CSV: {error}")))?;
        let number = |at: usize, name: &str| {
            let value = record
                .get(at)
                .and_then(|cell| cell.trim().parse::<f64>().ok())
                .filter(|value| value.is_finite() && *value >= 0.0);
            value.ok_or_else(|| FormatError::line(line, format!("has no {name} in column {}: start, rate, CV, pattern, shape and scale are wanted", at + 1)))
        };
        let start_s = number(0, "start")?;
        if number(1, "rate")? == 0.0 {
            continue;
        }
        let (shape, scale) = (number(4, "shape")?, number(5, "scale")?);
        let pattern = record.get(3).unwrap_or_default().trim();
        let wrong = |error: &dyn std::fmt::Display| {
            FormatError::line(line, format!("shape {shape} and scale {scale}: {error}"))
        };
        let gaps = match pattern {
            "Gamma" => Gaps::Gamma(Gamma::new(shape, 1.0 / scale).map_err(|error| wrong(&error))?),
            "Weibull" => Gaps::Weibull(Weibull::new(shape, scale).map_err(|error| wrong(&error))?),
            other => {
                return Err(FormatError::line(
                    line,
                    format!("the pattern is {other:?}: Gamma or Weibull is wanted"),
                ));
            }
        };
        windows.push(Window { start_s, gaps });
    }
    Ok(windows)
}

/// The file of lengths that belongs to the file of rates.
fn beside(path: &Path) -> Result<PathBuf, FormatError> {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_suffix("-trace.csv"));
    let name = name.ok_or_else(|| FormatError::File("its name does not end in -trace.csv: ServeGen's files are NAME-trace.csv and NAME-dataset.json".to_owned()))?;
    Ok(path.with_file_name(format!("{name}-dataset.json")))
}

fn datasets(path: &Path) -> Result<BTreeMap<u64, (Weights, Weights)>, FormatError> {
    let file = File::open(path)
        .map_err(|error| FormatError::File(format!("{}: {error}", path.display())))?;
    let value: Value = serde_json::from_reader(file)?;
    let wrong = |at: &str, problem: &str| {
        FormatError::File(format!("{}: {at:?} {problem}", path.display()))
    };
    let windows = value
        .as_object()
        .ok_or_else(|| FormatError::File(format!("{} is no JSON object", path.display())))?;
    let mut datasets = BTreeMap::new();
    for (start, lengths) in windows {
        let from = start
            .parse::<f64>()
            .ok()
            .and_then(|start| TimeUnit::Seconds.nanoseconds(start));
        let from = from.ok_or_else(|| wrong(start, "is no second"))?;
        let of = |name: &str| {
            let text = lengths.get(name).and_then(Value::as_str);
            let weights = text
                .and_then(weights)
                .filter(|weights| weights.iter().any(|(_, weight)| *weight > 0.0));
            weights.ok_or_else(|| {
                wrong(
                    start,
                    &format!("has no {name} such as \"{{900: 0.4, 1300: 0.6}}\""),
                )
            })
        };
        datasets.insert(from, (of("input_tokens")?, of("output_tokens")?));
    }
    Ok(datasets)
}

/// `{900: 0.4, 1300: 0.6}`
fn weights(text: &str) -> Option<Weights> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let pair = |pair: &str| {
        let (length, weight) = pair.split_once(':')?;
        let weight = weight
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|weight| weight.is_finite() && *weight >= 0.0)?;
        Some((length.trim().parse().ok()?, weight))
    };
    inner
        .split(',')
        .filter(|pair| !pair.trim().is_empty())
        .map(pair)
        .collect()
}

/// Lengths as at a time: those that began last before it, or the first ones.
fn lengths(
    datasets: &BTreeMap<u64, (Weights, Weights)>,
    at_s: f64,
    generator: &mut SplitMix64,
) -> Result<(u64, u64), FormatError> {
    let at_ns = TimeUnit::Seconds.nanoseconds(at_s).unwrap_or(0);
    let found = datasets
        .range(..=at_ns)
        .next_back()
        .or_else(|| datasets.iter().next());
    let (_, (input, output)) =
        found.ok_or_else(|| FormatError::File("the file of lengths is empty".to_owned()))?;
    Ok((drawn(input, generator), drawn(output, generator)))
}

fn drawn(weights: &Weights, generator: &mut SplitMix64) -> u64 {
    let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut left = generator.unit() * all;
    for (length, weight) in weights {
        left -= weight;
        if left < 0.0 {
            return *length;
        }
    }
    weights.last().map_or(0, |(length, _)| *length)
}
