//! What was truly emitted, and when.
//!
//! Times are nanoseconds of the simulator's [`Clock`](crate::Clock). The time of something written is read right before the write call
//! that carried its last byte (a JSON event ends with its closing brace: the blank line after it may come later), so that
//! no reader can have it earlier. Calls that the socket did not take count when they are repeated.
//!
//! Every generating request that was read up to its head yields one [`Record`], when nothing of its answer is left to be
//! written. Limits: [`Truth`] keeps so many records and each record so many emissions; what is lost is counted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;
use wire::Endpoint;
use wire::encode::{Times, Usage};

use crate::engine::Finish;

/// The truth about one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The request's `x-sim-id`, else the number of the request, counting from 0.
    pub id: String,
    /// The route.
    pub endpoint: Endpoint,
    /// Number of the connection that it came on, counting from 0.
    pub connection: u64,
    /// The request's `x-sim-fault`, empty if there is none.
    pub faults: String,
    /// The request's head was there.
    pub head_read_ns: u64,
    /// The request was there as a whole. `None` if it never was, or nobody waited for it.
    pub request_read_ns: Option<u64>,
    /// Tokens of its prompts.
    pub prompt_tokens: Option<u64>,
    /// Those of the first prompt that came from the prefix cache. Known with the first token.
    pub cached_tokens: Option<u64>,
    /// Status of the answer, if there was one.
    pub status: Option<u16>,
    /// The answer's head was written.
    pub head_written_ns: Option<u64>,
    /// What was written after it, in order.
    pub emissions: Vec<Emitted>,
    /// Emissions beyond the limit.
    pub emissions_dropped: u64,
    /// The total that the answer stated.
    pub usage: Option<Usage>,
    /// Why each choice ended, by index; `None` where it was not told.
    pub finish: Vec<Option<Finish>>,
    /// The engine's own times of each choice, by index, as far as they were told: what an answer states of them is taken from
    /// here.
    pub times: Vec<Times>,
    /// How it all ended.
    pub ended: Ended,
    /// When: the answer's last byte was written, or the end was noticed.
    pub ended_ns: u64,
}

/// Something written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emitted {
    /// When.
    pub at_ns: u64,
    /// The choice it belongs to; 0 where it belongs to none.
    pub choice: u32,
    /// What.
    pub kind: Kind,
    /// Tokens of the engine that it carries.
    pub tokens: u32,
}

/// What a write carried. One event that carries two kinds of tokens is two emissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Tokens whose text is part of the answer.
    Answer,
    /// Tokens whose text is reasoning.
    Reasoning,
    /// Tokens that show nothing: the end-of-text token, and what an engine swallows.
    Silent,
    /// An event that begins an answer, a choice or a block, or ends a block: a role chunk, for one.
    Role,
    /// An event that ends a choice and carries no token.
    Closing,
    /// A usage chunk.
    Usage,
    /// An error event.
    Error,
    /// `[DONE]`, or what else ends an answer.
    Done,
    /// A comment.
    Comment,
}

/// How an exchange ended, as the engine saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ended {
    /// All of the answer was written, refusals included.
    Completed,
    /// All of it was written, but it holds an error event.
    Errored,
    /// The engine closed the connection, as it was asked to.
    Died,
    /// The engine reset the connection, as it was asked to.
    Reset,
    /// The client closed or reset the connection.
    ClientGone,
    /// The server was stopped.
    Stopped,
}

/// Counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// Exchanges without a record yet.
    pub open: u64,
    /// Exchanges whose client left.
    pub client_gone: u64,
    /// Connections accepted so far.
    pub connections: u64,
    /// Connections closed at the first byte of another request, as asked for by `close-on-reuse`.
    pub refused_reuse: u64,
}

/// The log.
#[derive(Debug)]
pub struct Truth {
    records: Mutex<VecDeque<Record>>,
    capacity: usize,
    dropped: AtomicU64,
    finished: watch::Sender<u64>,
}

// ===== Record =====

impl Record {
    /// Tokens written.
    pub fn output_tokens(&self) -> u64 {
        self.emissions
            .iter()
            .map(|emitted| u64::from(emitted.tokens))
            .sum()
    }

    /// When the first token was written.
    pub fn first_token_ns(&self) -> Option<u64> {
        self.token_times().next()
    }

    /// When the last token was written.
    pub fn last_token_ns(&self) -> Option<u64> {
        self.token_times().last()
    }

    fn token_times(&self) -> impl Iterator<Item = u64> {
        self.emissions
            .iter()
            .filter(|emitted| emitted.tokens > 0)
            .map(|emitted| emitted.at_ns)
    }
}

// ===== Truth =====

impl Truth {
    /// An empty log for `capacity` records.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            records: Mutex::new(VecDeque::new()),
            capacity,
            dropped: AtomicU64::new(0),
            finished: watch::Sender::new(0),
        }
    }

    /// Takes out all records, oldest first.
    pub fn drain(&self) -> Vec<Record> {
        self.records.lock().drain(..).collect()
    }

    /// Records that found the log full.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until `count` exchanges have ended, counted from the beginning.
    pub async fn finished(&self, count: u64) {
        // The sender is ours, so that waiting can't fail.
        let _ = self
            .finished
            .subscribe()
            .wait_for(|finished| *finished >= count)
            .await;
    }

    pub(crate) fn add(&self, record: Record) {
        let mut records = self.records.lock();
        if records.len() < self.capacity {
            records.push_back(record);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        drop(records);
        self.finished.send_modify(|finished| *finished += 1);
    }
}
