//! What the engine said last, for whoever wants to know it now.

use crate::Facts;
use measure::{EngineLoad, Nanos};
use parking_lot::Mutex;
use std::sync::Arc;

/// What the engine said last. A look costs a short lock.
#[derive(Debug)]
pub struct Told {
    /// How long a load stays of use.
    fresh_for: Nanos,
    facts: Mutex<Option<Arc<Facts>>>,
    load: Mutex<Option<(Nanos, EngineLoad)>>,
}

impl Told {
    /// Nothing yet. A load older than `fresh_for` is none.
    pub fn new(fresh_for: Nanos) -> Self {
        Self {
            fresh_for,
            facts: Mutex::default(),
            load: Mutex::default(),
        }
    }

    /// Who it is; `None` until it was asked once.
    pub fn facts(&self) -> Option<Arc<Facts>> {
        self.facts.lock().clone()
    }

    /// Its load as of `now`, with its age; `None` if it has said nothing, or nothing of late.
    pub fn load(&self, now: Nanos) -> Option<EngineLoad> {
        let (asked, load) = (*self.load.lock())?;
        let age = now.since(asked);
        (age <= self.fresh_for).then_some(EngineLoad { age, ..load })
    }

    pub(crate) fn set_facts(&self, facts: Facts) {
        *self.facts.lock() = Some(Arc::new(facts));
    }

    /// Takes a load that was asked for at `asked`.
    pub(crate) fn set_load(&self, asked: Nanos, load: EngineLoad) {
        *self.load.lock() = Some((asked, load));
    }
}
