//! State of each choice of an answer, by its index.

use super::chunk::{ChoiceFacts, Statement, Usage};
use crate::dialect::Ending;
use crate::json::cut_text;
use crate::limits;

/// The choices seen so far, by ascending index; at most [`limits::CHOICES`].
#[derive(Debug, Default)]
pub(super) struct Choices {
    list: Vec<Choice>,
    /// There were more than are kept.
    overflow: bool,
}

/// One choice.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) index: u64,
    pub(super) finish_reason: Option<String>,
    /// Length of the prompt's token ids.
    pub(super) prompt_ids: Option<u64>,
    pub(super) counter: Counter,
    pub(super) usage: Stated,
    pub(super) timings: Stated,
}

/// The running counter of a choice, whichever object states it.
#[derive(Debug, Default)]
pub(super) struct Counter {
    last: u64,
    /// A token event came without it since it was there last.
    behind: bool,
}

/// What a counter says about the chunk that it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// So many new tokens, or none.
    By(u64),
    /// It went back, which a counter doesn't.
    WentBack,
    /// It had been missing on token events: it tells the total, nothing about this chunk.
    Total,
}

/// What a chunk proves about one of its choices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// At least one new token.
    pub(super) token: bool,
    /// Growth of the running counter, in tokens; 0 without one.
    pub(super) grown: u64,
    /// The counter went back.
    pub(super) went_back: bool,
}

/// The last statement of one kind about a choice.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub(super) last: Option<Usage>,
    /// It came once, after token events without it: a total by intent.
    pub(super) total: bool,
    /// A token event came without it since.
    pub(super) behind: bool,
}

// ---- Choices

impl Choices {
    /// The choice with this index; `None` if that would be one too many.
    pub(super) fn at(&mut self, index: u64) -> Option<&mut Choice> {
        let place = match self
            .list
            .binary_search_by_key(&index, |choice| choice.index)
        {
            Ok(place) => place,
            Err(_) if self.list.len() == limits::CHOICES => {
                self.overflow = true;
                return None;
            }
            Err(place) => {
                self.list.insert(
                    place,
                    Choice {
                        index,
                        ..Choice::default()
                    },
                );
                place
            }
        };
        self.list.get_mut(place)
    }

    /// All choices seen; `None` if there were more than are kept.
    pub(super) fn all(&self) -> Option<&[Choice]> {
        (!self.overflow).then_some(self.list.as_slice())
    }

    /// How many are kept.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// As the engine spells them, by index.
    pub(super) fn finish_reasons(&self) -> Vec<Option<String>> {
        self.list
            .iter()
            .map(|choice| choice.finish_reason.clone())
            .collect()
    }

    /// What the finish reasons say about the end.
    pub(super) fn ending(&self) -> Ending {
        let mut reasons = self
            .list
            .iter()
            .filter_map(|choice| choice.finish_reason.as_deref());
        let is_abort = |reason| {
            matches!(
                reason,
                "abort" | "aborted" | "cancelled" | "canceled" | "timeout" | "timed_out"
            )
        };
        if reasons.clone().any(|reason| reason == "error") {
            Ending::Errored
        } else if reasons.clone().any(is_abort) {
            Ending::Aborted
        } else if !self.overflow
            && !self.list.is_empty()
            && reasons.by_ref().count() == self.list.len()
        {
            Ending::Finished
        } else {
            Ending::Open
        }
    }
}

// ---- Choice

impl Choice {
    /// Keeps what `text`, where the facts were read, says once.
    pub(super) fn note(&mut self, text: &[u8], facts: &ChoiceFacts) {
        self.prompt_ids = facts.prompt_ids.or(self.prompt_ids);
        let reason = facts.finish_reason.of(text);
        if !reason.is_empty() && self.finish_reason.as_deref().map(str::as_bytes) != Some(reason) {
            self.finish_reason = Some(cut_text(reason));
        }
    }

    /// Judges its part of a chunk that states `statement` about it.
    pub(super) fn judge(&mut self, facts: &ChoiceFacts, statement: Statement) -> Judged {
        let usage = statement.usage.filter(|usage| usage.output.is_some());
        let timings = statement.timings.filter(|timings| timings.output.is_some());
        self.usage.state(usage);
        self.timings.state(timings);
        let counted = usage.or(timings).and_then(|counts| counts.output);
        let growth = counted.map(|count| self.counter.advance(count));
        let judged = Judged {
            token: match growth {
                Some(Growth::By(grown)) => grown > 0,
                Some(Growth::WentBack) => false,
                Some(Growth::Total) | None => facts.is_evident(),
            },
            grown: if let Some(Growth::By(grown)) = growth {
                grown
            } else {
                0
            },
            went_back: growth == Some(Growth::WentBack),
        };
        if judged.token {
            self.usage.behind |= usage.is_none();
            self.timings.behind |= timings.is_none();
            self.counter.behind |= counted.is_none();
        }
        judged
    }
}

impl Counter {
    fn advance(&mut self, count: u64) -> Growth {
        let growth = match count.checked_sub(self.last) {
            _ if self.behind => Growth::Total,
            Some(grown) => Growth::By(grown),
            None => Growth::WentBack,
        };
        self.last = self.last.max(count);
        self.behind = false;
        growth
    }
}

impl Stated {
    fn state(&mut self, usage: Option<Usage>) {
        if usage.is_some() {
            self.total = self.behind && self.last.is_none();
            self.behind = false;
            self.last = usage;
        }
    }
}
