//! `/v1/messages`, Anthropic's dialect, as vLLM, SGLang, llama.cpp and trtllm-serve speak it.
//!
//! A token is proven by what is shown alone: text, thinking, a tool's arguments, or the block of a tool call, which begins
//! with its name. A ping, a signature and the beginning of a message or of another block prove nothing. The total of
//! generated tokens stands in `message_delta`; the prompt's length there or, until then, in `message_start`, which may be
//! all that an answer that was cut says about it. Tokens from a cache are not part of `input_tokens` and are added.

#![deny(clippy::indexing_slicing)]

use super::fault::Fault;
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally, Totals, add_stated, keep_text};
use crate::json::Cursor;
use crate::sse::Field;
use crate::{CountSource, Reason, Terminator};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct Messages {
    asked: Asked,
    /// What `message_start` states.
    start: Usage,
    /// What the last `message_delta`, or the body, states.
    last: Usage,
    stop_reason: Option<String>,
    /// There is no message, only an error instead of one.
    no_message: bool,
}

/// One event, or a whole body.
#[derive(Default)]
struct Happening<'a> {
    is_object: bool,
    kind: &'a [u8],
    /// The message that starts.
    message: Message<'a>,
    has_tool: bool,
    delta: Delta<'a>,
    /// What stands at the top, as a body has it.
    whole: Message<'a>,
    fault: Fault<'a>,
}

#[derive(Default)]
struct Message<'a> {
    id: &'a [u8],
    model: &'a [u8],
    stop_reason: &'a [u8],
    usage: Usage,
}

#[derive(Default)]
struct Delta<'a> {
    shows: Shows,
    stop_reason: &'a [u8],
}

/// Counts that an object states, in tokens.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    /// Without what came from the cache or went there.
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_creation: Option<u64>,
}

// ---- Messages

impl Messages {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            start: Usage::default(),
            last: Usage::default(),
            stop_reason: None,
            no_message: false,
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
        self.no_message = true;
        let Some(happening) = Happening::parse(body) else {
            tally.unreadable(Field::Data, body);
            return false;
        };
        if self.asked.rejected || happening.is_error() {
            tally.error(happening.fault.message_anywhere());
            return false;
        }
        let message = &happening.whole;
        tally.name(message.model, message.id);
        keep_text(&mut self.stop_reason, message.stop_reason);
        self.last = message.usage;
        self.no_message = !happening.is_object;
        happening.is_object
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        let finish_reasons = if self.no_message {
            Vec::new()
        } else {
            vec![self.stop_reason.clone()]
        };
        Outcome {
            totals: Totals {
                input: self.last.whole_input().or(self.start.whole_input()),
                output: self.last.output.map(|count| (count, CountSource::Usage)),
                cached: self.last.cache_read.or(self.start.cache_read),
                reasoning: None,
            },
            finish_reasons,
            ending: Ending::by_reasons(self.stop_reason.as_deref().into_iter()),
        }
    }

    fn happening(&mut self, happening: &Happening<'_>, tally: &mut Tally) -> Evidence {
        if happening.is_error() {
            tally.error(happening.fault.message_anywhere());
        }
        match happening.kind {
            b"message_start" => {
                let message = &happening.message;
                tally.name(message.model, message.id);
                self.start = message.usage;
                Evidence::none(Reason::Opening)
            }
            b"message_delta" => {
                self.last = happening.whole.usage;
                keep_text(&mut self.stop_reason, happening.delta.stop_reason);
                Evidence::none(Reason::Finish)
            }
            b"message_stop" => {
                tally.mark = Some(Terminator::MessageStop);
                Evidence::none(Reason::EndMark)
            }
            b"content_block_start" => {
                let tool = happening.has_tool;
                let shows = Shows {
                    tool,
                    ..Shows::text(tool)
                };
                Evidence::of_shown(shows, Reason::Opening)
            }
            b"content_block_delta" => Evidence::of_shown(happening.delta.shows, Reason::Empty),
            b"content_block_stop" => Evidence::none(Reason::Closing),
            b"ping" => Evidence::none(Reason::Heartbeat),
            _ if happening.is_error() => Evidence::none(Reason::Error),
            _ => Evidence::none(Reason::Unrelated),
        }
    }
}

// ---- Happening

impl<'a> Happening<'a> {
    fn parse(data: &'a [u8]) -> Option<Self> {
        Cursor::new(data).whole(|cursor| {
            let mut happening = Self {
                is_object: cursor.peek()? == b'{',
                ..Self::default()
            };
            cursor.object(|cursor, key| happening.member(cursor, key))?;
            Some(happening)
        })
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"type" => self.kind = cursor.text()?.unwrap_or_default(),
            b"message" if cursor.peek()? == b'{' => self.message = Message::read(cursor)?,
            b"content_block" => self.has_tool = read_block(cursor)?,
            b"delta" => self.delta = Delta::read(cursor)?,
            b"id" | b"model" | b"stop_reason" | b"usage" => self.whole.member(cursor, key)?,
            _ => self.fault.member(cursor, key)?,
        }
        Some(())
    }

    fn is_error(&self) -> bool {
        self.kind == b"error" || self.fault.is_error(!self.kind.is_empty())
    }
}

fn read_block(cursor: &mut Cursor<'_>) -> Option<bool> {
    let mut has_tool = false;
    cursor.object(|cursor, key| {
        match key {
            b"type" => has_tool = cursor.text()? == Some(b"tool_use"),
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(has_tool)
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut message = Self::default();
        cursor.object(|cursor, key| message.member(cursor, key))?;
        Some(message)
    }

    fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"id" => self.id = cursor.text()?.unwrap_or_default(),
            b"model" => self.model = cursor.text()?.unwrap_or_default(),
            b"stop_reason" => self.stop_reason = cursor.text()?.unwrap_or_default(),
            b"usage" => self.usage = Usage::read(cursor)?,
            _ => cursor.skip()?,
        }
        Some(())
    }
}

impl<'a> Delta<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Option<Self> {
        let mut delta = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"text" => delta.shows.answer |= cursor.has_text()?,
                b"partial_json" => {
                    let shown = cursor.has_text()?;
                    delta.shows.tool |= shown;
                    delta.shows.answer |= shown;
                }
                b"thinking" => delta.shows.reasoning |= cursor.has_text()?,
                b"stop_reason" => delta.stop_reason = cursor.text()?.unwrap_or_default(),
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(delta)
    }
}

// ---- Usage

impl Usage {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut usage = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"input_tokens" => usage.input = cursor.count()?,
                b"output_tokens" => usage.output = cursor.count()?,
                b"cache_read_input_tokens" => usage.cache_read = cursor.count()?,
                b"cache_creation_input_tokens" => usage.cache_creation = cursor.count()?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(usage)
    }

    /// The prompt with what came from the cache and what went there.
    fn whole_input(&self) -> Option<u64> {
        let cache = add_stated(self.cache_read, self.cache_creation);
        self.input
            .map(|input| input.saturating_add(cache.unwrap_or(0)))
    }
}
