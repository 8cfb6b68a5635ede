//! One choice of an answer: what was stated about it, and its running counter.

use super::chunk::{ChoiceFacts, Statement, Usage};
use crate::dialect::choices::Finishes;
use crate::dialect::counter::{Counter, Judged};
use crate::dialect::keep_text;

/// One choice.
#[derive(Debug, Default)]
pub(super) struct Choice {
    finish_reason: Option<String>,
    /// Length of the prompt's token ids.
    pub(super) prompt_ids: Option<u64>,
    /// The running counter, whichever object states it.
    counter: Counter,
    pub(super) usage: Stated,
    pub(super) timings: Stated,
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

impl Finishes for Choice {
    fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }
}

// ---- Choice

impl Choice {
    /// Keeps what `text`, where the facts were read, says once.
    pub(super) fn note(&mut self, text: &[u8], facts: &ChoiceFacts) {
        self.prompt_ids = facts.prompt_ids.or(self.prompt_ids);
        keep_text(&mut self.finish_reason, facts.finish_reason.of(text));
    }

    /// Judges its part of a chunk that states `statement` about it.
    pub(super) fn judge(&mut self, facts: &ChoiceFacts, statement: Statement) -> Judged {
        let usage = statement.usage.filter(|usage| usage.output.is_some());
        let timings = statement.timings.filter(|timings| timings.output.is_some());
        self.usage.state(usage);
        self.timings.state(timings);
        let counted = usage.or(timings).and_then(|counts| counts.output);
        let judged = self.counter.judge(counted, facts.is_evident());
        if judged.token {
            self.usage.behind |= usage.is_none();
            self.timings.behind |= timings.is_none();
        }
        judged
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
