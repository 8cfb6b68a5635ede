//! An inspection for a terminal: 100 columns at most, no colour.

use std::fmt;

use jiff::Timestamp;

use super::spark::{bars, duration, number, percent};
use super::{Arrivals, Distribution, Inspection, Lengths};
use crate::Unit;

impl fmt::Display for Inspection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(out)?;
        self.lengths.table(out)?;
        self.arrivals.section(out)?;
        self.times(out)?;
        self.structure(out)?;
        self.ends(out)
    }
}

impl Inspection {
    fn head(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64, word: &str| {
            format!(
                "{} {word}{}",
                number(count as f64),
                if count == 1 { "" } else { "s" }
            )
        };
        let parts = [
            plural(self.rows, "exchange"),
            plural(self.captures, "capture"),
            plural(self.pods, "pod"),
        ];
        writeln!(out, "{}", parts.join(" · "))?;
        let from = Timestamp::from_microsecond(self.first_us).map_or_else(
            |_| "unknown".to_owned(),
            |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        );
        let level = self.level.map_or_else(
            || "unknown".to_owned(),
            |level| format!("{level:?}").to_lowercase(),
        );
        write!(
            out,
            "from {from}, for {} · level {level}",
            duration(self.span_s)
        )?;
        if self.sample < 1.0 {
            write!(out, " · {} of the sessions", percent(self.sample))?;
        }
        let Self { deployment, .. } = self;
        writeln!(
            out,
            "\n\nLooks like {}: governed by {}\n  {}",
            deployment.looks_like, deployment.governed_by, deployment.because
        )
    }

    fn times(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        section(out, "Concurrency and times")?;
        head(out)?;
        if let Some(concurrency) = &self.concurrency {
            distribution(out, "at once", concurrency, number)?;
        }
        for (name, times) in [
            ("TTFT", &self.ttft_s),
            ("TPOT", &self.tpot_s),
            ("duration", &self.e2e_s),
        ] {
            if let Some(times) = times {
                distribution(out, name, times, duration)?;
            }
        }
        if !self.concurrency_series.is_empty() {
            writeln!(
                out,
                "  at once over time   {}",
                bars(self.concurrency_series.iter().copied())
            )?;
        }
        Ok(())
    }

    fn structure(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        section(out, "Shared prefixes")?;
        match &self.prefixes {
            None => writeln!(out, "  unknown: no hashes of one kind were captured")?,
            Some(prefixes) => {
                let unit = match prefixes.unit {
                    Unit::Tokens => "tokens",
                    Unit::Bytes => "bytes",
                };
                writeln!(
                    out,
                    "  a cache without bounds would have had {} of the {unit}, {} of the blocks of {} {unit}",
                    percent(prefixes.hit_rate),
                    percent(prefixes.block_hit_rate),
                    prefixes.block
                )?;
                let share = prefixes.rows_that_share as f64 / prefixes.rows.max(1) as f64;
                writeln!(
                    out,
                    "  {} of the prompts begin as an earlier one",
                    percent(share)
                )?;
            }
        }
        section(out, "Sessions")?;
        let Some(sessions) = &self.sessions else {
            return writeln!(out, "  unknown: no row has a session");
        };
        let Distribution { p50, p99, max, .. } = sessions.turns;
        let (count, rows, inferred) = (
            number(sessions.sessions as f64),
            number(sessions.rows as f64),
            number(sessions.inferred as f64),
        );
        writeln!(
            out,
            "  {count} of {rows} exchanges, {inferred} of them told by their prompts alone"
        )?;
        writeln!(
            out,
            "  turns: p50 {}, p99 {}, max {}",
            number(p50),
            number(p99),
            number(max)
        )?;
        if let Some(think) = &sessions.think_s {
            writeln!(
                out,
                "  think time: p50 {}, p90 {}, p99 {}",
                duration(think.p50),
                duration(think.p90),
                duration(think.p99)
            )?;
        }
        Ok(())
    }

    fn ends(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, counts, limit) in [
            ("Models", &self.models, 10),
            ("Outcomes", &self.outcomes, 20),
        ] {
            section(out, name)?;
            let mut counts: Vec<(&String, &u64)> = counts.iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            for (name, count) in counts.iter().take(limit) {
                let share = percent(**count as f64 / self.rows.max(1) as f64);
                writeln!(
                    out,
                    "  {:>10}  {share:>7}  {}",
                    number(**count as f64),
                    printable(name)
                )?;
            }
            if counts.len() > limit {
                writeln!(out, "  and {} more", counts.len() - limit)?;
            }
        }
        section(out, "Missing")?;
        if self.dropped.is_empty() {
            writeln!(out, "  nothing that the capture knows of")?;
        }
        for (reason, count) in &self.dropped {
            writeln!(out, "  {:>10}  {reason}", number(*count as f64))?;
        }
        Ok(())
    }
}

impl Lengths {
    fn table(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        section(out, "Lengths in tokens")?;
        head(out)?;
        let kinds = [
            (
                "prompt",
                &self.input,
                &self.input_series,
                self.input_unknown,
            ),
            (
                "output",
                &self.output,
                &self.output_series,
                self.output_unknown,
            ),
        ];
        for (name, lengths, _, unknown) in kinds {
            match lengths {
                Some(lengths) => distribution(out, name, lengths, number)?,
                None => writeln!(out, "  {name:<10} unknown")?,
            }
            if unknown > 0 && lengths.is_some() {
                writeln!(out, "  {:<10} {} unknown", "", number(unknown as f64))?;
            }
        }
        writeln!(out, "\n  {:<10} ≤15{:>27}", "", "131,072+")?;
        for (name, _, series, _) in kinds {
            let wide: String = bars(series.iter().map(|count| *count as f64))
                .chars()
                .flat_map(|bar| [bar, bar])
                .collect();
            writeln!(out, "  {name:<10} {}", wide.trim_end())?;
        }
        self.joint_table(out)
    }

    fn joint_table(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = &self.joint;
        let all: u64 = joint.rows.iter().flatten().sum();
        if all == 0 {
            return Ok(());
        }
        write!(out, "\n  {:<14}", "prompt\\output")?;
        for label in &joint.output {
            write!(out, "{label:>10}")?;
        }
        writeln!(out)?;
        for (label, line) in joint.input.iter().zip(&joint.rows) {
            write!(out, "  {label:<14}")?;
            for count in line {
                let share = if *count == 0 {
                    "·".to_owned()
                } else {
                    percent(*count as f64 / all as f64)
                };
                write!(out, "{share:>10}")?;
            }
            writeln!(out)?;
        }
        match joint.spearman {
            Some(rho) => writeln!(out, "  rank correlation of both: {rho:.2}"),
            None => Ok(()),
        }
    }
}

impl Arrivals {
    fn section(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        section(out, "Arrivals")?;
        let said = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), number);
        let gap = self
            .gap_mean_s
            .map_or_else(|| "unknown".to_owned(), duration);
        writeln!(
            out,
            "  {} a second, mean gap {gap}, CV of gaps {}",
            said(self.rate),
            said(self.gap_cv)
        )?;
        for dispersion in &self.dispersion {
            let index = dispersion
                .index
                .map_or_else(|| "too few windows".to_owned(), number);
            let beside = if dispersion.window_s > 1.0 {
                ""
            } else {
                " (Poisson: 1)"
            };
            let window = duration(dispersion.window_s);
            writeln!(out, "  dispersion at {window:>4}   {index}{beside}")?;
        }
        if let (Some(grid), Some(distinct)) = (self.grid_s, self.distinct) {
            writeln!(
                out,
                "  times lie on a grid of {}: {} are distinct",
                duration(grid),
                percent(distinct)
            )?;
        }
        writeln!(
            out,
            "  over time            {}",
            bars(self.series.iter().map(|count| *count as f64))
        )
    }
}

fn section(out: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    writeln!(out, "\n{name}")
}

fn head(out: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(
        out,
        "  {:<10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "mean", "min", "p50", "p90", "p99", "max"
    )
}

fn distribution(
    out: &mut fmt::Formatter<'_>,
    name: &str,
    values: &Distribution,
    say: fn(f64) -> String,
) -> fmt::Result {
    let Distribution {
        mean,
        min,
        p50,
        p90,
        p99,
        max,
        ..
    } = *values;
    write!(out, "  {name:<10}")?;
    for value in [mean, min, p50, p90, p99, max] {
        write!(out, "{:>10}", say(value))?;
    }
    writeln!(out)
}

/// A client chose the name: it moves no cursor.
fn printable(name: &str) -> String {
    name.chars()
        .map(|character| {
            if character.is_control() {
                '\u{fffd}'
            } else {
                character
            }
        })
        .take(70)
        .collect()
}
