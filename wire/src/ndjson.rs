//! Framing of a body with one JSON object a line, by bytes, without sockets.
//!
//! A line ends with LF; white space around the object goes. A line that is no whole JSON object is no event: it is dropped
//! and counted, unless it is blank. At the end of the body a whole object counts without its line end.
//!
//! Invariants: as of [`crate::sse`]. The frames depend on the bytes, never on how they were cut into pushes (only
//! [`Frame::early`] does); what lies whole inside one push is borrowed from it; a line is limited by
//! [`crate::limits::LINE_BYTES`].

#![deny(clippy::indexing_slicing)]

use crate::sse::{Field, Frame};
use crate::{json, limits};
use memchr::memchr;

/// Cuts a body into objects.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Length of the pending object when a push left it whole.
    whole: Option<usize>,
    dropped: u64,
    oversize: bool,
}

impl Lines {
    /// Takes the next bytes of the body and hands on each object that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Frame<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest).filter(|_| !self.oversize) {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            if self.line.len() + line.len() > limits::LINE_BYTES {
                return self.stop();
            }
            if self.line.is_empty() {
                self.on_line(line, &mut each);
            } else {
                self.line.extend_from_slice(line);
                self.on_carried_line(&mut each);
            }
        }
        if self.oversize || self.line.len() + rest.len() > limits::LINE_BYTES {
            return self.stop();
        }
        self.line.extend_from_slice(rest);
        if !rest.is_empty() {
            self.whole = object(&self.line).map(<[u8]>::len);
        }
    }

    /// Takes the end of the body and hands on an object without its line end.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(Frame<'_>)) {
        self.on_carried_line(&mut each);
    }

    /// Whether the pending line is a whole object, so that nothing but its end is missing.
    pub(crate) fn pending_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Lines so far that were neither blank nor an object.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// A line was longer than [`limits::LINE_BYTES`]; nothing comes out any more.
    pub(crate) fn is_oversize(&self) -> bool {
        self.oversize
    }

    fn on_carried_line(&mut self, each: &mut impl FnMut(Frame<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        self.on_line(&line, each);
        line.clear();
        self.line = line;
    }

    fn on_line(&mut self, line: &[u8], each: &mut impl FnMut(Frame<'_>)) {
        let whole = self.whole.take();
        match object(line) {
            Some(data) => each(Frame {
                data,
                field: Field::Data,
                early: whole == Some(data.len()),
            }),
            None => self.dropped += u64::from(!line.trim_ascii().is_empty()),
        }
    }

    fn stop(&mut self) {
        *self = Self {
            dropped: self.dropped,
            oversize: true,
            ..Self::default()
        };
    }
}

/// The object that a line is, without white space around it.
fn object(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    (line.first() == Some(&b'{') && json::is_whole(line)).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects, with whether they were early, and what was dropped.
    fn read(pushes: &[&str]) -> (Vec<(String, bool)>, u64) {
        let (mut lines, mut objects) = (Lines::default(), Vec::new());
        let mut take = |frame: Frame<'_>| {
            objects.push((
                String::from_utf8_lossy(frame.data).into_owned(),
                frame.early,
            ));
        };
        pushes
            .iter()
            .for_each(|push| lines.push(push.as_bytes(), &mut take));
        lines.finish(&mut take);
        (objects, lines.dropped())
    }

    fn object(text: &str, early: bool) -> (String, bool) {
        (text.to_owned(), early)
    }

    #[test]
    fn each_object_is_an_event() {
        let (objects, dropped) = read(&["{\"a\":1}\r\n\n {} \n{\"b\":2}"]);
        assert_eq!(
            objects,
            [
                object("{\"a\":1}", false),
                object("{}", false),
                object("{\"b\":2}", true)
            ]
        );
        assert_eq!(dropped, 0);
    }

    #[test]
    fn what_is_no_object_is_dropped() {
        let (objects, dropped) = read(&["[1]\nnull\nx\n{\"a\":\n{}\n{\"b\""]);
        assert_eq!((objects, dropped), (vec![object("{}", false)], 5));
    }

    #[test]
    fn an_object_is_dated_by_the_push_that_made_it_whole() {
        let mut lines = Lines::default();
        let mut early = Vec::new();
        let mut take = |frame: Frame<'_>| early.push(frame.early);
        lines.push(b"{\"a\":", &mut take);
        assert!(!lines.pending_whole());
        lines.push(b"1}", &mut take);
        assert!(lines.pending_whole());
        lines.push(b"\n{}", &mut take);
        assert!(lines.pending_whole());
        lines.push(b" \n{}\n", &mut take);
        assert!(!lines.pending_whole());
        assert_eq!(early, [true, true, false]);
    }

    #[test]
    fn a_line_has_a_limit() {
        let fits = format!("{{}}{}", " ".repeat(limits::LINE_BYTES - 2));
        assert_eq!(read(&[&fits, "\n"]).0.len(), 1);
        let mut lines = Lines::default();
        let above = format!("{{}}\n{fits} ");
        let mut count = 0;
        lines.push(above.as_bytes(), |_| count += 1);
        assert!(lines.is_oversize() && !lines.pending_whole());
        lines.push(b"\n{}\n", |_| count += 1);
        lines.finish(|_| count += 1);
        assert_eq!(count, 1);
    }
}
