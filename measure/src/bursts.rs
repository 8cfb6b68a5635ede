//! The token-bearing bursts of one exchange, folded as they come.
//!
//! A burst is all token-bearing events with one stamp. The latest burst stays open, since another event of the same read
//! may still extend it; the gap before it is counted when it closes, because only then its tokens are known.
//!
//! Invariants: stamps never go back (an earlier one extends the open burst); size does not depend on the tokens.

use crate::{GapHistogram, Nanos};

/// One token-bearing burst.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    pub(crate) at: Nanos,
    /// Its tokens, or a lower bound of them.
    pub(crate) tokens: u64,
    /// `tokens` is their number.
    pub(crate) exact: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Bursts {
    first: Option<Burst>,
    open: Option<Burst>,
    /// Stamp of the burst before the open one.
    before: Option<Nanos>,
    count: u64,
    exact_tokens: u64,
    inexact_events: u64,
    gaps: GapHistogram,
}

impl Bursts {
    /// A token-bearing event.
    pub(crate) fn push(&mut self, event: Burst) {
        if event.exact {
            self.exact_tokens = self.exact_tokens.saturating_add(event.tokens);
        } else {
            self.inexact_events = self.inexact_events.saturating_add(event.tokens);
        }
        match &mut self.open {
            Some(open) if event.at <= open.at => {
                open.tokens = open.tokens.saturating_add(event.tokens);
                open.exact &= event.exact;
            }
            _ => {
                self.close();
                self.count += 1;
                self.open = Some(event);
            }
        }
    }

    /// No more will come: counts the gap before the last one.
    pub(crate) fn close(&mut self) {
        let Some(closed) = self.open.take() else {
            return;
        };
        if let Some(before) = self.before {
            debug_assert!(closed.at > before, "bursts of one stamp are one burst");
            self.gaps.record(
                closed.at.since(before),
                closed.exact.then_some(closed.tokens),
            );
        }
        self.first.get_or_insert(closed);
        self.before = Some(closed.at);
    }

    /// The first one, once it is closed.
    pub(crate) fn first(&self) -> Option<Burst> {
        self.first
    }

    pub(crate) fn last_at(&self) -> Option<Nanos> {
        self.open.map(|open| open.at).or(self.before)
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Tokens of events that say how many they carry.
    pub(crate) fn exact_tokens(&self) -> u64 {
        self.exact_tokens
    }

    /// Events that carry tokens without saying how many.
    pub(crate) fn inexact_events(&self) -> u64 {
        self.inexact_events
    }

    /// Tokens that are proven.
    pub(crate) fn tokens(&self) -> u64 {
        self.exact_tokens.saturating_add(self.inexact_events)
    }

    /// There were some, and each said how many tokens it carries.
    pub(crate) fn all_exact(&self) -> bool {
        self.count > 0 && self.inexact_events == 0
    }

    pub(crate) fn gaps(&self) -> &GapHistogram {
        &self.gaps
    }

    pub(crate) fn into_gaps(self) -> GapHistogram {
        self.gaps
    }
}
