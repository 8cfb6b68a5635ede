//! An exchange on its way to its record: exactly one, whatever ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use wire::Endpoint;

use crate::clock::Clock;
use crate::truth::{Emitted, Ended, Live, Record, Truth};

/// Emissions that a record keeps.
const EMISSIONS: usize = 1 << 16;

/// What all exchanges of a server write into.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) clock: Clock,
    pub(crate) truth: Truth,
    pub(crate) connections: AtomicU64,
    pub(crate) refused_reuse: AtomicU64,
    pub(crate) stopping: AtomicBool,
    requests: AtomicU64,
    open: AtomicU64,
    client_gone: AtomicU64,
}

impl Book {
    pub(crate) fn new(clock: Clock, capacity: usize) -> Self {
        Self {
            clock,
            truth: Truth::new(capacity),
            connections: AtomicU64::new(0),
            refused_reuse: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            open: AtomicU64::new(0),
            client_gone: AtomicU64::new(0),
        }
    }

    pub(crate) fn live(&self) -> Live {
        Live {
            open: self.open.load(Ordering::Relaxed),
            client_gone: self.client_gone.load(Ordering::Relaxed),
            connections: self.connections.load(Ordering::Relaxed),
            refused_reuse: self.refused_reuse.load(Ordering::Relaxed),
        }
    }
}

/// An exchange that has no record yet. It gets one when the last of those who hold it lets go: the handler, the body, and
/// every piece of it that is not written yet.
#[derive(Debug)]
pub(crate) struct Exchange {
    book: Arc<Book>,
    draft: Mutex<Draft>,
}

#[derive(Debug)]
struct Draft {
    record: Record,
    ended: Option<Ended>,
    ended_ns: Option<u64>,
}

/// What a request says about itself.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) id: Option<String>,
    pub(crate) endpoint: Endpoint,
    pub(crate) connection: u64,
    pub(crate) faults: String,
    pub(crate) head_read_ns: u64,
}

impl Exchange {
    pub(crate) fn open(book: &Arc<Book>, opening: Opening) -> Arc<Self> {
        let number = book.requests.fetch_add(1, Ordering::Relaxed);
        book.open.fetch_add(1, Ordering::Relaxed);
        let record = Record {
            id: opening.id.unwrap_or_else(|| number.to_string()),
            endpoint: opening.endpoint,
            connection: opening.connection,
            faults: opening.faults,
            head_read_ns: opening.head_read_ns,
            request_read_ns: None,
            prompt_tokens: None,
            cached_tokens: None,
            status: None,
            head_written_ns: None,
            emissions: Vec::new(),
            emissions_dropped: 0,
            usage: None,
            finish: Vec::new(),
            times: Vec::new(),
            ended: Ended::ClientGone,
            ended_ns: 0,
        };
        let draft = Mutex::new(Draft {
            record,
            ended: None,
            ended_ns: None,
        });
        Arc::new(Self {
            book: Arc::clone(book),
            draft,
        })
    }

    /// Writes facts down.
    pub(crate) fn note(&self, write: impl FnOnce(&mut Record)) {
        write(&mut self.draft.lock().record);
    }

    /// Its head was written.
    pub(crate) fn head_written(&self, at_ns: u64) {
        self.draft
            .lock()
            .record
            .head_written_ns
            .get_or_insert(at_ns);
    }

    /// Something was written.
    pub(crate) fn emitted(&self, emitted: Emitted) {
        let record = &mut self.draft.lock().record;
        if record.emissions.len() < EMISSIONS {
            record.emissions.push(emitted);
        } else {
            record.emissions_dropped += 1;
        }
    }

    /// Decides how it ends; the first decision holds.
    pub(crate) fn ends_as(&self, ended: Ended) {
        self.draft.lock().ended.get_or_insert(ended);
    }

    /// Its record's id.
    pub(crate) fn id(&self) -> String {
        self.draft.lock().record.id.clone()
    }

    /// Its last byte was written.
    pub(crate) fn completed(&self, at_ns: u64) {
        let mut draft = self.draft.lock();
        draft.ended.get_or_insert(Ended::Completed);
        draft.ended_ns.get_or_insert(at_ns);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let draft = self.draft.get_mut();
        let record = &mut draft.record;
        record.ended = match draft.ended {
            Some(ended) => ended,
            None if self.book.stopping.load(Ordering::Relaxed) => Ended::Stopped,
            None => Ended::ClientGone,
        };
        record.ended_ns = draft.ended_ns.unwrap_or_else(|| self.book.clock.stamp());
        if record.ended == Ended::ClientGone {
            self.book.client_gone.fetch_add(1, Ordering::Relaxed);
        }
        self.book.open.fetch_sub(1, Ordering::Relaxed);
        let emissions = std::mem::take(&mut record.emissions);
        self.book.truth.add(Record {
            emissions,
            ..record.clone()
        });
    }
}
