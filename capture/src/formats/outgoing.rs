//! Rows, made ready for another tool's file: put on one time line, rounded, renumbered, and what can't go out counted.
//!
//! Hashes and sessions leave as small numbers by order of first sight. Holds in memory what a file can say of each row
//! (some 200 bytes and its hashes), since files of arrivals are sorted and captures of many pods are not.

use std::collections::{BTreeMap, HashMap};

use super::blocks::{BlockSize, Captured, Renumbering};
use super::{Entry, FormatError, Text};
use crate::{About, Level, Row, Timeline, Unit};

/// Times leave rounded to this.
const TIME_GRID_NS: u64 = 10_000_000;
/// Inclusive upper ends of the ranges that lengths are rounded within.
const LENGTHS: [u64; 14] = [
    15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 8191, 16383, 32767, 65535, 131_071,
];

/// How exact the figures of a file are. Rare lengths and exact times can be linked with other logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Rounding {
    /// As captured, as far as the format can say it.
    None,
    /// Times to 10 ms, lengths as captured: right for a replay of one's own.
    #[default]
    Times,
    /// Times to 10 ms and without a date, lengths to the middle of 15 ranges that double: for a file that others get.
    Full,
}

/// What a format asks of the rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) blocks: Option<BlockSize>,
    pub(super) rounding: Rounding,
}

/// What is known of the ids in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefixes {
    /// The format has no ids.
    NotSaid,
    /// Equal ids are equal tokens.
    Exact,
    /// Blocks were captured in bytes, and told in tokens by the mean of bytes a token.
    Approximate,
    /// The capture has no hashes: every id is new, and nothing is shared.
    Unknown,
}

/// Rows on their way out.
#[derive(Debug)]
pub struct Outgoing {
    wish: Wish,
    timeline: Timeline,
    about: Option<About>,
    waiting: Vec<Waiting>,
    left_out: BTreeMap<&'static str, u64>,
    rows: u64,
    /// Rows with an output length that is a lower bound.
    lower_bounds: u64,
    /// Units and tokens of prompts with both.
    measured: (u64, u64),
}

/// What goes out, ready to be written. Entries are in order of arrival, the first at 0.
#[derive(Debug)]
pub struct Trace {
    /// The exchanges.
    pub entries: Vec<Entry>,
    /// First arrival, µs after 1970-01-01 UTC; 0 where the date is not told.
    pub start_us: i64,
    /// The capture, by its first segment.
    pub about: About,
    /// What is known of the ids.
    pub prefixes: Prefixes,
    /// How exact it is.
    pub rounding: Rounding,
    /// Rows that were read.
    pub rows: u64,
    /// Rows that can't go out, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Entries whose output length is a lower bound: the answer was cut, or never counted.
    pub lower_bounds: u64,
}

#[derive(Debug)]
struct Waiting {
    at_ns: i64,
    end_ns: i64,
    session: Option<u64>,
    hashes: Vec<u64>,
    entry: Entry,
}

impl Outgoing {
    pub(super) fn new(wish: Wish) -> Self {
        Self {
            wish,
            timeline: Timeline::default(),
            about: None,
            waiting: Vec::new(),
            left_out: BTreeMap::new(),
            rows: 0,
            lower_bounds: 0,
            measured: (0, 0),
        }
    }

    /// Takes a row, in any order, with its text if there is one.
    ///
    /// # Errors
    /// If its hashes can't be compared with those before.
    pub fn take(&mut self, about: &About, row: Row, text: Option<Text>) -> Result<(), FormatError> {
        self.rows += 1;
        self.same_blocks(about)?;
        let at_ns = self.timeline.at_ns(about, &row);
        let output = row
            .output_tokens
            .or_else(|| Some(row.output_tokens_min).filter(|least| *least > 0));
        if let Some(reason) = unsuitable(&row, output) {
            *self.left_out.entry(reason).or_default() += 1;
            return Ok(());
        }
        if row.output_tokens.is_none() {
            self.lower_bounds += 1;
        }
        if let (Some(units), Some(tokens), false) =
            (row.prompt_units, row.input_tokens, row.blocks.is_empty())
        {
            self.measured = (self.measured.0 + units, self.measured.1 + tokens);
        }
        let end = i64::try_from(row.end_ns).unwrap_or(i64::MAX);
        self.waiting.push(Waiting {
            at_ns,
            end_ns: at_ns.saturating_add(end),
            session: row.session,
            entry: Entry {
                text,
                output,
                ..entry(&row)
            },
            hashes: if self.wish.blocks.is_some() {
                row.blocks
            } else {
                Vec::new()
            },
        });
        Ok(())
    }

    /// All rows were taken.
    ///
    /// # Errors
    /// If none can go out, or if their blocks are of a size that the format's is no multiple of.
    pub fn finish(mut self) -> Result<Trace, FormatError> {
        let about = self.about.take();
        let (Some(about), Some(first_ns)) = (about, self.waiting.iter().map(|row| row.at_ns).min())
        else {
            return Err(FormatError::Nothing {
                rows: self.rows,
                why: reasons(&self.left_out),
            });
        };
        let (captured, prefixes) = self.captured(&about)?;
        self.waiting.sort_by_key(|row| row.at_ns);
        let mut departures = Departures {
            wish: self.wish,
            captured,
            first_ns,
            ids: Renumbering::default(),
            sessions: HashMap::new(),
        };
        let entries = self
            .waiting
            .into_iter()
            .map(|row| departures.entry(row))
            .collect();
        Ok(Trace {
            entries,
            start_us: if self.wish.rounding == Rounding::Full {
                0
            } else {
                first_ns.div_euclid(1000)
            },
            about,
            prefixes,
            rounding: self.wish.rounding,
            rows: self.rows,
            left_out: self.left_out,
            lower_bounds: self.lower_bounds,
        })
    }

    fn same_blocks(&mut self, about: &About) -> Result<(), FormatError> {
        let Some(first) = &self.about else {
            self.about = Some(about.clone());
            return Ok(());
        };
        let mixed = |what, one: String, other: String| Err(FormatError::Mixed { what, one, other });
        if first.key != about.key {
            return mixed(
                "the key of their hashes",
                first.key.clone(),
                about.key.clone(),
            );
        }
        if (first.unit, first.block) != (about.unit, about.block) {
            let said = |about: &About| format!("{} {:?}", about.block, about.unit).to_lowercase();
            return mixed("the size of their blocks", said(first), said(about));
        }
        Ok(())
    }

    /// How the captured blocks are told in the format's.
    fn captured(&self, about: &About) -> Result<(Captured, Prefixes), FormatError> {
        let (units, tokens) = self.measured;
        let captured = |units_per_token| Captured {
            block: about.block.max(1),
            units_per_token,
        };
        let Some(wanted) = self.wish.blocks else {
            return Ok((captured(1.0), Prefixes::NotSaid));
        };
        if about.level < Level::Prefix || tokens == 0 {
            return Ok((captured(1.0), Prefixes::Unknown));
        }
        match about.unit {
            Unit::Bytes => Ok((
                captured(units as f64 / tokens as f64),
                Prefixes::Approximate,
            )),
            Unit::Tokens if wanted.tokens.is_multiple_of(about.block.max(1)) => {
                Ok((captured(1.0), Prefixes::Exact))
            }
            Unit::Tokens => Err(FormatError::Blocks {
                have: about.block,
                want: wanted.tokens,
            }),
        }
    }
}

/// What makes entries of rows in order of arrival.
struct Departures {
    wish: Wish,
    captured: Captured,
    first_ns: i64,
    ids: Renumbering,
    /// Small number, turns so far and the end of the latest, of each session.
    sessions: HashMap<u64, (u64, u32, i64)>,
}

impl Departures {
    fn entry(&mut self, row: Waiting) -> Entry {
        let Waiting {
            at_ns,
            end_ns,
            session,
            hashes,
            mut entry,
        } = row;
        let rounding = self.wish.rounding;
        entry.at_ns = time(rounding, at_ns.saturating_sub(self.first_ns).unsigned_abs());
        entry.input = entry.input.map(|tokens| length(rounding, tokens));
        entry.output = entry.output.map(|tokens| length(rounding, tokens));
        entry.ttft_ns = entry.ttft_ns.map(|ns| time(rounding, ns));
        entry.e2e_ns = entry.e2e_ns.map(|ns| time(rounding, ns));
        if let Some(session) = session {
            self.join(session, &mut entry, (at_ns, end_ns));
        } else {
            (entry.turn, entry.think_ns) = (None, None);
        }
        entry.think_ns = entry.think_ns.map(|ns| time(rounding, ns));
        if let (Some(blocks), Some(tokens)) = (self.wish.blocks, entry.input) {
            entry.ids = self.ids.ids(&hashes, tokens, (self.captured, blocks));
        }
        entry
    }

    /// Puts the entry after the turns of its session that go out before it.
    fn join(&mut self, session: u64, entry: &mut Entry, (at_ns, end_ns): (i64, i64)) {
        let next = self.sessions.len() as u64;
        let (number, turns, ended) = self.sessions.entry(session).or_insert((next, 0, 0));
        *turns += 1;
        let waited = at_ns.saturating_sub(*ended).max(0).unsigned_abs();
        entry.session = Some(*number);
        entry.turn = Some(*turns);
        entry.think_ns = (*turns > 1).then(|| entry.think_ns.unwrap_or(waited));
        *ended = end_ns.max(*ended);
    }
}

/// Why a row can't be told in any file of requests.
fn unsuitable(row: &Row, output: Option<u64>) -> Option<&'static str> {
    if row.never_sent() {
        Some("never sent to the engine")
    } else if row.input_tokens.is_none() {
        Some("prompt length in tokens not known")
    } else if output.is_none() {
        Some("no output token known")
    } else {
        None
    }
}

fn entry(row: &Row) -> Entry {
    Entry {
        turn: row.turn,
        think_ns: row.think_ns,
        model: row.model.clone(),
        stream: row.stream,
        input: row.input_tokens,
        ttft_ns: row.ttft_ns(),
        e2e_ns: row.e2e_ns(),
        tpot_ns: row.tpot_ns(),
        failed: !row.is_ok() && row.outcome != "unknown",
        images: row.images,
        ..Entry::default()
    }
}

pub(super) fn reasons(left_out: &BTreeMap<&'static str, u64>) -> String {
    let said: Vec<String> = left_out
        .iter()
        .map(|(reason, count)| format!("{count}: {reason}"))
        .collect();
    if said.is_empty() {
        "there are none".to_owned()
    } else {
        said.join("; ")
    }
}

fn time(rounding: Rounding, ns: u64) -> u64 {
    if rounding == Rounding::None {
        return ns;
    }
    ns.saturating_add(TIME_GRID_NS / 2) / TIME_GRID_NS * TIME_GRID_NS
}

/// The middle of the range that a length lies in; above all, 131,072. 0 stays.
fn length(rounding: Rounding, tokens: u64) -> u64 {
    if rounding != Rounding::Full || tokens == 0 {
        return tokens;
    }
    let above = LENGTHS.partition_point(|end| *end < tokens);
    let least = above
        .checked_sub(1)
        .and_then(|at| LENGTHS.get(at))
        .map_or(1, |end| end + 1);
    LENGTHS.get(above).map_or(least, |end| least.midpoint(*end))
}

#[cfg(test)]
mod tests;
