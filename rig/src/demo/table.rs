//! A report for people: one table, then what it says in words. Times in milliseconds.

use crate::demo::report::{Agreement, Cell, Compared, Pooled, Quantiles, Report, Requests};
use crate::quantile::Quantile;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use std::fmt::{self, Write};

/// Stands where a quantile would, were there enough values.
const TOO_SMALL: &str = "n too small";

const HEADER: [&str; 11] = [
    "input\ntokens",
    "output\ntokens",
    "in\nflight",
    "n",
    "ms",
    "TTFT\np50",
    "TTFT\np95",
    "TTFT\np99",
    "TPOT\np50",
    "TPOT\np95",
    "TPOT\np99",
];

/// Columns before the figures.
const SHAPE_COLUMNS: usize = 3;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", table(self))?;
        let Self {
            total,
            requests,
            settings,
            agreement,
            ..
        } = self;
        gaps(f, &total.gap)?;
        writeln!(f, "\nReported - true, of each request:")?;
        apart(f, "TTFT", &total.ttft)?;
        apart(f, "TPOT", &total.tpot)?;
        apart(f, "longest gap", &total.longest_gap)?;
        counts(f, requests)?;
        outcomes(f, self)?;
        machine(f, self)?;
        writeln!(
            f,
            "\nTTFT is the first token after the last byte of the request was handed to the engine; TPOT the time from the first\n\
             token to the last over the tokens after the first burst; a gap lies between two bursts with tokens. Quantiles by\n\
             nearest rank. Reported: read by the proxy. True: written by the simulated engine ({}, seed {}) on the same clock.",
            settings.engine, settings.seed
        )?;
        verdict(f, agreement)
    }
}

fn table(report: &Report) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(HEADER);
    for cell in &report.cells {
        let Cell {
            input_len,
            output_len,
            concurrency,
            requests,
            ttft,
            tpot,
        } = cell;
        table.add_row(row(
            [input_len, output_len, concurrency],
            *requests,
            (ttft, tpot),
        ));
    }
    let total = &report.total;
    table.add_row(row(
        ["all", "all", "all"],
        total.requests,
        (&total.ttft, &total.tpot),
    ));
    for column in table.column_iter_mut().skip(SHAPE_COLUMNS) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Three lines a shape: reported, true, difference. One, where nothing can be stated.
fn row(
    shape: [&str; SHAPE_COLUMNS],
    requests: usize,
    (ttft, tpot): (&Compared, &Compared),
) -> Vec<String> {
    let nothing = [ttft, tpot]
        .iter()
        .all(|compared| compared.reported.p50.is_none());
    let mut row: Vec<String> = shape.map(str::to_owned).into();
    row.push(requests.to_string());
    row.push(if nothing {
        String::new()
    } else {
        "reported\ntrue\ndifference".to_owned()
    });
    row.extend(cells(ttft));
    row.extend(cells(tpot));
    row
}

/// The quantiles of one quantity, as far as they are stated; the first that is not says why none follows.
fn cells(compared: &Compared) -> [String; 3] {
    let mut silent = false;
    Quantile::ALL.map(|quantile| match stated(compared, quantile) {
        Some(figures) => figures,
        None if std::mem::replace(&mut silent, true) => String::new(),
        None => TOO_SMALL.to_owned(),
    })
}

fn stated(compared: &Compared, quantile: Quantile) -> Option<String> {
    let reported = compared.reported.get(quantile)?;
    let truth = compared.truth.get(quantile)?;
    let difference = compared.difference.get(quantile)?;
    Some(format!(
        "{}\n{}\n{}",
        ms(reported),
        ms(truth),
        signed_ms(difference)
    ))
}

fn gaps(f: &mut fmt::Formatter<'_>, gap: &Pooled) -> fmt::Result {
    let mut line = format!("Gaps: {} reported, {} true;", gap.n_reported, gap.n_true);
    for (name, quantile) in [
        ("p50", Quantile::P50),
        ("p95", Quantile::P95),
        ("p99", Quantile::P99),
    ] {
        let of = |quantiles: &Quantiles| quantiles.get(quantile);
        match (of(&gap.reported), of(&gap.truth), of(&gap.difference)) {
            (Some(reported), Some(truth), Some(difference)) => {
                write!(
                    line,
                    " {name} {}, true {} ({});",
                    ms(reported),
                    ms(truth),
                    signed_ms(difference)
                )?;
            }
            _ => write!(line, " {name} {TOO_SMALL};")?,
        }
    }
    writeln!(f, "{} ms.", line.trim_end_matches(';'))
}

fn apart(f: &mut fmt::Formatter<'_>, name: &str, compared: &Compared) -> fmt::Result {
    match (
        compared.request_difference_p95,
        compared.request_difference_max,
    ) {
        (Some(p95), Some(max)) => {
            writeln!(
                f,
                "  {name:<12} within {} ms for 95 in 100, at most {} ms (n = {})",
                ms(p95),
                ms(max),
                compared.n
            )
        }
        _ => writeln!(f, "  {name:<12} of no request"),
    }
}

fn counts(f: &mut fmt::Formatter<'_>, requests: &Requests) -> fmt::Result {
    let Requests {
        sent,
        answered,
        left_early,
        failed,
        in_flight_left,
        held_back,
        ..
    } = requests;
    writeln!(
        f,
        "\nRequests: {sent} sent: {answered} answered, {left_early} left early by their clients, {failed} failed, \
         {in_flight_left} still in flight; {held_back} held back."
    )?;
    let Requests {
        records,
        truths,
        paired,
        unpaired,
        not_kept,
        ..
    } = requests;
    write!(
        f,
        "Records: {records}, truths: {truths}; {paired} found each other, {unpaired} did not."
    )?;
    if *not_kept > 0 {
        write!(
            f,
            " The figures of {not_kept} are in the counts and the gaps only: {} are kept.",
            requests.kept_most
        )?;
    }
    let Requests {
        tokens_received,
        tokens_reported,
        tokens_true,
        ..
    } = requests;
    writeln!(
        f,
        "\nOutput tokens: {tokens_received} received, {tokens_reported} reported, {tokens_true} true."
    )
}

fn outcomes(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    let outcomes: Vec<String> = report
        .outcomes
        .iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    writeln!(f, "Outcomes: {}.", outcomes.join(", "))
}

/// What the machine did to all of this.
fn machine(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    let Report {
        process, control, ..
    } = report;
    if let (Some(p50), Some(p95)) = (control.hop.p50, control.hop.p95) {
        writeln!(
            f,
            "The machine meanwhile: a message over a bare socket took {} ms (p50), {} ms (p95), at most {} ms (n = {}).",
            ms(p50),
            ms(p95),
            ms(control.max),
            control.n
        )?;
    }
    if let (Some(cpu), Some(wait)) = (process.cpu_seconds, process.cpu_wait_seconds) {
        writeln!(
            f,
            "CPU: {cpu:.2} s used; ready to run but kept waiting by others: {wait:.2} s."
        )?;
    }
    Ok(())
}

fn verdict(f: &mut fmt::Formatter<'_>, agreement: &Agreement) -> fmt::Result {
    let Agreement {
        limit,
        ttft_p95_difference,
        gap_p95_difference,
        gap_p95_resolution,
        agrees,
    } = *agreement;
    let (Some(ttft), Some(gap), Some(resolution), Some(agrees)) = (
        ttft_p95_difference,
        gap_p95_difference,
        gap_p95_resolution,
        agrees,
    ) else {
        return writeln!(
            f,
            "\nCould not tell whether reported and true agree: too little was answered."
        );
    };
    let verdict = if agrees { "agree" } else { "DO NOT agree" };
    writeln!(
        f,
        "\nReported and true {verdict}: the p95 of TTFT differs by {} ms, that of gaps by {} ms, of which {} ms may be the\n\
         resolution of the proxy's histogram of gaps; {} ms is the limit.",
        signed_ms(ttft),
        signed_ms(gap),
        ms(resolution),
        ms(limit)
    )
}

fn ms(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

fn signed_ms(seconds: f64) -> String {
    format!("{:+.3}", seconds * 1e3)
}

#[cfg(test)]
mod tests;
