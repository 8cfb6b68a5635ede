//! The requests of one gRPC call that carries many (Triton's `ModelStreamInfer`): each message begins an exchange.

use crate::Observed;
use crate::{ObservedCalls, Opener};
use std::sync::Arc;
use wire::{CallRequest, CallScan};

/// Exchanges of one call that may be open at once; requests beyond pass unmeasured.
const OPEN: usize = 1024;

/// What its upload has carried so far.
pub(crate) struct Requests {
    scan: CallScan,
    opener: Arc<dyn Opener>,
    begun: Vec<(CallRequest, Observed)>,
    open: usize,
    /// Bytes of those that are whole.
    whole_bytes: u64,
    /// Bytes of the largest of them.
    largest: u64,
}

impl Requests {
    pub(crate) fn new(calls: &ObservedCalls) -> Self {
        Self {
            scan: CallScan::new(calls.endpoint),
            opener: Arc::clone(&calls.opener),
            begun: Vec::new(),
            open: 0,
            whole_bytes: 0,
            largest: 0,
        }
    }

    /// Takes the next bytes of the upload; each request that they complete begins its exchange.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Self {
            scan,
            opener,
            begun,
            open,
            whole_bytes,
            largest,
        } = self;
        scan.push(bytes, |request| {
            *whole_bytes = request.end;
            *largest = request.bytes.max(*largest);
            if *open < OPEN {
                *open += 1;
                begun.push((request, opener.open()));
            } else {
                opener.passed();
            }
        });
    }

    /// Those that have begun since the last call.
    pub(crate) fn take(&mut self) -> Vec<(CallRequest, Observed)> {
        std::mem::take(&mut self.begun)
    }

    /// One of them has its answer.
    pub(crate) fn on_answered(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// Bytes of the largest of them, the one at hand included, after `all` bytes.
    pub(crate) fn largest(&self, all: u64) -> u64 {
        all.saturating_sub(self.whole_bytes).max(self.largest)
    }
}
