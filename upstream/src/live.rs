//! What can be seen of an exchange while it is in flight, by anyone, without a lock.

use measure::Nanos;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wire::Endpoint;

/// Progress of one open exchange. 0 in a stamp is "not yet".
#[derive(Debug)]
pub struct Live {
    /// Unique in this process.
    pub id: u64,
    /// Its route.
    pub endpoint: Endpoint,
    /// When it arrived.
    pub arrival: Nanos,
    /// In flight when it arrived.
    pub at_arrival: u32,
    first_token: AtomicU64,
    last_read: AtomicU64,
    tokens: AtomicU64,
    bytes: AtomicU64,
}

impl Live {
    /// An exchange that just arrived.
    pub fn new(id: u64, endpoint: Endpoint, arrival: Nanos, at_arrival: u32) -> Self {
        Self {
            id,
            endpoint,
            arrival,
            at_arrival,
            first_token: AtomicU64::new(0),
            last_read: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn on_read(&self, at: Nanos, bytes: u64) {
        self.last_read.store(at.0, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn on_tokens(&self, first_token: Option<Nanos>, tokens: u64) {
        if let Some(at) = first_token {
            self.first_token.store(at.0, Relaxed);
        }
        self.tokens.fetch_add(tokens, Relaxed);
    }

    /// When its first token was read.
    pub fn first_token(&self) -> Option<Nanos> {
        never_is_none(&self.first_token)
    }

    /// When the engine's last bytes were read.
    pub fn last_read(&self) -> Option<Nanos> {
        never_is_none(&self.last_read)
    }

    /// Tokens so far: a lower bound where events don't state a count.
    pub fn tokens(&self) -> u64 {
        self.tokens.load(Relaxed)
    }

    /// Bytes of the answer so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

fn never_is_none(cell: &AtomicU64) -> Option<Nanos> {
    match cell.load(Relaxed) {
        0 => None,
        ns => Some(Nanos(ns)),
    }
}
