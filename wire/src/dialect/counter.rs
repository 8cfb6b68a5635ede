//! A running counter: how many tokens of a choice there are so far, as the engine states it now and then.

use super::{Evidence, Shows};
use crate::{Reason, Tokens};

/// The counter of one choice, from 0.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    last: u64,
    stated: bool,
    /// A token event came without it since it was there last.
    behind: bool,
}

/// What a counter says about the event that it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// So many new tokens, or none.
    By(u64),
    /// It went back, which a counter doesn't.
    WentBack,
    /// It had been missing on token events: it tells the total, nothing about this event.
    Total,
}

/// What an event proves about one of its choices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    /// At least one new token.
    pub(crate) token: bool,
    /// Growth of the running counter, in tokens; 0 without one.
    pub(crate) grown: u64,
    /// The counter went back.
    pub(crate) went_back: bool,
}

// ---- Counter

impl Counter {
    /// Judges an event that states `count`, or nothing. Where a counter is, it decides alone; elsewhere what is `evident`
    /// does.
    pub(crate) fn judge(&mut self, count: Option<u64>, evident: bool) -> Judged {
        let growth = count.map(|count| self.advance(count));
        let judged = Judged {
            token: match growth {
                Some(Growth::By(grown)) => grown > 0,
                Some(Growth::WentBack) => false,
                Some(Growth::Total) | None => evident,
            },
            grown: if let Some(Growth::By(grown)) = growth {
                grown
            } else {
                0
            },
            went_back: growth == Some(Growth::WentBack),
        };
        self.behind |= judged.token && count.is_none();
        judged
    }

    /// The count so far; 0 if none was stated.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether it was ever there.
    pub(crate) fn is_stated(&self) -> bool {
        self.stated
    }

    /// Whether it doesn't cover the last token event.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    fn advance(&mut self, count: u64) -> Growth {
        let growth = match count.checked_sub(self.last) {
            _ if self.behind => Growth::Total,
            Some(grown) => Growth::By(grown),
            None => Growth::WentBack,
        };
        self.last = self.last.max(count);
        self.stated = true;
        self.behind = false;
        growth
    }
}

impl Judged {
    /// What an event proves that has nothing else to count its tokens by; if it shows nothing either, none for this `reason`.
    pub(crate) fn evidence(self, shows: Shows, reason: Reason) -> Evidence {
        let (tokens, reason) = match (self.token, self.grown) {
            (false, _) if shows.anything() => (Tokens::None, Reason::NoGrowth),
            (false, _) => (Tokens::None, reason),
            (true, 0) => (Tokens::AtLeastOne, shows.reason()),
            (true, grown) => (exactly(grown), Reason::Counter),
        };
        Evidence {
            tokens,
            reason,
            shows,
        }
    }
}

/// So many tokens.
pub(crate) fn exactly(count: u64) -> Tokens {
    match count {
        0 => Tokens::None,
        count => Tokens::Exactly(u32::try_from(count).unwrap_or(u32::MAX)),
    }
}
