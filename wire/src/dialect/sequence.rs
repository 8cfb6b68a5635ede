//! One choice of an engine that states for each how many tokens there are so far.

use super::choices::{Choices, Finishes};
use super::counter::Counter;
use super::text::LastText;
use super::{Asked, Totals, add_stated};
use crate::CountSource;

/// What is known of the choice.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) counter: Counter,
    /// Tokens of its prompt.
    pub(crate) prompt: Option<u64>,
    /// Those of them that came from a cache.
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) finish_reason: Option<String>,
    /// Its last object came.
    pub(crate) ended: bool,
    pub(crate) text: LastText,
}

impl Finishes for Sequence {
    fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }
}

impl Choices<Sequence> {
    /// What the counters say in the end. Unknown if one of them doesn't cover all tokens of its choice.
    pub(crate) fn totals(&self, asked: &Asked) -> Totals {
        Totals {
            input: self.once_per_prompt(asked, |sequence| sequence.prompt),
            output: self.output().map(|count| (count, CountSource::Counter)),
            cached: self.once_per_prompt(asked, |sequence| sequence.cached),
            reasoning: self
                .all()
                .into_iter()
                .flatten()
                .fold(None, |sum, sequence| add_stated(sum, sequence.reasoning)),
        }
    }

    fn output(&self) -> Option<u64> {
        let mut sum = None;
        for sequence in self.all()? {
            let counter = &sequence.counter;
            if counter.is_behind() {
                return None;
            }
            if counter.is_stated() {
                sum = add_stated(sum, Some(counter.last()));
            }
        }
        sum
    }
}
