//! Dialects: what the data of one event, or one JSON body, says about tokens. One file each.
//!
//! A dialect keeps only state that later events are judged by; what every dialect counts alike is in [`Tally`]. To add
//! one: a file here, an arm in [`Dialect`], and the routes in [`crate::Endpoint`].

pub(crate) mod openai;
mod tally;

pub(crate) use tally::Tally;

use crate::sse::Field;
use crate::{AnswerContext, CountSource, FinishState, Terminator, Tokens};
use openai::OpenAi;

/// What one event proves and shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) tokens: Tokens,
    pub(crate) shows: Shows,
}

/// What an event lets a reader see. It need not be a token event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shows {
    pub(crate) reasoning: bool,
    pub(crate) answer: bool,
}

/// What a dialect knows when an answer has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) totals: Totals,
    pub(crate) finish_reasons: Vec<Option<String>>,
    pub(crate) ending: Ending,
}

/// How the answer ended, by its content alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A finish reason says error.
    Errored,
    /// A finish reason says abort, cancelled or timeout.
    Aborted,
    /// Every choice has a finish reason.
    Finished,
    /// Nothing says that it has ended.
    #[default]
    Open,
}

/// Token counts of the whole answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) input: Option<u64>,
    /// With the source that states it.
    pub(crate) output: Option<(u64, CountSource)>,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

/// The dialect that an endpoint speaks.
#[derive(Debug)]
pub(crate) enum Dialect {
    OpenAi(OpenAi),
}

// ---- Evidence

impl Evidence {
    /// Nothing proven, nothing shown.
    pub(crate) const NONE: Self = Self {
        tokens: Tokens::None,
        shows: Shows {
            reasoning: false,
            answer: false,
        },
    };
}

impl Shows {
    pub(crate) fn anything(self) -> bool {
        self.reasoning || self.answer
    }
}

// ---- Dialect

impl Dialect {
    pub(crate) fn of(context: &AnswerContext<'_>) -> Self {
        Self::OpenAi(OpenAi::new(context))
    }

    /// Judges the data of one event.
    pub(crate) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match self {
            Self::OpenAi(dialect) => dialect.event(field, data, tally),
        }
    }

    /// Reads a whole body; whether it was one JSON object.
    pub(crate) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        match self {
            Self::OpenAi(dialect) => dialect.body(body, tally),
        }
    }

    pub(crate) fn finish(&mut self) -> Outcome {
        match self {
            Self::OpenAi(dialect) => dialect.finish(),
        }
    }
}

// ---- States

impl Ending {
    /// The state that an answer with this ending and end mark is in, if nothing worse is known of it.
    pub(crate) fn state(self, mark: Option<Terminator>) -> FinishState {
        match (self, mark) {
            (Self::Errored, _) => FinishState::Errored,
            (Self::Aborted, _) => FinishState::Aborted,
            (Self::Finished, _) | (Self::Open, Some(_)) => FinishState::Complete,
            (Self::Open, None) => FinishState::Cut,
        }
    }
}
