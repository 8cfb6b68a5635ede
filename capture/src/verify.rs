//! Whether a capture is whole: hashes from segment to segment, numbers without holes, rows counted, and what is missing.
//!
//! Every file is read to its last row. The hashes have no key: they show loss and accident, not a forger.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::chain::Chain;
use crate::error::{Doing, Error};
use crate::folder::STATE;
use crate::log::Found;
use crate::row::Count;
use crate::seal::SealedBy;
use crate::sealing;
use crate::segment::{self, Segment};
use crate::texts;

/// What was found in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Nothing is missing and nothing was changed.
    pub whole: bool,
    /// Each capture of each pod.
    pub captures: Vec<VerifiedCapture>,
    /// Files that are no segment that can be read, with what is wrong.
    pub unreadable: Vec<String>,
}

/// How a capture ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// As it was meant to.
    Closed,
    /// Its process died; what it had flushed is there.
    Died,
    /// It has an open log: it goes on, or died and nothing started there since.
    Open,
    /// The last segment there is says that others follow, and no note says whether one did.
    Unknown,
}

/// One capture of one pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedCapture {
    /// The pod.
    pub pod: String,
    /// The capture's name.
    pub capture: String,
    /// Segments that are there.
    pub segments: u64,
    /// Rows in them.
    pub rows: u64,
    /// Rows in the open log.
    pub rows_open: u64,
    /// Rows that were deleted by age or for space, with the segments before the first that is there.
    pub rows_expired: u64,
    /// Rows that were erased.
    pub rows_erased: u64,
    /// Rows that were never kept, by reason.
    pub dropped: Vec<Count>,
    /// Bytes of logs that were no whole record when the process died.
    pub torn_bytes: u64,
    /// How it ended.
    pub ending: Ending,
    /// What is missing or was changed.
    pub faults: Vec<String>,
}

/// Reads a folder of captures, or one segment, and says whether all is there.
///
/// # Errors
/// The folder can't be listed, or there is no capture in it.
pub fn verify(path: &Path) -> Result<Verified, Error> {
    let mut chains: BTreeMap<(String, String), Vec<Segment>> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for file in segment::paths(path)? {
        match Segment::open(&file) {
            Ok(segment) => {
                let key = (segment.about.pod.clone(), segment.about.capture.clone());
                chains.entry(key).or_default().push(segment);
            }
            Err(why) => unreadable.push(why.in_full()),
        }
    }
    let mut notes = BTreeMap::new();
    let mut logs: BTreeMap<(String, String), Found> = BTreeMap::new();
    for (pod, state) in states(path)? {
        for note in Chain::all(path, &pod) {
            let key = (pod.clone(), note.capture.clone());
            chains.entry(key.clone()).or_default();
            notes.insert(key, note);
        }
        for log in logs_in(&state)? {
            match Found::open(&log) {
                Ok(Some(found)) => {
                    let about = &found.header.about;
                    let key = (about.pod.clone(), about.capture.clone());
                    chains.entry(key.clone()).or_default();
                    logs.insert(key, found);
                }
                Ok(None) => {}
                Err(why) => unreadable.push(why.in_full()),
            }
        }
    }
    if chains.is_empty() && unreadable.is_empty() {
        return Err(Error::file(path, "there is no capture in it"));
    }
    let captures: Vec<_> = chains
        .into_iter()
        .map(|(key, mut segments)| {
            segments.sort_by_key(|segment| segment.about.segment);
            // A log whose segment is there is only waiting to be deleted.
            let sealed = |log: &&Found| {
                let number = log.header.about.segment;
                segments
                    .iter()
                    .any(|segment| segment.about.segment == number)
            };
            let parts = Parts {
                alone: path.is_file(),
                note: notes.get(&key),
                log: logs.get(&key).filter(|log| !sealed(log)),
                segments: &segments,
            };
            parts.check(key.0, key.1)
        })
        .collect();
    let whole = unreadable.is_empty() && captures.iter().all(|capture| capture.faults.is_empty());
    Ok(Verified {
        whole,
        captures,
        unreadable,
    })
}

/// The pods that have a folder of logs, and that folder.
fn states(root: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let state = root.join(STATE);
    if !state.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&state).doing("list", &state)? {
        let path = entry.doing("list", &state)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(pod) = name.and_then(|name| name.strip_prefix("pod=")) {
            found.push((pod.to_owned(), path.clone()));
        }
    }
    Ok(found)
}

fn logs_in(state: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(state).doing("list", state)? {
        let path = entry.doing("list", state)?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            found.push(path);
        }
    }
    Ok(found)
}

/// All that there is of one capture.
struct Parts<'a> {
    /// One file was asked for: what lies around it is not looked at.
    alone: bool,
    note: Option<&'a Chain>,
    log: Option<&'a Found>,
    segments: &'a [Segment],
}

impl Parts<'_> {
    fn check(&self, pod: String, capture: String) -> VerifiedCapture {
        let mut faults = Vec::new();
        let mut rows = 0;
        let mut hash = String::new();
        for (index, segment) in self.segments.iter().enumerate() {
            let before = index
                .checked_sub(1)
                .and_then(|index| self.segments.get(index));
            self.check_link(before, segment, &hash, &mut faults);
            match count(segment) {
                Ok(found) => rows += found,
                Err(why) => faults.push(why.in_full()),
            }
            match sealing::sha256(&segment.path) {
                Ok(found) => hash = found,
                Err(why) => faults.push(why.in_full()),
            }
            faults.extend(texts::fault(segment));
        }
        self.check_end(&hash, &mut faults);
        let seals = || self.segments.iter().map(|segment| &segment.seal);
        VerifiedCapture {
            pod,
            capture,
            segments: self.segments.len() as u64,
            rows,
            rows_open: self.log.map_or(0, |log| log.entries.len() as u64),
            rows_expired: seals().next().map_or(0, |first| first.rows_before),
            rows_erased: seals()
                .flat_map(|seal| &seal.replaced)
                .map(|replaced| replaced.erased)
                .sum(),
            dropped: sum_dropped(self.segments),
            torn_bytes: seals().map(|seal| seal.torn_bytes).sum(),
            ending: self.ending(),
            faults,
        }
    }

    /// `hash` is that of the file before.
    fn check_link(
        &self,
        before: Option<&Segment>,
        segment: &Segment,
        hash: &str,
        faults: &mut Vec<String>,
    ) {
        let number = segment.about.segment;
        let due = before.map_or_else(
            || self.note.map_or(0, |note| note.first),
            |before| before.about.segment + 1,
        );
        if number > due && !self.alone {
            faults.push(format!("segments {due} to {} are missing", number - 1));
        }
        let Some(before) = before.filter(|_| number == due) else {
            if before.is_some_and(|before| before.about.segment == number) {
                faults.push(format!("segment {number} is there twice"));
            }
            return;
        };
        if !stood_for(before, hash, &segment.about.previous) {
            faults.push(format!(
                "segment {number} goes on from another file than {}: that one was changed after it was sealed",
                before.path.display()
            ));
        }
        let erased: u64 = before
            .seal
            .replaced
            .iter()
            .map(|replaced| replaced.erased)
            .sum();
        if before.seal.rows_before + before.seal.rows + erased != segment.seal.rows_before {
            faults.push(format!(
                "segment {number} says that {} rows came before it, and the one before it ends with another number",
                segment.seal.rows_before
            ));
        }
    }

    fn check_end(&self, hash: &str, faults: &mut Vec<String>) {
        let Some(note) = self.note.filter(|_| !self.alone) else {
            return;
        };
        let Some(last) = self.segments.last() else {
            if note.next > note.first {
                faults.push(format!(
                    "segments {} to {} are missing",
                    note.first,
                    note.next - 1
                ));
            }
            return;
        };
        let there = last.about.segment + 1;
        if there < note.next {
            faults.push(format!("segments {there} to {} are missing", note.next - 1));
        }
        if there == note.next && !stood_for(last, hash, &note.last) {
            faults.push(format!(
                "{} was changed after it was sealed",
                last.path.display()
            ));
        }
    }

    fn ending(&self) -> Ending {
        let by = self.segments.last().map(|last| last.seal.by);
        match by {
            Some(SealedBy::Closed) => Ending::Closed,
            Some(SealedBy::Recovered) => Ending::Died,
            _ if self.log.is_some() => Ending::Open,
            _ if self.note.is_some_and(|note| note.ended) => Ending::Died,
            _ if self.note.is_some() => Ending::Open,
            _ => Ending::Unknown,
        }
    }
}

/// Whether a segment's file has this hash, or stands in for one that had.
fn stood_for(segment: &Segment, hash: &str, named: &str) -> bool {
    let replaced = &segment.seal.replaced;
    hash == named || replaced.iter().any(|replaced| replaced.sha256 == named)
}

fn count(segment: &Segment) -> Result<u64, Error> {
    segment
        .rows()?
        .try_fold(0, |rows, row| row.map(|_| rows + 1))
}

fn sum_dropped(segments: &[Segment]) -> Vec<Count> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for Count { kind, count } in segments.iter().flat_map(|segment| &segment.seal.dropped) {
        *sums.entry(kind).or_default() += count;
    }
    let counts = sums.into_iter();
    counts
        .map(|(kind, count)| Count {
            kind: kind.into(),
            count,
        })
        .collect()
}

impl fmt::Display for Verified {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for capture in &self.captures {
            write!(out, "{capture}")?;
        }
        for why in &self.unreadable {
            writeln!(out, "unreadable: {why}")?;
        }
        let verdict = if self.whole { "whole" } else { "not whole" };
        writeln!(out, "{verdict}")
    }
}

impl fmt::Display for VerifiedCapture {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match self.ending {
            Ending::Closed => "closed",
            Ending::Died => {
                "ended by the death of its process: what wasn't flushed then is missing"
            }
            Ending::Open => "open",
            Ending::Unknown => "its end is not known",
        };
        writeln!(out, "pod {}, capture {}: {ending}", self.pod, self.capture)?;
        writeln!(out, "  {} rows in {} segments", self.rows, self.segments)?;
        let more = [
            (self.rows_open, "rows in the open log"),
            (self.rows_expired, "rows expired before the first segment"),
            (self.rows_erased, "rows erased"),
            (
                self.torn_bytes,
                "bytes of a log were no whole record, and are gone",
            ),
        ];
        for (count, what) in more.iter().filter(|(count, _)| *count > 0) {
            writeln!(out, "  {count} {what}")?;
        }
        for Count { kind, count } in &self.dropped {
            writeln!(out, "  {count} rows dropped: {kind}")?;
        }
        for fault in &self.faults {
            writeln!(out, "  fault: {fault}")?;
        }
        Ok(())
    }
}
