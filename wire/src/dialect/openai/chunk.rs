//! One JSON object of an answer: a chunk of a stream, or a whole body. Borrowed, typed, and lenient: a member of an
//! unexpected type reads as absent, unknown members are skipped, of two with the same key the last holds.

#![deny(clippy::indexing_slicing)]

use crate::EngineTimes;
use crate::dialect::Shows;
use crate::dialect::fault::Fault;
use crate::dialect::timings::{self, Timings};
use crate::json::{Cursor, Span};
use crate::limits;

/// What measuring needs of a chunk. Texts are as they are written in JSON, escapes and all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    /// It is an object, not `null` or the like.
    pub(super) is_object: bool,
    pub(super) id: &'a [u8],
    /// The id on `/inference/v1/generate`.
    pub(super) request_id: &'a [u8],
    pub(super) model: &'a [u8],
    pub(super) statement: Statement,
    /// The engine's own times: of llama.cpp, or of vLLM.
    pub(super) times: EngineTimes,
    /// Length of the prompt's token ids (vLLM chat).
    pub(super) prompt_ids: Option<u64>,
    /// llama.cpp reports how far the prompt is.
    pub(super) has_progress: bool,
    /// SGLang's lists of all ids, sent once at the end.
    pub(super) all_ids: AllIds,
    pub(super) error: Fault<'a>,
}

/// What one element of `choices` says.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChoiceFacts {
    pub(super) index: u64,
    pub(super) shows: Shows,
    /// Its delta names a role.
    pub(super) has_role: bool,
    /// Generated token ids; 0 if there is no list.
    pub(super) token_ids: u64,
    /// Tokens with a log-probability; 0 if there is no list.
    pub(super) logprobs: u64,
    pub(super) prompt_ids: Option<u64>,
    /// Empty if there is none.
    pub(super) finish_reason: Span,
}

/// The objects of a chunk that count tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) usage: Option<Usage>,
    /// llama.cpp's own counts.
    pub(super) timings: Option<Usage>,
}

/// Counts that an object states, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) prompt: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) cached: Option<u64>,
    pub(super) reasoning: Option<u64>,
}

/// Lengths of SGLang's `sglext` lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct AllIds {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
}

// ---- Chunk

impl<'a> Chunk<'a> {
    /// Reads a chunk, and its choices into `choices`; `None`, and no choices, if `data` is no JSON.
    pub(super) fn parse(data: &'a [u8], choices: &mut Vec<ChoiceFacts>) -> Option<Self> {
        choices.clear();
        let chunk = Cursor::new(data).whole(|cursor| {
            let mut chunk = Self {
                is_object: cursor.peek()? == b'{',
                ..Self::default()
            };
            cursor.object(|cursor, key| chunk.member(cursor, key, choices))?;
            Some(chunk)
        });
        if chunk.is_none() {
            choices.clear();
        }
        chunk
    }

    fn member(
        &mut self,
        cursor: &mut Cursor<'a>,
        key: &[u8],
        choices: &mut Vec<ChoiceFacts>,
    ) -> Option<()> {
        match key {
            b"id" => self.id = cursor.text()?.unwrap_or_default(),
            b"request_id" => self.request_id = cursor.text()?.unwrap_or_default(),
            b"model" => self.model = cursor.text()?.unwrap_or_default(),
            b"choices" => read_choices(cursor, choices)?,
            b"usage" => self.statement.usage = Usage::read(cursor)?,
            b"timings" if cursor.peek()? == b'{' => {
                let timings = Timings::read(cursor)?;
                self.statement.timings = Some(Usage::of_timings(&timings));
                self.times = timings.times;
            }
            b"metrics" => self.times = timings::read_vllm(cursor)?,
            b"prompt_token_ids" => self.prompt_ids = cursor.length()?,
            b"prompt_progress" => self.has_progress = cursor.is_filled()?,
            b"sglext" => self.all_ids = AllIds::read(cursor)?,
            _ => self.error.member(cursor, key)?,
        }
        Some(())
    }
}

// ---- ChoiceFacts

fn read_choices(cursor: &mut Cursor<'_>, choices: &mut Vec<ChoiceFacts>) -> Option<()> {
    choices.clear();
    cursor.array(|cursor| {
        if cursor.peek()? != b'{' {
            return cursor.skip();
        }
        let facts = ChoiceFacts::read(cursor)?;
        // One above the limit is kept, so that whoever counts them sees that it was passed.
        if choices.len() <= limits::CHOICES {
            choices.push(facts);
        }
        Some(())
    })
}

impl ChoiceFacts {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut facts = Self::default();
        let mut text = false;
        cursor.object(|cursor, key| {
            match key {
                b"index" => facts.index = cursor.count()?.unwrap_or_default(),
                b"text" => text = cursor.has_text()?,
                b"delta" => (facts.shows, facts.has_role) = read_delta(cursor)?,
                b"logprobs" => facts.logprobs = read_logprobs(cursor)?,
                b"token_ids" => facts.token_ids = cursor.length()?.unwrap_or_default(),
                b"prompt_token_ids" => facts.prompt_ids = cursor.length()?,
                b"finish_reason" => facts.finish_reason = cursor.text_span()?.unwrap_or_default(),
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        facts.shows.answer |= text;
        Some(facts)
    }

    /// Whether a token is evident without any counter.
    pub(super) fn is_evident(&self) -> bool {
        self.shows.anything() || self.token_ids > 0 || self.logprobs > 0
    }
}

/// What a delta shows, and whether it names a role.
fn read_delta(cursor: &mut Cursor<'_>) -> Option<(Shows, bool)> {
    let (mut shows, mut has_role) = (Shows::default(), false);
    cursor.object(|cursor, key| {
        match key {
            b"content" | b"refusal" => shows.answer |= cursor.has_text()?,
            b"reasoning" | b"reasoning_content" => shows.reasoning |= cursor.has_text()?,
            b"tool_calls" => cursor.array(|cursor| {
                shows.tool |= read_tool_call(cursor)?;
                Some(())
            })?,
            b"function_call" => shows.tool |= read_function(cursor)?,
            b"role" => has_role = cursor.has_text()?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    shows.answer |= shows.tool;
    Some((shows, has_role))
}

fn read_tool_call(cursor: &mut Cursor<'_>) -> Option<bool> {
    let mut shows = false;
    cursor.object(|cursor, key| {
        match key {
            b"function" | b"custom" => shows |= read_function(cursor)?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(shows)
}

fn read_function(cursor: &mut Cursor<'_>) -> Option<bool> {
    let mut shows = false;
    cursor.object(|cursor, key| {
        match key {
            b"name" | b"arguments" | b"input" => shows |= cursor.is_filled()?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(shows)
}

/// Chat lists tokens in `content`, completions in `tokens`.
fn read_logprobs(cursor: &mut Cursor<'_>) -> Option<u64> {
    let mut tokens = 0;
    cursor.object(|cursor, key| {
        match key {
            b"content" | b"tokens" => tokens = tokens.max(cursor.length()?.unwrap_or_default()),
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(tokens)
}

// ---- Usage

impl Usage {
    fn read(cursor: &mut Cursor<'_>) -> Option<Option<Self>> {
        if cursor.peek()? != b'{' {
            return cursor.skip().map(|()| None);
        }
        let mut usage = Self::default();
        let mut reasoning = None;
        cursor.object(|cursor, key| {
            match key {
                b"prompt_tokens" => usage.prompt = cursor.count()?,
                b"completion_tokens" => usage.output = cursor.count()?,
                b"prompt_tokens_details" => usage.cached = cursor.count_member(b"cached_tokens")?,
                b"completion_tokens_details" => {
                    usage.reasoning = cursor.count_member(b"reasoning_tokens")?;
                }
                // SGLang has it here.
                b"reasoning_tokens" => reasoning = cursor.count()?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        usage.reasoning = usage.reasoning.or(reasoning);
        Some(Some(usage))
    }

    /// `prompt_n` leaves out what came from the cache, so that without `cache_n` the prompt's length is unknown.
    fn of_timings(timings: &Timings) -> Self {
        let whole = timings.processed.zip(timings.cached);
        Self {
            prompt: whole.map(|(processed, cached)| processed.saturating_add(cached)),
            output: timings.predicted,
            cached: timings.cached,
            reasoning: None,
        }
    }
}

impl AllIds {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut ids = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"input_ids" => ids.input = cursor.length()?,
                b"output_ids" if cursor.peek()? == b'[' => {
                    let mut sum: u64 = 0;
                    cursor.array(|cursor| {
                        sum = sum.saturating_add(cursor.length()?.unwrap_or_default());
                        Some(())
                    })?;
                    ids.output = Some(sum);
                }
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        Some(ids)
    }
}
