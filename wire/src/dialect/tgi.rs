//! TGI's own routes: `/generate`, `/generate_stream` and `/`.
//!
//! An event is one token, exactly; `index` numbers them from 1. Half characters are tokens without text, and the end-of-text
//! token has a marker for a text that nobody is meant to see. The end is the event with `generated_text`; details come with
//! it if they were asked for. All errors of a stream come inside a 200. The head of a body that is not streamed counts, the
//! prompt too, and is asked before the details.

#![deny(clippy::indexing_slicing)]

use super::fault::Fault;
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally, Totals, keep_text};
use crate::json::{Cursor, read_objects};
use crate::sse::Field;
use crate::{CountSource, Reason, Tokens};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Tgi {
    asked: Asked,
    /// Events with a token.
    tokens: u64,
    /// Number of the last token, where events say it.
    index: Option<u64>,
    details: Counts,
    finish_reason: Option<String>,
    /// The head's counts are those of this answer.
    has_head_counts: bool,
    /// `generated_text` came.
    ended: bool,
}

/// One event, or one element of a body.
#[derive(Default)]
struct Object<'a> {
    index: Option<u64>,
    token: Option<Token>,
    has_generated_text: bool,
    details: Details<'a>,
    fault: Fault<'a>,
}

#[derive(Default)]
struct Token {
    has_text: bool,
    is_special: bool,
}

#[derive(Default)]
struct Details<'a> {
    finish_reason: &'a [u8],
    counts: Counts,
}

/// What details count, in tokens.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    input: Option<u64>,
    generated: Option<u64>,
}

// ---- Tgi

impl Tgi {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            tokens: 0,
            index: None,
            details: Counts::default(),
            finish_reason: None,
            has_head_counts: false,
            ended: false,
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match (Cursor::new(data).whole(Object::read), field) {
            (Some(object), Field::Data) => self.take(&object, tally),
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
        let Some(object) = objects.first() else {
            return false;
        };
        if self.asked.rejected {
            tally.error(object.fault.message_anywhere());
            return false;
        }
        self.take(object, tally);
        self.has_head_counts = self.ended;
        !tally.errored
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        let reasons = if self.tokens > 0 || self.ended {
            vec![self.finish_reason.clone()]
        } else {
            Vec::new()
        };
        let ending = match Ending::by_reasons(self.finish_reason.as_deref().into_iter()) {
            Ending::Open if self.ended => Ending::AtEof,
            ending => ending,
        };
        Outcome {
            totals: self.totals(),
            finish_reasons: reasons,
            ending,
        }
    }

    fn take(&mut self, object: &Object<'_>, tally: &mut Tally) -> Evidence {
        let is_error = object
            .fault
            .is_error(object.token.is_some() || object.has_generated_text);
        if is_error {
            tally.error(object.fault.message());
        }
        self.ended |= object.has_generated_text;
        self.details = Counts {
            input: object.details.counts.input.or(self.details.input),
            generated: object.details.counts.generated.or(self.details.generated),
        };
        keep_text(&mut self.finish_reason, object.details.finish_reason);
        let Some(token) = &object.token else {
            return Evidence::none(match object.has_generated_text {
                _ if is_error => Reason::Error,
                true => Reason::Finish,
                false => Reason::Unrelated,
            });
        };
        self.tokens += 1;
        self.index = object.index;
        Evidence {
            tokens: Tokens::Exactly(1),
            reason: Reason::OneEach,
            shows: Shows::text(token.has_text && !token.is_special),
        }
    }

    fn totals(&self) -> Totals {
        let head = self.asked.generated_tokens.filter(|_| self.has_head_counts);
        let by_head = head.map(|count| (count, CountSource::Headers));
        let by_details = self
            .details
            .generated
            .map(|count| (count, CountSource::Usage));
        let by_index = self.index.map(|count| (count, CountSource::Counter));
        // Older servers don't number the events; each lists one id.
        let by_ids = (self.tokens > 0).then_some((self.tokens, CountSource::TokenIds));
        Totals {
            input: self
                .asked
                .prompt_tokens
                .filter(|_| self.has_head_counts)
                .or(self.details.input),
            output: by_head.or(by_details).or(by_index).or(by_ids),
            ..Totals::default()
        }
    }
}

// ---- Object

impl<'a> Object<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut object = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"index" => object.index = cursor.count()?,
                b"token" if cursor.peek()? == b'{' => object.token = Some(Token::read(cursor)?),
                b"generated_text" => object.has_generated_text = cursor.text()?.is_some(),
                b"details" => object.details = Details::read(cursor)?,
                _ => object.fault.member(cursor, key)?,
            }
            Some(())
        })?;
        Some(object)
    }
}

impl Token {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut token = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"text" => token.has_text = cursor.has_text()?,
                b"special" => token.is_special = cursor.is_true()?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(token)
    }
}

impl<'a> Details<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut details = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"finish_reason" => details.finish_reason = cursor.text()?.unwrap_or_default(),
                b"generated_tokens" => details.counts.generated = cursor.count()?,
                b"input_length" => details.counts.input = cursor.count()?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(details)
    }
}
