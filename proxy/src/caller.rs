//! The client of one exchange: its connection, and what is wrong with this request alone.

use crate::accepted::ClientSide;
use crate::guard::Fault;
use crate::interim::Interim;
use measure::{End, Nanos};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use upstream::Client;

/// Who asked for one exchange.
#[derive(Debug)]
pub(crate) struct Caller {
    side: Arc<ClientSide>,
    broken: OnceLock<Fault>,
    too_slow: AtomicBool,
}

impl Caller {
    pub(crate) fn new(side: Arc<ClientSide>) -> Self {
        Self {
            side,
            broken: OnceLock::new(),
            too_slow: AtomicBool::new(false),
        }
    }

    /// What has been found wrong with the request's body, or with the connection.
    pub(crate) fn broken(&self) -> Option<Fault> {
        self.broken.get().copied().or_else(|| self.side.broken())
    }

    /// The request's body is at fault.
    pub(crate) fn on_broken(&self, fault: Fault) {
        if self.broken.set(fault).is_ok() {
            self.side.on_refused(fault);
        }
    }

    /// The client doesn't take its answer.
    pub(crate) fn on_too_slow(&self) {
        self.too_slow.store(true, Relaxed);
    }

    /// What goes out ahead of the answer.
    pub(crate) fn interim(&self) -> &Interim {
        &self.side.interim
    }

    /// The read that brought the request.
    pub(crate) fn last_read(&self) -> Nanos {
        self.side.last_read()
    }

    /// When a wait for the client begins or ends.
    pub(crate) fn waits_at(&self) -> Nanos {
        self.side.waits_at()
    }
}

impl Client for Caller {
    fn taken(&self, oldest: Nanos) {
        self.side.taken(oldest);
    }

    fn parting(&self) -> End {
        match (self.side.parting(), self.broken.get()) {
            (End::ClientGone, Some(fault)) => fault.end(),
            (End::ClientGone, None) if self.too_slow.load(Relaxed) => End::SlowClient,
            (end, _) => end,
        }
    }

    fn flushes(&self) -> u64 {
        self.side.flushes()
    }

    fn poll_flushed(&self, since: u64, cx: &mut Context<'_>) -> Poll<()> {
        self.side.poll_flushed(since, cx)
    }
}
