//! What was measured, as it is printed.

use crate::calibrate::Subject;
use crate::quantile::Quantile;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::fmt;

/// The result of a calibration. Times in microseconds, memory in bytes; a quantity that was not measured is `null`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Which proxy.
    pub proxy: String,
    /// One for each number of streams.
    pub levels: Vec<Level>,
}

/// What was measured at one number of streams.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// Streams open at once.
    pub streams: u32,
    /// What the backend wrote for `first` and `later`: its script.
    pub script: String,
    /// What the backend wrote for `bursts`.
    pub burst_script: String,
    /// Events a second over all streams, on average, by the script.
    pub events_per_second: f64,
    /// Events that were paired.
    pub events: u64,
    /// The first event of each stream.
    pub first: Added,
    /// The others.
    pub later: Added,
    /// Events of bursts, several in one write.
    pub bursts: Added,
    /// CPU time of the proxy's process for one event, in microseconds: all of its work divided by the events it passed.
    pub cpu_per_event_us: Option<f64>,
    /// Reported beside true.
    pub own: Option<Own>,
    /// Memory of the proxy's process.
    pub memory: Option<Memory>,
}

/// From the backend's write to the client's read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Added {
    /// Around the proxy.
    pub direct_us: Spread,
    /// Through it.
    pub through_us: Spread,
    /// Through it less around it, for each event with the same number of the same stream.
    pub added_us: Spread,
}

/// Values by nearest rank. A quantile that rests on too few is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// How many.
    pub n: usize,
    /// Half are at most this; from 20 values on.
    pub p50: Option<f64>,
    /// 99 in 100 are at most this; from 500 values on.
    pub p99: Option<f64>,
    /// The largest.
    pub max: f64,
}

/// The error of the times that the proxy reports: reported less true, without sign.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Own {
    /// Requests compared.
    pub requests: u64,
    /// Of the first token's stamp.
    pub first_token_us: Spread,
    /// Of TTFT as a span, from the request's last byte to the first token: the engine has the request a little later than
    /// it is written, so this holds the way to the engine too.
    pub ttft_us: Spread,
    /// Of the longest gap of each request.
    pub longest_gap_us: Spread,
    /// Of the sum of the gaps of each request.
    pub gaps_sum_us: Spread,
}

/// What the proxy's process holds beyond its idle state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Memory {
    /// For each idle connection.
    pub idle_connection_bytes: i64,
    /// For each stream that waits for its next token.
    pub open_stream_bytes: i64,
    /// For each stream whose client reads nothing.
    pub stalled_stream_bytes: i64,
}

pub(super) fn subject(proxy: &Subject) -> String {
    match proxy {
        Subject::Ours(_) => "loadproof proxy, a process of its own".to_owned(),
        Subject::Other(address) => format!("http://{address}"),
    }
}

impl Spread {
    /// Of values in nanoseconds; `None` of none.
    pub(crate) fn of(mut ns: Vec<i64>) -> Option<Self> {
        ns.sort_unstable();
        Some(Self {
            n: ns.len(),
            p50: Quantile::P50.stated(&ns).map(per_thousand),
            p99: Quantile::P99.stated(&ns).map(per_thousand),
            max: per_thousand(*ns.last()?),
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a difference of two stamps of one run, or bytes, far below 2⁵³"
)]
fn per_thousand(whole: i64) -> f64 {
    whole as f64 / 1e3
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Proxy: {}\n", self.proxy)?;
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "streams",
            "events/s",
            "",
            "n",
            "direct\np50",
            "\np99",
            "through\np50",
            "\np99",
            "added\np50",
            "\np99",
            "\nmax",
        ]);
        for level in &self.levels {
            let rows = [
                ("first", &level.first),
                ("later", &level.later),
                ("bursts", &level.bursts),
            ];
            for (which, added) in rows {
                table.add_row(row(level, which, added));
            }
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(
            f,
            "From the backend's write to the client's read, in µs: first and later events of a stream, events of bursts:\n{table}"
        )?;
        self.levels.iter().try_for_each(|level| level.rest(f))?;
        write!(
            f,
            "\nAdded: through less around, for the event with the same number of the same stream, taken in turns on the same\n\
             machine. Quantiles by nearest rank."
        )
    }
}

impl Level {
    /// What the table has no room for.
    fn rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\n{} streams: {} events paired",
            self.streams, self.events
        )?;
        if let Some(cpu) = self.cpu_per_event_us {
            write!(f, "; CPU {cpu:.1} µs an event")?;
        }
        if let Some(Memory {
            idle_connection_bytes: idle,
            open_stream_bytes: open,
            stalled_stream_bytes: stalled,
        }) = self.memory
        {
            write!(
                f,
                "; memory {} KiB an idle connection, {} KiB an open stream, {} KiB a stalled one",
                kib(idle),
                kib(open),
                kib(stalled)
            )?;
        }
        if let Some(own) = &self.own {
            write!(
                f,
                "\n  reported less true, p50 / p99 / max µs of {} requests: first token {}, TTFT {}, longest gap {}, sum of gaps {}",
                own.requests, own.first_token_us, own.ttft_us, own.longest_gap_us, own.gaps_sum_us
            )?;
        }
        writeln!(f)
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} / {} / {}",
            stated(self.p50),
            stated(self.p99),
            number(self.max)
        )
    }
}

fn row(level: &Level, which: &str, added: &Added) -> Vec<String> {
    let Added {
        direct_us,
        through_us,
        added_us,
    } = added;
    let mut row = vec![
        level.streams.to_string(),
        format!("{:.0}", level.events_per_second),
        which.to_owned(),
        added_us.n.to_string(),
    ];
    row.extend(
        [direct_us, through_us, added_us]
            .iter()
            .flat_map(|side| [stated(side.p50), stated(side.p99)]),
    );
    row.push(number(added_us.max));
    row
}

fn stated(us: Option<f64>) -> String {
    us.map_or_else(|| "n too small".to_owned(), number)
}

fn kib(bytes: i64) -> String {
    format!("{:.1}", per_thousand(bytes) / 1.024)
}

fn number(us: f64) -> String {
    format!("{us:.0}")
}
