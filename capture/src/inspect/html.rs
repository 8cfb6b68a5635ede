//! An inspection as one page: no script, nothing loaded, drawings inline, light and dark.

use maud::{DOCTYPE, Markup, html};

use super::spark::{duration, number, percent};
use super::{Distribution, Inspection};

const STYLE: &str = "\
:root{--ink:#1c2430;--soft:#5d6876;--line:#dfe4ea;--paper:#fff;--card:#f7f9fb;--mark:#2563a8}\
@media(prefers-color-scheme:dark){:root{--ink:#e6eaef;--soft:#98a3b0;--line:#2f3843;--paper:#12161b;--card:#191f26;--mark:#6aa5e8}}\
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\
main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}h1{font-size:26px;margin:0 0 4px}h2{font-size:17px;margin:36px 0 10px}\
p{margin:4px 0;max-width:70ch}.soft{color:var(--soft)}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin:20px 0}\
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 14px}.tile b{display:block;font-size:22px;font-weight:600}\
.tile span{color:var(--soft);font-size:13px}.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:24px}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line)}\
th{color:var(--soft);font-weight:500;font-size:13px}th:first-child,td:first-child{text-align:left;word-break:break-all}.scroll{overflow-x:auto}\
svg{display:block;width:100%;height:auto}rect{fill:var(--mark)}text{fill:var(--soft);font-size:11px}figure{margin:0}figcaption{color:var(--soft);font-size:13px;margin-bottom:4px}\
.heat td{text-align:center;border:2px solid var(--paper);min-width:80px}.heat td:first-child{text-align:left}";

impl Inspection {
    /// The page.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { "Captured traffic" }
                    style { (maud::PreEscaped(STYLE)) }
                }
                body { main {
                    (self.top())
                    (self.lengths_part())
                    (self.arrivals_part())
                    (self.structure_part())
                    (self.ends_part())
                } }
            }
        };
        page.into_string()
    }

    fn top(&self) -> Markup {
        let known = |value: Option<f64>, say: fn(f64) -> String| {
            value.map_or_else(|| "unknown".to_owned(), say)
        };
        let tiles = [
            (number(self.rows as f64), "exchanges"),
            (known(self.arrivals.rate, number), "arrivals a second"),
            (
                known(self.concurrency.map(|at_once| at_once.mean), number),
                "at once, on average",
            ),
            (
                known(
                    self.prefixes.as_ref().map(|prefixes| prefixes.hit_rate),
                    percent,
                ),
                "of prompts in an endless cache",
            ),
            (
                known(
                    self.sessions
                        .as_ref()
                        .map(|sessions| sessions.sessions as f64),
                    number,
                ),
                "sessions",
            ),
        ];
        html! {
            h1 { "Captured traffic" }
            p.soft {
                (duration(self.span_s)) " · " (self.captures) " captures · " (self.pods) " pods"
                @if let Some(level) = self.level { " · level " (format!("{level:?}").to_lowercase()) }
                @if self.sample < 1.0 { " · " (percent(self.sample)) " of the sessions" }
            }
            div.tiles { @for (value, name) in tiles { div.tile { b { (value) } span { (name) } } } }
            p { "Looks like " b { (self.deployment.looks_like) } ", governed by " b { (self.deployment.governed_by) } "." }
            p.soft { (self.deployment.because) }
        }
    }

    fn lengths_part(&self) -> Markup {
        let lengths = &self.lengths;
        let counts = |series: &[u64]| {
            series
                .iter()
                .map(|count| *count as f64)
                .collect::<Vec<f64>>()
        };
        let rows = [("prompt", &lengths.input), ("output", &lengths.output)];
        let all = lengths.joint.rows.iter().flatten().sum::<u64>().max(1) as f64;
        let most = lengths
            .joint
            .rows
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or(1)
            .max(1) as f64;
        html! {
            h2 { "Lengths in tokens" }
            (distributions(&rows, number))
            @if lengths.input_unknown + lengths.output_unknown > 0 {
                p.soft { "unknown: " (lengths.input_unknown) " prompts, " (lengths.output_unknown) " outputs" }
            }
            div.pair {
                (bars("prompt length", &counts(&lengths.input_series), ("≤15", "131,072+")))
                (bars("output length", &counts(&lengths.output_series), ("≤15", "131,072+")))
            }
            h2 { "Prompt and output length together" }
            div.scroll { table.heat {
                tr { th { "prompt \\ output" } @for label in &lengths.joint.output { th style="text-align:center" { (label) } } }
                @for (label, line) in lengths.joint.input.iter().zip(&lengths.joint.rows) {
                    tr {
                        td { (label) }
                        @for count in line {
                            td style=(format!("background:color-mix(in srgb,var(--mark) {:.0}%,transparent)", *count as f64 / most * 55.0)) {
                                @if *count > 0 { (percent(*count as f64 / all)) } @else { "·" }
                            }
                        }
                    }
                }
            } }
            @if let Some(rho) = lengths.joint.spearman { p.soft { "Rank correlation: " (format!("{rho:.2}")) } }
        }
    }

    fn arrivals_part(&self) -> Markup {
        let arrivals = &self.arrivals;
        let known = |value: Option<f64>, say: fn(f64) -> String| {
            value.map_or_else(|| "unknown".to_owned(), say)
        };
        let series: Vec<f64> = arrivals.series.iter().map(|count| *count as f64).collect();
        let end = duration(self.span_s);
        let times = [
            ("TTFT", &self.ttft_s),
            ("TPOT", &self.tpot_s),
            ("duration", &self.e2e_s),
        ];
        html! {
            h2 { "Arrivals and concurrency" }
            div.pair {
                (bars("arrivals over time", &series, ("0", &end)))
                @if !self.concurrency_series.is_empty() { (bars("exchanges at once", &self.concurrency_series, ("0", &end))) }
            }
            p { "Mean gap " (known(arrivals.gap_mean_s, duration)) ", its coefficient of variation " (known(arrivals.gap_cv, number)) "." }
            p {
                "Index of dispersion (Poisson: 1): "
                @for dispersion in &arrivals.dispersion {
                    (dispersion.index.map_or_else(|| "too few windows".to_owned(), number)) " at " (duration(dispersion.window_s)) "; "
                }
            }
            @if let (Some(grid), Some(distinct)) = (arrivals.grid_s, arrivals.distinct) {
                p { "Times lie on a grid of " (duration(grid)) ": " (percent(distinct)) " are distinct." }
            }
            @if let Some(at_once) = &self.concurrency { (distributions(&[("at once", &Some(*at_once))], number)) }
            (distributions(&times, duration))
        }
    }

    fn structure_part(&self) -> Markup {
        html! {
            h2 { "Shared prefixes" }
            @match &self.prefixes {
                None => p { "Unknown: no hashes of one kind were captured." },
                Some(prefixes) => p {
                    "A cache without bounds would have had " b { (percent(prefixes.hit_rate)) } " of the prompts, "
                    (percent(prefixes.block_hit_rate)) " of the blocks of " (prefixes.block) " "
                    (format!("{:?}", prefixes.unit).to_lowercase()) "."
                },
            }
            h2 { "Sessions" }
            @match &self.sessions {
                None => p { "Unknown: no row has a session." },
                Some(sessions) => {
                    p { (number(sessions.sessions as f64)) " sessions of " (number(sessions.rows as f64)) " exchanges, " (sessions.inferred) " of them told by their prompts alone." }
                    (distributions(&[("turns", &Some(sessions.turns))], number))
                    (distributions(&[("think time", &sessions.think_s)], duration))
                },
            }
        }
    }

    fn ends_part(&self) -> Markup {
        let tables = [
            ("Models", &self.models),
            ("Outcomes", &self.outcomes),
            ("Missing", &self.dropped),
        ];
        html! {
            div.pair {
                @for (name, counts) in tables {
                    section {
                        h2 { (name) }
                        @if counts.is_empty() { p { "Nothing that the capture knows of." } }
                        @else { table { @for (name, count) in sorted(counts) { tr { td { (name) } td { (number(count as f64)) } } } } }
                    }
                }
            }
        }
    }
}

fn sorted(counts: &std::collections::BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut counts: Vec<(&str, u64)> = counts
        .iter()
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.truncate(20);
    counts
}

fn distributions(rows: &[(&str, &Option<Distribution>)], say: fn(f64) -> String) -> Markup {
    let known: Vec<(&str, Distribution)> = rows
        .iter()
        .filter_map(|(name, values)| Some((*name, (**values)?)))
        .collect();
    html! {
        @if !known.is_empty() {
            div.scroll { table {
                tr { th {} @for name in ["mean", "min", "p50", "p90", "p99", "max"] { th { (name) } } }
                @for (name, values) in known {
                    tr {
                        td { (name) }
                        @for value in [values.mean, values.min, values.p50, values.p90, values.p99, values.max] { td { (say(value)) } }
                    }
                }
            } }
        }
    }
}

/// A drawing of bars, with what stands at its two ends.
fn bars(name: &str, values: &[f64], (left, right): (&str, &str)) -> Markup {
    let max = values.iter().copied().fold(0.0, f64::max);
    let width = 480.0 / values.len().max(1) as f64;
    let height = |value: f64| {
        if max > 0.0 && value > 0.0 {
            (value / max * 90.0).max(1.0)
        } else {
            0.0
        }
    };
    html! {
        figure {
            figcaption { (name) ", at most " (number(max)) }
            svg viewBox="0 0 480 110" role="img" aria-label=(name) {
                @for (at, value) in values.iter().enumerate() {
                    rect x=(format!("{:.1}", at as f64 * width)) y=(format!("{:.1}", 92.0 - height(*value)))
                        width=(format!("{:.1}", (width - 1.0).max(0.5))) height=(format!("{:.1}", height(*value))) {}
                }
                text x="0" y="107" { (left) }
                text x="480" y="107" text-anchor="end" { (right) }
            }
        }
    }
}
