//! `/api/chat` and `/api/generate` in Ollama's shape: an object a line, the last one with `done`.
//!
//! A token is proven by what is shown alone. The last line may count; SGLang's doesn't.

#![deny(clippy::indexing_slicing)]

use super::fault::Fault;
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally, Totals, keep_text};
use crate::json::Cursor;
use crate::sse::Field;
use crate::{CountSource, Reason, Terminator};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Ollama {
    pub(super) asked: Asked,
    totals: Totals,
    done_reason: Option<String>,
    /// There is only an error instead of an answer.
    no_answer: bool,
}

/// One line, or a whole body.
#[derive(Default)]
struct Line<'a> {
    is_object: bool,
    model: &'a [u8],
    shows: Shows,
    is_done: bool,
    done_reason: &'a [u8],
    input: Option<u64>,
    output: Option<u64>,
    fault: Fault<'a>,
}

// ---- Ollama

impl Ollama {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            totals: Totals::default(),
            done_reason: None,
            no_answer: false,
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        match (Line::parse(data), field) {
            (Some(line), Field::Data) => {
                let mut reason = if line.is_object {
                    Reason::Empty
                } else {
                    Reason::Unrelated
                };
                self.take(&line, tally);
                if line.is_done {
                    tally.mark = Some(Terminator::OllamaDone);
                    reason = Reason::EndMark;
                }
                if line.fault.is_error(line.is_done || line.shows.anything()) {
                    tally.error(line.fault.message());
                    reason = Reason::Error;
                }
                Evidence::of_shown(line.shows, reason)
            }
            (Some(line), Field::Error) => {
                tally.error(line.fault.message_anywhere());
                Evidence::none(Reason::Error)
            }
            (None, field) => Evidence::none(tally.unreadable(field, data)),
        }
    }

    /// Reads a whole body; whether it is an answer, and not an error or half a body.
    pub(super) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        self.no_answer = true;
        let Some(line) = Line::parse(body) else {
            tally.unreadable(Field::Data, body);
            return false;
        };
        if self.asked.rejected || line.fault.is_error(line.is_done) {
            tally.error(line.fault.message_anywhere());
            return false;
        }
        self.take(&line, tally);
        self.no_answer = !line.is_object;
        line.is_object
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        Outcome {
            totals: self.totals,
            finish_reasons: if self.no_answer {
                Vec::new()
            } else {
                vec![self.done_reason.clone()]
            },
            ending: Ending::by_reasons(self.done_reason.as_deref().into_iter()),
        }
    }

    fn take(&mut self, line: &Line<'_>, tally: &mut Tally) {
        tally.name(line.model, b"");
        keep_text(&mut self.done_reason, line.done_reason);
        if line.is_done {
            self.totals = Totals {
                input: line.input,
                output: line.output.map(|count| (count, CountSource::Usage)),
                ..Totals::default()
            };
        }
    }
}

// ---- Line

impl<'a> Line<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        Cursor::new(data).whole(|cursor| {
            let mut line = Self {
                is_object: cursor.peek()? == b'{',
                ..Self::default()
            };
            cursor.object(|cursor, key| line.member(cursor, key))?;
            Some(line)
        })
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"model" => self.model = cursor.text()?.unwrap_or_default(),
            b"message" if cursor.peek()? == b'{' => {
                cursor.object(|cursor, key| self.shown(cursor, key))?;
            }
            b"response" | b"thinking" => self.shown(cursor, key)?,
            b"done" => self.is_done = cursor.is_true()?,
            b"done_reason" => self.done_reason = cursor.text()?.unwrap_or_default(),
            b"prompt_eval_count" => self.input = cursor.count()?,
            b"eval_count" => self.output = cursor.count()?,
            _ => self.fault.member(cursor, key)?,
        }
        Some(())
    }

    fn shown(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"content" | b"response" => self.shows.answer |= cursor.has_text()?,
            b"thinking" => self.shows.reasoning |= cursor.has_text()?,
            b"tool_calls" => {
                let shown = cursor.is_filled()?;
                self.shows.tool |= shown;
                self.shows.answer |= shown;
            }
            _ => cursor.skip()?,
        }
        Some(())
    }
}
