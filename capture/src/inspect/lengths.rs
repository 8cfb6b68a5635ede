//! Lengths, each by itself and jointly: what a load of the right means and the wrong pairs misses.

use judge::fidelity::spearman;
use serde::Serialize;

use super::Seen;
use super::figures::Distribution;

/// Inclusive upper ends of the fine ranges.
const FINE: [u64; 14] = [
    15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 65535, 131_071,
];
/// Those of the ranges that the metrics use, for prompts.
const INPUT: [u64; 4] = [256, 1024, 4096, 16384];
/// The same for outputs.
const OUTPUT: [u64; 3] = [32, 256, 1024];

/// Prompt and output lengths in tokens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lengths {
    /// Of prompts.
    pub input: Option<Distribution>,
    /// Of outputs.
    pub output: Option<Distribution>,
    /// Rows in each range that doubles: up to 15, 31, … 131,071 tokens, and above.
    pub input_series: Vec<u64>,
    /// The same of outputs.
    pub output_series: Vec<u64>,
    /// Rows without a known prompt length.
    pub input_unknown: u64,
    /// Rows without a known output length.
    pub output_unknown: u64,
    /// Both at once.
    pub joint: Joint,
}

/// Rows by prompt and output length, in the ranges of the metrics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Joint {
    /// Ranges of the prompt length, one a line.
    pub input: Vec<String>,
    /// Ranges of the output length, one a column.
    pub output: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<u64>>,
    /// Spearman's rank correlation of both. Absent if one is constant.
    pub spearman: Option<f64>,
}

impl Lengths {
    pub(super) fn of(seen: &[Seen]) -> Self {
        let inputs = || seen.iter().filter_map(|seen| seen.input);
        let outputs = || seen.iter().filter_map(|seen| seen.output);
        let unknown = |known: usize| (seen.len() - known) as u64;
        Self {
            input: Distribution::of(inputs().map(|tokens| tokens as f64)),
            output: Distribution::of(outputs().map(|tokens| tokens as f64)),
            input_series: ranges(inputs()),
            output_series: ranges(outputs()),
            input_unknown: unknown(inputs().count()),
            output_unknown: unknown(outputs().count()),
            joint: Joint::of(seen),
        }
    }
}

impl Joint {
    fn of(seen: &[Seen]) -> Self {
        let mut rows = vec![vec![0; OUTPUT.len() + 1]; INPUT.len() + 1];
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (input, output) in seen
            .iter()
            .filter_map(|seen| Some((seen.input?, seen.output?)))
        {
            let line = rows.get_mut(range(&INPUT, input));
            if let Some(count) = line.and_then(|line| line.get_mut(range(&OUTPUT, output))) {
                *count += 1;
            }
            inputs.push(input as f64);
            outputs.push(output as f64);
        }
        Self {
            input: labels(&INPUT),
            output: labels(&OUTPUT),
            rows,
            spearman: spearman(&inputs, &outputs).ok().flatten(),
        }
    }
}

fn range(ends: &[u64], value: u64) -> usize {
    ends.partition_point(|end| *end < value)
}

fn ranges(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut counts = vec![0; FINE.len() + 1];
    for value in values {
        if let Some(count) = counts.get_mut(range(&FINE, value)) {
            *count += 1;
        }
    }
    counts
}

fn labels(ends: &[u64]) -> Vec<String> {
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    let ends = ends.iter().map(Some).chain([None]);
    let label = |(start, end): (u64, Option<&u64>)| {
        end.map_or_else(|| format!("{start}+"), |end| format!("{start}-{end}"))
    };
    starts.zip(ends).map(label).collect()
}
