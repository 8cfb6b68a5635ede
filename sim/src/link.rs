//! What body, handler and socket of one connection tell each other.
//!
//! hyper stands between a body and the socket and does not say when a frame is written. So the body leaves a [`Mark`]
//! for each frame, in order, and the socket's wrapper counts the bytes it writes against them. The only length that nobody
//! knows beforehand is that of a response head; it ends at its blank line.
//!
//! Invariant: every answer leaves a mark for its head, for each of its frames and for its end, in the order in which
//! hyper encodes them. Interim responses (status 1xx) that hyper writes by itself are skipped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::exchange::Exchange;
use crate::truth::{Emitted, Kind};

/// What is true once a mark is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) choice: u32,
    pub(crate) kind: Kind,
    pub(crate) tokens: u32,
}

/// The next bytes on the wire.
#[derive(Debug)]
pub(crate) enum Mark {
    /// A response head.
    Head,
    /// So many bytes, and what they carry.
    Frame(usize, Vec<Note>),
    /// So many bytes, the last ones of the answer.
    End(usize),
}

/// The shared state of one connection.
#[derive(Debug)]
pub(crate) struct Link {
    /// Number of the connection.
    pub(crate) number: u64,
    ledger: Mutex<Ledger>,
    emptied: Notify,
    last_read_ns: AtomicU64,
    reset: AtomicBool,
    cut: AtomicBool,
    refuses: AtomicBool,
    interim: Mutex<Bytes>,
}

#[derive(Debug, Default)]
struct Ledger {
    marks: VecDeque<(Mark, Option<Arc<Exchange>>)>,
    head: HeadScan,
    last_write_ns: u64,
}

/// Looks for the end of a response head.
#[derive(Debug, Default)]
struct HeadScan {
    /// Bytes seen of it.
    seen: usize,
    /// First digit of its status, once seen.
    class: u8,
    /// How much of the blank line's CR LF CR LF was just seen.
    matched: usize,
}

impl Link {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            ledger: Mutex::default(),
            emptied: Notify::new(),
            last_read_ns: AtomicU64::new(0),
            reset: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            interim: Mutex::default(),
        }
    }

    /// The body's side: these bytes come next.
    pub(crate) fn mark(&self, mark: Mark, exchange: Option<&Arc<Exchange>>) {
        let mut ledger = self.ledger.lock();
        ledger.marks.push_back((mark, exchange.map(Arc::clone)));
        // A mark without bytes is written as soon as it is first.
        let at_ns = ledger.last_write_ns;
        ledger.wrote(&[], at_ns);
        self.tell_if_emptied(&ledger);
    }

    /// The socket's side: these bytes were taken by a write that began at `at_ns`.
    pub(crate) fn wrote(&self, bytes: &[u8], at_ns: u64) {
        let mut ledger = self.ledger.lock();
        ledger.last_write_ns = at_ns;
        ledger.wrote(bytes, at_ns);
        self.tell_if_emptied(&ledger);
    }

    /// Waits until all that was marked is written.
    pub(crate) async fn drained(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.ledger.lock().marks.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    fn tell_if_emptied(&self, ledger: &Ledger) {
        if ledger.marks.is_empty() {
            self.emptied.notify_waiters();
        }
    }

    /// The socket's side: bytes were read.
    pub(crate) fn read(&self, at_ns: u64) {
        self.last_read_ns.store(at_ns, Ordering::Relaxed);
    }

    /// When bytes were last read.
    pub(crate) fn last_read_ns(&self) -> u64 {
        self.last_read_ns.load(Ordering::Relaxed)
    }

    /// The connection shall end with a reset.
    pub(crate) fn reset_at_the_end(&self) {
        self.reset.store(true, Ordering::Relaxed);
    }

    pub(crate) fn resets(&self) -> bool {
        self.reset.load(Ordering::Relaxed)
    }

    /// The next write shall break off halfway, and nothing be written after it.
    pub(crate) fn cut_next_write(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    pub(crate) fn cuts(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    /// No further request shall be read.
    pub(crate) fn refuse_reuse(&self) {
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// The answer that was to be the last one is written.
    pub(crate) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::Relaxed) && self.ledger.lock().marks.is_empty()
    }

    /// These bytes shall go before anything else.
    pub(crate) fn send_interim(&self, bytes: &'static [u8]) {
        *self.interim.lock() = Bytes::from_static(bytes);
    }

    pub(crate) fn interim(&self) -> &Mutex<Bytes> {
        &self.interim
    }
}

impl Ledger {
    fn wrote(&mut self, mut bytes: &[u8], at_ns: u64) {
        while let Some((mark, exchange)) = self.marks.front_mut() {
            let (taken, whole) = match mark {
                Mark::Head => self.head.scan(bytes),
                Mark::Frame(left, _) | Mark::End(left) => {
                    let taken = bytes.len().min(*left);
                    *left -= taken;
                    (taken, *left == 0)
                }
            };
            bytes = &bytes[taken..];
            if !whole {
                return;
            }
            if let Some(exchange) = exchange {
                settle(mark, exchange, at_ns);
            }
            self.marks.pop_front();
        }
    }
}

fn settle(mark: &Mark, exchange: &Exchange, at_ns: u64) {
    match mark {
        Mark::Head => exchange.head_written(at_ns),
        Mark::Frame(_, notes) => {
            for Note {
                choice,
                kind,
                tokens,
            } in notes.iter().copied()
            {
                exchange.emitted(Emitted {
                    at_ns,
                    choice,
                    kind,
                    tokens,
                });
            }
        }
        Mark::End(_) => exchange.completed(at_ns),
    }
}

impl HeadScan {
    /// Where the status stands in `HTTP/1.1 200 OK`.
    const CLASS_AT: usize = 9;
    const BLANK_LINE: &[u8] = b"\r\n\r\n";

    /// How many of the bytes belong to the head, and whether it is whole with them.
    fn scan(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (at, byte) in bytes.iter().enumerate() {
            if self.seen == Self::CLASS_AT {
                self.class = *byte;
            }
            self.seen += 1;
            self.matched = match self.matched {
                matched if *byte == Self::BLANK_LINE[matched] => matched + 1,
                _ => usize::from(*byte == b'\r'),
            };
            if self.matched == Self::BLANK_LINE.len() {
                let interim = self.class == b'1';
                *self = Self::default();
                if !interim {
                    return (at + 1, true);
                }
            }
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests;
