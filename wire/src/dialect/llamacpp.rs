//! `/completion`, llama.cpp's own route.
//!
//! `tokens_predicted` is a running counter of each prompt and decides: the list `tokens` holds one id even where two tokens
//! had no event, and a progress report has an id although no token exists. Builds without the counter on each event are
//! read by what they show. The end is an object with `stop` for each prompt. That object holds the prompt in clear; it is
//! passed over.

#![deny(clippy::indexing_slicing)]

use super::choices::Choices;
use super::fault::Fault;
use super::sequence::Sequence;
use super::timings::Timings;
use super::{Asked, Evidence, Outcome, Shows, Tally, keep_text};
use crate::json::{Cursor, read_objects};
use crate::sse::Field;
use crate::{Anomaly, Reason, Terminator};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct LlamaCpp {
    asked: Asked,
    /// The prompts, or with several answers for each the choices.
    sequences: Choices<Sequence>,
}

/// One event, or one element of a body.
#[derive(Default)]
struct Object<'a> {
    index: Option<u64>,
    model: &'a [u8],
    has_content: bool,
    predicted: Option<u64>,
    evaluated: Option<u64>,
    timings: Timings,
    stop: bool,
    stop_type: &'a [u8],
    has_progress: bool,
    fault: Fault<'a>,
}

// ---- LlamaCpp

impl LlamaCpp {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            sequences: Choices::default(),
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match (Cursor::new(data).whole(Object::read), field) {
            (Some(object), Field::Data) => {
                let evidence = self.take(&object, 0, tally);
                if object.stop
                    && self
                        .sequences
                        .are_all(&self.asked, |sequence| sequence.ended)
                {
                    tally.mark = Some(Terminator::Stop);
                }
                evidence
            }
            (Some(object), Field::Error) => {
                tally.error(object.fault.message_anywhere());
                Evidence::none(Reason::Error)
            }
            (None, field) => Evidence::none(tally.unreadable(field, data)),
        }
    }

    /// Reads a whole body; whether it is an answer, and not an error or half a body.
    pub(super) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        let Some(objects) = read_objects(body, Object::read) else {
            tally.unreadable(Field::Data, body);
            return false;
        };
        for (place, object) in (0..).zip(&objects) {
            if self.asked.rejected {
                tally.error(object.fault.message_anywhere());
            } else {
                self.take(object, place, tally);
            }
        }
        !objects.is_empty() && !tally.errored && !self.asked.rejected
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        Outcome {
            totals: self.sequences.totals(&self.asked),
            finish_reasons: self.sequences.finish_reasons(),
            ending: self.sequences.ending().without_mark(),
        }
    }

    fn take(&mut self, object: &Object<'_>, place: u64, tally: &mut Tally) -> Evidence {
        tally.name(object.model, b"");
        let is_answer = object.predicted.is_some() || object.has_content || object.stop;
        let is_error = object.fault.is_error(is_answer);
        if is_error {
            tally.error(object.fault.message());
        }
        if !is_answer {
            return Evidence::none(if is_error {
                Reason::Error
            } else {
                Reason::Unrelated
            });
        }
        let shows = Shows::text(object.has_content);
        let Some(sequence) = self.sequences.at(object.index.unwrap_or(place)) else {
            tally.anomaly(Anomaly::TooManyChoices);
            return Evidence::of_shown(shows, Reason::Untracked);
        };
        sequence.prompt = object.evaluated.or(sequence.prompt);
        sequence.cached = object.timings.cached.or(sequence.cached);
        tally.times.update(object.timings.times);
        keep_text(&mut sequence.finish_reason, object.stop_type);
        sequence.ended |= object.stop;
        let judged = sequence.counter.judge(object.predicted, object.has_content);
        if judged.went_back {
            tally.anomaly(Anomaly::CounterWentBack);
        }
        judged.evidence(shows, object.shows_nothing())
    }
}

// ---- Object

impl<'a> Object<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut object = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"index" => object.index = cursor.count()?,
                b"model" => object.model = cursor.text()?.unwrap_or_default(),
                b"content" => object.has_content = cursor.has_text()?,
                b"tokens_predicted" => object.predicted = cursor.count()?,
                b"tokens_evaluated" => object.evaluated = cursor.count()?,
                b"timings" => object.timings = Timings::read(cursor)?,
                b"stop" => object.stop = cursor.is_true()?,
                b"prompt_progress" => object.has_progress = cursor.is_filled()?,
                b"stop_type" => object.stop_type = cursor.text()?.unwrap_or_default(),
                _ => object.fault.member(cursor, key)?,
            }
            Some(())
        })?;
        Some(object)
    }

    /// What it is for if it has no token.
    fn shows_nothing(&self) -> Reason {
        if self.stop {
            Reason::Finish
        } else if self.has_progress {
            Reason::Progress
        } else {
            Reason::Empty
        }
    }
}
