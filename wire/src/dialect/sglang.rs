//! `/generate`, SGLang's own route.
//!
//! `meta_info.completion_tokens` is a running counter of each choice and decides. The text is all so far or, with a start
//! option of the server, what is new; `output_ids` goes with it and tells which, as soon as there are tokens of an earlier
//! event that it lists or doesn't.

#![deny(clippy::indexing_slicing)]

use super::choices::Choices;
use super::fault::Fault;
use super::sequence::Sequence;
use super::text::TextMode;
use super::{Asked, Evidence, Outcome, Shows, Tally, keep_text};
use crate::engine_times::{PER_SECOND, nanos};
use crate::json::{Cursor, read_objects};
use crate::sse::Field;
use crate::{Accumulation, Anomaly, EngineTimes, Reason, Terminator};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Sglang {
    pub(super) asked: Asked,
    mode: TextMode,
    sequences: Choices<Sequence>,
}

/// One event, or one element of a body.
#[derive(Default)]
struct Object<'a> {
    index: Option<u64>,
    text: &'a [u8],
    /// Length of `output_ids`.
    ids: Option<u64>,
    meta: Option<Meta<'a>>,
    fault: Fault<'a>,
}

/// `meta_info`
#[derive(Default)]
struct Meta<'a> {
    id: &'a [u8],
    finish_reason: &'a [u8],
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
    reasoning: Option<u64>,
    clock: Clock<'a>,
}

/// The server's own times in `meta_info`, in seconds, as they are written; most need `--enable-metrics`.
#[derive(Default)]
struct Clock<'a> {
    queue: &'a [u8],
    e2e: &'a [u8],
    received_at: &'a [u8],
    first_token_at: &'a [u8],
}

// ---- Sglang

impl Sglang {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            mode: TextMode::new(asked.text_mode),
            sequences: Choices::default(),
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        if data == b"[DONE]" {
            tally.mark = Some(Terminator::Done);
            return Evidence::none(Reason::EndMark);
        }
        match (Cursor::new(data).whole(Object::read), field) {
            (Some(object), Field::Data) => self.take(&object, 0, tally),
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
        let is_error = object.fault.is_error(object.meta.is_some());
        if is_error {
            tally.error(object.fault.message());
        }
        let Some(meta) = &object.meta else {
            return Evidence::none(if is_error {
                Reason::Error
            } else {
                Reason::Unrelated
            });
        };
        tally.name(b"", meta.id);
        let Some(sequence) = self.sequences.at(object.index.unwrap_or(place)) else {
            tally.anomaly(Anomaly::TooManyChoices);
            return Evidence::none(Reason::Untracked);
        };
        sequence.prompt = meta.prompt.or(sequence.prompt);
        sequence.cached = meta.cached.or(sequence.cached);
        sequence.reasoning = meta.reasoning.or(sequence.reasoning);
        keep_text(&mut sequence.finish_reason, meta.finish_reason);
        if !meta.finish_reason.is_empty() {
            tally.times.update(meta.clock.times());
        }
        let before = sequence.counter.last();
        if let Some(mode) = listed(object.ids, before, meta.completion) {
            self.mode.settle(mode);
        }
        let shows = Shows::text(self.mode.shows(&mut sequence.text, object.text));
        let judged = sequence.counter.judge(meta.completion, shows.answer);
        if judged.went_back {
            tally.anomaly(Anomaly::CounterWentBack);
        }
        judged.evidence(
            shows,
            if meta.finish_reason.is_empty() {
                Reason::Empty
            } else {
                Reason::Finish
            },
        )
    }
}

/// What an event states, by the ids that it lists: all so far, or those since the last event.
fn listed(ids: Option<u64>, before: u64, now: Option<u64>) -> Option<Accumulation> {
    let (ids, now) = ids.zip(now)?;
    match now.checked_sub(before)? {
        _ if before == 0 => None,
        _ if ids == now => Some(Accumulation::Cumulative),
        grown if ids == grown => Some(Accumulation::Delta),
        _ => None,
    }
}

// ---- Object

impl<'a> Object<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut object = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"index" => object.index = cursor.count()?,
                b"text" => object.text = cursor.text()?.unwrap_or_default(),
                b"output_ids" => object.ids = cursor.length()?,
                b"meta_info" if cursor.peek()? == b'{' => object.meta = Some(Meta::read(cursor)?),
                _ => object.fault.member(cursor, key)?,
            }
            Some(())
        })?;
        Some(object)
    }
}

impl<'a> Meta<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut meta = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"id" => meta.id = cursor.text()?.unwrap_or_default(),
                b"finish_reason" => meta.finish_reason = read_reason(cursor)?,
                b"prompt_tokens" => meta.prompt = cursor.count()?,
                b"completion_tokens" => meta.completion = cursor.count()?,
                b"cached_tokens" => meta.cached = cursor.count()?,
                b"reasoning_tokens" => meta.reasoning = cursor.count()?,
                _ => meta.clock.member(cursor, key)?,
            }
            Some(())
        })?;
        Some(meta)
    }
}

impl<'a> Clock<'a> {
    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        let figure = match key {
            b"queue_time" => &mut self.queue,
            b"e2e_latency" => &mut self.e2e,
            b"request_received_ts" => &mut self.received_at,
            b"prefill_finished_ts" => &mut self.first_token_at,
            _ => return cursor.skip(),
        };
        *figure = cursor.figure()?.unwrap_or_default();
        Some(())
    }

    fn times(&self) -> EngineTimes {
        let seconds = |figure| nanos(figure, PER_SECOND);
        let span = seconds(self.received_at).zip(seconds(self.first_token_at));
        EngineTimes {
            queue: seconds(self.queue),
            ttft: span.and_then(|(received, first_token)| first_token.checked_sub(received)),
            e2e: seconds(self.e2e),
            ..EngineTimes::default()
        }
    }
}

/// An object with a type; older servers wrote a text.
fn read_reason<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    if cursor.peek()? != b'{' {
        return cursor.text().map(Option::unwrap_or_default);
    }
    let mut reason: &[u8] = b"";
    cursor.object(|cursor, key| {
        match key {
            b"type" => reason = cursor.text()?.unwrap_or_default(),
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(reason)
}
