//! Where the process stands between start and exit, for whoever asks over HTTP.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A stage of the process's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not listening yet.
    Starting,
    /// Taking traffic.
    Serving,
    /// Told to stop: still accepting, but no longer ready.
    Leaving,
    /// Accepting no more, finishing what is open.
    Draining,
}

/// The current phase.
#[derive(Debug)]
pub(crate) struct PhaseCell(AtomicU8);

impl PhaseCell {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    pub(crate) fn set(&self, phase: Phase) {
        let code = match phase {
            Phase::Starting => 0,
            Phase::Serving => 1,
            Phase::Leaving => 2,
            Phase::Draining => 3,
        };
        self.0.store(code, Relaxed);
    }

    pub(crate) fn get(&self) -> Phase {
        match self.0.load(Relaxed) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Leaving,
            _ => Phase::Draining,
        }
    }
}
