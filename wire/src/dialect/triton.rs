//! Triton's `generate` and `generate_stream`, whose outputs are those of the model behind them.
//!
//! `text_output` is what is new or all so far, and `num_output_tokens` counts the event or all so far: the model decides, the
//! bytes don't tell. The first can be learned, the second counts nothing unless it is known. Nothing marks the end but the
//! end of the body; a stream without any event is no answer. The model of vLLM's backend spells a finish reason that isn't
//! there `None`.

#![deny(clippy::indexing_slicing)]

use super::counter::{Counter, Judged};
use super::fault::Fault;
use super::text::{LastText, TextMode};
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally, Totals, keep_text};
use crate::json::Cursor;
use crate::sse::Field;
use crate::{Accumulation, Anomaly, CountSource, EngineTimes, Reason, TransportEnd};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Triton {
    asked: Asked,
    mode: TextMode,
    text: LastText,
    counts: Counts,
    input: Option<u64>,
    /// The output `finish_reason` is there, and what it said.
    gives_reason: bool,
    finish_reason: Option<String>,
}

/// What the events counted.
#[derive(Debug, Default)]
struct Counts {
    /// If they count all so far.
    counter: Counter,
    /// If each counts itself.
    sum: u64,
    /// How many counted, and what the last one said.
    stated: u64,
    last: u64,
    /// An event showed something and did not count.
    uncounted: bool,
}

/// One event, or a whole body.
#[derive(Default)]
struct Object<'a> {
    is_object: bool,
    id: &'a [u8],
    model: &'a [u8],
    text: &'a [u8],
    output: Option<u64>,
    input: Option<u64>,
    finish_reason: Option<&'a [u8]>,
    instants: Instants,
    fault: Fault<'a>,
}

/// The outputs of `return_perf_metrics`: instants of the TensorRT-LLM executor's clock, in nanoseconds.
#[derive(Default)]
struct Instants {
    arrival: Option<u64>,
    first_scheduled: Option<u64>,
    first_token: Option<u64>,
    last_token: Option<u64>,
}

// ---- Triton

impl Triton {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            mode: TextMode::new(asked.text_mode),
            text: LastText::default(),
            counts: Counts::default(),
            input: None,
            gives_reason: false,
            finish_reason: None,
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match (Object::parse(data), field) {
            (Some(object), Field::Data) => {
                if object.fault.is_error(false) {
                    tally.error(object.fault.message());
                }
                self.take(&object, tally)
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
        let Some(object) = Object::parse(body) else {
            tally.unreadable(Field::Data, body);
            return false;
        };
        if self.asked.rejected || object.fault.is_error(false) {
            tally.error(object.fault.message_anywhere());
            return false;
        }
        self.take(&object, tally);
        object.is_object
    }

    /// What is known at the end of a body in which there were so many events.
    pub(super) fn finish(&self, end: TransportEnd, events: u64) -> Outcome {
        let whole = end == TransportEnd::Clean && events > 0;
        let ending = match Ending::by_reasons(self.finish_reason.as_deref().into_iter()) {
            Ending::Open if whole => Ending::AtEof,
            ending => ending,
        };
        Outcome {
            totals: Totals {
                input: self.input,
                output: self
                    .counts
                    .total(self.asked.num_output_tokens)
                    .map(|count| (count, CountSource::Counter)),
                ..Totals::default()
            },
            finish_reasons: if self.gives_reason {
                vec![self.finish_reason.clone()]
            } else {
                Vec::new()
            },
            ending,
        }
    }

    fn take(&mut self, object: &Object<'_>, tally: &mut Tally) -> Evidence {
        tally.name(object.model, object.id);
        self.input = object.input.or(self.input);
        tally.times.update(object.instants.times());
        if let Some(reason) = object.finish_reason {
            self.gives_reason = true;
            if reason != b"None" {
                keep_text(&mut self.finish_reason, reason);
            }
        }
        let shows = Shows::text(self.mode.shows(&mut self.text, object.text));
        self.evidence(object, shows, tally)
    }

    fn evidence(&mut self, object: &Object<'_>, shows: Shows, tally: &mut Tally) -> Evidence {
        let (counts, count) = (&mut self.counts, object.output);
        counts.uncounted |= shows.answer && count.is_none();
        if let Some(count) = count {
            counts.sum = counts.sum.saturating_add(count);
            counts.stated += 1;
            counts.last = count;
        }
        match (self.asked.num_output_tokens, count) {
            (Some(Accumulation::Delta), Some(count)) => Judged {
                token: count > 0,
                grown: count,
                went_back: false,
            }
            .evidence(shows, object.shows_nothing()),
            (Some(Accumulation::Cumulative), count) => {
                let judged = counts.counter.judge(count, shows.answer);
                if judged.went_back {
                    tally.anomaly(Anomaly::CounterWentBack);
                }
                judged.evidence(shows, object.shows_nothing())
            }
            _ => Evidence::of_shown(shows, object.shows_nothing()),
        }
    }
}

impl Counts {
    fn total(&self, mode: Option<Accumulation>) -> Option<u64> {
        let (total, known) = match mode {
            Some(Accumulation::Delta) => (self.sum, !self.uncounted),
            Some(Accumulation::Cumulative) => (self.counter.last(), !self.counter.is_behind()),
            // A lone count is both.
            None => (self.last, self.stated == 1 && !self.uncounted),
        };
        (known && self.stated > 0).then_some(total)
    }
}

// ---- Object

impl<'a> Object<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        Cursor::new(data).whole(|cursor| {
            let mut object = Self {
                is_object: cursor.peek()? == b'{',
                ..Self::default()
            };
            cursor.object(|cursor, key| object.member(cursor, key))?;
            Some(object)
        })
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"id" => self.id = cursor.text()?.unwrap_or_default(),
            b"model_name" => self.model = cursor.text()?.unwrap_or_default(),
            b"text_output" => self.text = cursor.text()?.unwrap_or_default(),
            b"num_output_tokens" => self.output = cursor.count()?,
            b"num_input_tokens" => self.input = cursor.count()?,
            b"finish_reason" => self.finish_reason = cursor.text()?,
            b"arrival_time_ns" => self.instants.arrival = cursor.count()?,
            b"first_scheduled_time_ns" => self.instants.first_scheduled = cursor.count()?,
            b"first_token_time_ns" => self.instants.first_token = cursor.count()?,
            b"last_token_time_ns" => self.instants.last_token = cursor.count()?,
            _ => self.fault.member(cursor, key)?,
        }
        Some(())
    }

    /// What it is for if it has no token.
    fn shows_nothing(&self) -> Reason {
        if self.fault.is_error(false) {
            Reason::Error
        } else if !self.is_object {
            Reason::Unrelated
        } else if self.finish_reason.is_some_and(|reason| reason != b"None") {
            Reason::Finish
        } else {
            Reason::Empty
        }
    }
}

impl Instants {
    fn times(&self) -> EngineTimes {
        let span = |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?);
        EngineTimes {
            queue: span(self.arrival, self.first_scheduled),
            prefill: span(self.first_scheduled, self.first_token),
            ttft: span(self.arrival, self.first_token),
            decode: span(self.first_token, self.last_token),
            e2e: span(self.arrival, self.last_token),
        }
    }
}
