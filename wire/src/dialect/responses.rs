//! `/v1/responses`, as vLLM, SGLang and llama.cpp speak it.
//!
//! Each event names its type in its data; the name in the event's own field is not needed. A token is proven by what is
//! shown alone: a delta that is not empty, or a function call whose name has come. Counts stand in the terminal event. Its
//! status, not its name, says how the answer ended: a token limit may come as `response.completed` with status
//! `incomplete`. llama.cpp may repeat `response.created` all through a stream.

#![deny(clippy::indexing_slicing)]

use super::fault::Fault;
use super::timings::Timings;
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally, Totals, keep_text};
use crate::json::Cursor;
use crate::sse::Field;
use crate::{CountSource, Reason, Terminator};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Responses {
    asked: Asked,
    totals: Totals,
    /// Status in the terminal event, or in the body.
    status: Option<String>,
}

/// One event.
#[derive(Default)]
struct Happening<'a> {
    kind: &'a [u8],
    has_delta: bool,
    item: Item<'a>,
    response: Response<'a>,
    /// llama.cpp's, beside the response.
    timings: Timings,
    fault: Fault<'a>,
}

/// The item that was added.
#[derive(Default)]
struct Item<'a> {
    kind: &'a [u8],
    has_name: bool,
}

/// The response object, which is also the body of an answer that is not streamed.
#[derive(Default)]
struct Response<'a> {
    id: &'a [u8],
    model: &'a [u8],
    status: &'a [u8],
    totals: Totals,
    fault: Fault<'a>,
}

// ---- Responses

impl Responses {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            totals: Totals::default(),
            status: None,
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match (Happening::parse(data), field) {
            (Some(happening), Field::Data) => self.happening(&happening, tally),
            (Some(happening), Field::Error) => {
                tally.error(happening.fault.message_anywhere());
                Evidence::none(Reason::Error)
            }
            (None, field) => Evidence::none(tally.unreadable(field, data)),
        }
    }

    /// Reads a whole body; whether it is an answer, and not an error or half a body.
    pub(super) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        let response = Cursor::new(body).whole(|cursor| match cursor.peek()? {
            b'{' => Response::read(cursor).map(Some),
            _ => cursor.skip().map(|()| None),
        });
        let Some(Some(response)) = response else {
            if response.is_none() {
                tally.unreadable(Field::Data, body);
            }
            return false;
        };
        if self.asked.rejected || (response.status.is_empty() && response.fault.is_error(false)) {
            tally.error(response.fault.message_anywhere());
            return false;
        }
        self.end(&response, tally);
        !tally.errored
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        Outcome {
            totals: self.totals,
            finish_reasons: self.status.iter().cloned().map(Some).collect(),
            ending: Ending::by_reasons(self.status.as_deref().into_iter()),
        }
    }

    fn happening(&mut self, happening: &Happening<'_>, tally: &mut Tally) -> Evidence {
        let Happening {
            kind,
            response,
            fault,
            ..
        } = happening;
        tally.name(response.model, response.id);
        if *kind == b"error" || fault.is_error(!kind.is_empty()) {
            tally.error(fault.message_anywhere());
        }
        let mark = match *kind {
            b"response.completed" => Some(Terminator::ResponseCompleted),
            b"response.incomplete" => Some(Terminator::ResponseIncomplete),
            b"response.failed" => Some(Terminator::ResponseFailed),
            _ => None,
        };
        if mark.is_some() {
            tally.mark = mark;
            tally.times.update(happening.timings.times);
            self.end(response, tally);
        }
        happening.evidence()
    }

    /// Takes the response as it is in the end.
    fn end(&mut self, response: &Response<'_>, tally: &mut Tally) {
        tally.name(response.model, response.id);
        self.totals = response.totals;
        keep_text(&mut self.status, response.status);
        let failed = response.status == b"failed" || tally.mark == Some(Terminator::ResponseFailed);
        if failed || response.fault.is_error(true) {
            let message = response.fault.message();
            tally.error(message.or(Some(b"response.failed")));
        }
    }
}

// ---- Happening

impl<'a> Happening<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        Cursor::new(data).whole(|cursor| {
            let mut happening = Self::default();
            cursor.object(|cursor, key| {
                match key {
                    b"type" => happening.kind = cursor.text()?.unwrap_or_default(),
                    b"delta" => happening.has_delta = cursor.has_text()?,
                    b"item" => happening.item = Item::read(cursor)?,
                    b"response" => happening.response = Response::read(cursor)?,
                    b"timings" => happening.timings = Timings::read(cursor)?,
                    _ => happening.fault.member(cursor, key)?,
                }
                Some(())
            })?;
            Some(happening)
        })
    }

    fn evidence(&self) -> Evidence {
        let named_call = self.kind == b"response.output_item.added"
            && self.item.has_name
            && matches!(self.item.kind, b"function_call" | b"custom_tool_call");
        let delta = self.has_delta && self.kind.ends_with(b".delta");
        let reasoning = delta && self.kind.starts_with(b"response.reasoning");
        let answer = named_call || (delta && !reasoning);
        let is_text = self.kind.starts_with(b"response.output_text")
            || self.kind.starts_with(b"response.refusal");
        let shows = Shows {
            reasoning,
            answer,
            tool: answer && !is_text,
        };
        Evidence::of_shown(shows, self.shows_nothing())
    }

    /// What it is for if it has no token.
    fn shows_nothing(&self) -> Reason {
        match self.kind {
            b"response.completed" | b"response.incomplete" | b"response.failed" => Reason::EndMark,
            b"response.created" | b"response.in_progress" | b"response.queued" => Reason::Opening,
            b"error" => Reason::Error,
            kind if self.fault.is_error(!kind.is_empty()) => Reason::Error,
            kind if kind.ends_with(b".added") => Reason::Opening,
            kind if kind.ends_with(b".done") => Reason::Closing,
            kind if kind.ends_with(b".delta") => Reason::Empty,
            _ => Reason::Unrelated,
        }
    }
}

impl<'a> Item<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut item = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"type" => item.kind = cursor.text()?.unwrap_or_default(),
                b"name" => item.has_name = cursor.has_text()?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(item)
    }
}

impl<'a> Response<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut response = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"id" => response.id = cursor.text()?.unwrap_or_default(),
                b"model" => response.model = cursor.text()?.unwrap_or_default(),
                b"status" => response.status = cursor.text()?.unwrap_or_default(),
                b"usage" => response.totals = read_usage(cursor)?,
                _ => response.fault.member(cursor, key)?,
            }
            Some(())
        })?;
        Some(response)
    }
}

fn read_usage(cursor: &mut Cursor<'_>) -> Option<Totals> {
    let mut totals = Totals::default();
    cursor.object(|cursor, key| {
        match key {
            b"input_tokens" => totals.input = cursor.count()?,
            b"output_tokens" => {
                totals.output = cursor.count()?.map(|count| (count, CountSource::Usage));
            }
            b"input_tokens_details" => totals.cached = cursor.count_member(b"cached_tokens")?,
            b"output_tokens_details" => {
                totals.reasoning = cursor.count_member(b"reasoning_tokens")?;
            }
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(totals)
}
