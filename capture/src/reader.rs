//! Many segments as one capture: of one file, of a pod, of a fleet.
//!
//! The rows of a pod's capture come in the order of their arrivals, also where they were written to a later segment because
//! they took long. Captures of several pods are merged by the wall clock. Of each segment that is being read a batch of
//! rows is in memory, and a segment is opened when the first of its rows is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use crate::error::Error;
use crate::row::Row;
use crate::segment::{self, Rows, Segment};

/// Segments that are read at once.
const OPEN_MAX: usize = 1024;

/// A row, and where it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// Its segment: an index into [`Reader::segments`].
    pub segment: usize,
    /// The row.
    pub row: Row,
}

/// The rows of a folder or a file, in order.
#[derive(Debug)]
pub struct Reader {
    segments: Vec<Segment>,
    captures: Vec<Capture>,
    /// The next row of each capture, by the wall clock.
    due: BinaryHeap<Reverse<(i64, usize)>>,
    failed: Option<Error>,
}

/// The segments of one capture of one pod, merged by arrival.
#[derive(Debug)]
struct Capture {
    /// Those that aren't open yet, the one with the latest first arrival first.
    waiting: Vec<usize>,
    open: Vec<Source>,
    /// The next row of each open segment, by arrival.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    next: Option<Located>,
}

#[derive(Debug)]
struct Source {
    segment: usize,
    /// `None` once it has ended.
    rows: Option<Rows>,
    head: Option<Row>,
}

impl Reader {
    /// Finds the segments of a folder, or takes one file, and reads what they say of themselves.
    ///
    /// # Errors
    /// The folder can't be listed, has no segment, or has one that can't be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let paths = segment::paths(path)?;
        if paths.is_empty() {
            return Err(Error::file(
                path,
                "there is no segment in it: captures lie at date=…/hour=…/pod=…/segment-….parquet",
            ));
        }
        let mut segments = paths
            .iter()
            .map(|path| Segment::open(path))
            .collect::<Result<Vec<_>, _>>()?;
        segments.sort_by(|a, b| key(a).cmp(&key(b)));
        let mut captures: Vec<Capture> = Vec::new();
        for (index, segment) in segments.iter().enumerate() {
            let goes_on = index > 0 && same_capture(&segments[index - 1], segment);
            match captures.last_mut().filter(|_| goes_on) {
                Some(capture) => capture.waiting.push(index),
                None => captures.push(Capture::new(index)),
            }
        }
        let mut reader = Self {
            segments,
            captures,
            due: BinaryHeap::new(),
            failed: None,
        };
        for index in 0..reader.captures.len() {
            let first = |segment: &usize| Reverse(reader.segments[*segment].seal.first_arrival_ns);
            reader.captures[index].waiting.sort_by_key(first);
            reader.fetch(index)?;
        }
        Ok(reader)
    }

    /// What is read: by pod, capture and number.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    fn fetch(&mut self, capture: usize) -> Result<(), Error> {
        if let Some(wall_us) = self.captures[capture].fetch(&self.segments)? {
            self.due.push(Reverse((wall_us, capture)));
        }
        Ok(())
    }
}

impl Iterator for Reader {
    type Item = Result<Located, Error>;

    /// The next row. After an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(why) = self.failed.take() {
            self.due.clear();
            return Some(Err(why));
        }
        let Reverse((_, capture)) = self.due.pop()?;
        let row = self.captures[capture].next.take();
        if let Err(why) = self.fetch(capture) {
            self.failed = Some(why);
        }
        row.map(Ok)
    }
}

impl Capture {
    fn new(segment: usize) -> Self {
        Self {
            waiting: vec![segment],
            open: Vec::new(),
            due: BinaryHeap::new(),
            next: None,
        }
    }

    /// Puts the next row into `next`, and returns its wall clock.
    fn fetch(&mut self, segments: &[Segment]) -> Result<Option<i64>, Error> {
        self.open_due(segments)?;
        let Some(Reverse((_, at))) = self.due.pop() else {
            return Ok(None);
        };
        let source = &mut self.open[at];
        let segment = source.segment;
        let row = source.head.take();
        self.advance(at)?;
        self.next = row.map(|row| Located { segment, row });
        Ok(self.next.as_ref().map(|next| next.row.wall_us))
    }

    /// Opens each segment that may hold the next row.
    fn open_due(&mut self, segments: &[Segment]) -> Result<(), Error> {
        while let Some(segment) = self.waiting.last().copied() {
            let first = segments[segment].seal.first_arrival_ns;
            let earliest = self.due.peek().map(|Reverse((arrival, _))| *arrival);
            if earliest.is_some_and(|earliest| first.is_some_and(|first| first > earliest)) {
                break;
            }
            self.waiting.pop();
            let rows = Some(segments[segment].rows()?);
            if self.due.len() >= OPEN_MAX {
                let why = format!("more than {OPEN_MAX} segments overlap in time");
                return Err(Error::file(&segments[segment].path, why));
            }
            self.open.push(Source {
                segment,
                rows,
                head: None,
            });
            self.advance(self.open.len() - 1)?;
        }
        Ok(())
    }

    fn advance(&mut self, at: usize) -> Result<(), Error> {
        let source = &mut self.open[at];
        source.head = source.rows.as_mut().and_then(Iterator::next).transpose()?;
        match &source.head {
            Some(row) => self.due.push(Reverse((row.arrival_ns, at))),
            None => source.rows = None,
        }
        Ok(())
    }
}

fn key(segment: &Segment) -> (&str, &str, u64) {
    let about = &segment.about;
    (&about.pod, &about.capture, about.segment)
}

fn same_capture(a: &Segment, b: &Segment) -> bool {
    a.about.pod == b.about.pod && a.about.capture == b.about.capture
}
