//! `/v1/completions` and `/v1/chat/completions`, as vLLM's two front-ends, llama.cpp and those who imitate them speak them,
//! and vLLM's `/inference/v1/generate`, which has the same chunks under another name for their id.
//!
//! What proves a token, per choice: something shown, ids or log-probabilities of generated tokens, or a running counter
//! that grew. Where a running counter is present it decides alone: no growth, no token. A role, a progress report, a usage
//! chunk, `null` and text that is no JSON prove nothing. `object` and `id` are never used to tell chunks apart: servers
//! mislabel the one, and repeat or change the other.

mod choice;
mod chunk;
mod total;

use super::choices::Choices;
use super::counter::{Judged, exactly};
use super::{Asked, Evidence, Outcome, Shows, Tally};
use crate::sse::Field;
use crate::{Anomaly, Endpoint, Reason, Terminator, Tokens};
use choice::Choice;
use chunk::{ChoiceFacts, Chunk, Usage};
use std::mem;
use total::{FinalUsage, Lists};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct OpenAi {
    asked: Asked,
    choices: Choices<Choice>,
    usage: FinalUsage,
    lists: Lists,
    /// Choices of the chunk at hand; kept so that its memory is used again.
    scratch: Vec<ChoiceFacts>,
}

/// What a chunk proves, over its choices.
#[derive(Debug, Default)]
struct Proof {
    token: bool,
    /// Tokens that are counted, and by what first; `None` if no choice counts any.
    known: Option<(u64, Reason)>,
    shows: Shows,
    /// Listed token ids, and whether a choice with a token has no such list.
    ids: u64,
    without_ids: bool,
    /// The same of log-probabilities.
    logprobs: u64,
    without_logprobs: bool,
}

// ---- OpenAi

impl OpenAi {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            choices: Choices::default(),
            usage: FinalUsage::default(),
            lists: Lists::default(),
            scratch: Vec::new(),
        }
    }

    /// Judges the data of one event.
    pub(super) fn event(&mut self, field: Field, data: &[u8], tally: &mut Tally) -> Evidence {
        if data == b"[DONE]" {
            tally.mark = Some(Terminator::Done);
            return Evidence::none(Reason::EndMark);
        }
        match (self.parse(data), field) {
            (Some(chunk), Field::Data) => self.chunk(data, &chunk, tally),
            (Some(chunk), Field::Error) => {
                tally.error(chunk.error.message_anywhere());
                Evidence::none(Reason::Error)
            }
            (None, field) => Evidence::none(tally.unreadable(field, data)),
        }
    }

    /// Reads a whole body; whether it is an answer, and not an error or half a body.
    pub(super) fn body(&mut self, body: &[u8], tally: &mut Tally) -> bool {
        let Some(chunk) = self.parse(body) else {
            if !body.is_empty() {
                tally.anomaly(Anomaly::BadJson);
            }
            return false;
        };
        if self.asked.rejected || chunk.error.is_error(!self.scratch.is_empty()) {
            tally.error(chunk.error.message_anywhere());
            return false;
        }
        tally.name(chunk.model, self.id_of(&chunk));
        tally.times.update(chunk.times);
        self.lists.prompt(&chunk);
        let mut proof = Proof::default();
        for facts in &self.scratch {
            match self.choices.at(facts.index) {
                Some(choice) => choice.note(body, facts),
                None => tally.anomaly(Anomaly::TooManyChoices),
            }
            proof.add(
                facts,
                Judged {
                    token: true,
                    ..Judged::default()
                },
            );
        }
        self.lists.take(&proof);
        self.usage.add(self.body_usage(&chunk));
        chunk.is_object
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        Outcome {
            totals: self.totals(),
            finish_reasons: self.choices.finish_reasons(),
            ending: match self.asked.endpoint {
                Endpoint::InferenceGenerate => self.choices.ending().without_mark(),
                _ => self.choices.ending(),
            },
        }
    }

    fn id_of<'a>(&self, chunk: &Chunk<'a>) -> &'a [u8] {
        match self.asked.endpoint {
            Endpoint::InferenceGenerate => chunk.request_id,
            _ => chunk.id,
        }
    }

    fn parse<'a>(&mut self, data: &'a [u8]) -> Option<Chunk<'a>> {
        let chunk = Chunk::parse(data, &mut self.scratch)?;
        if self.asked.echo {
            self.scratch.iter_mut().for_each(|facts| facts.logprobs = 0);
        }
        Some(chunk)
    }

    fn chunk(&mut self, data: &[u8], chunk: &Chunk<'_>, tally: &mut Tally) -> Evidence {
        tally.name(chunk.model, self.id_of(chunk));
        tally.times.update(chunk.times);
        self.lists.prompt(chunk);
        if chunk.error.is_error(!self.scratch.is_empty()) {
            tally.error(chunk.error.message());
        }
        if let (true, Some(usage)) = (self.scratch.is_empty(), chunk.statement.usage) {
            self.usage.add(usage);
        }
        let mut proof = Proof::default();
        // A chunk's counter counts one choice. Should a chunk have several, it is taken for the first one's.
        let mut statement = chunk.statement;
        for facts in &self.scratch {
            let judged = match self.choices.at(facts.index) {
                Some(choice) => {
                    choice.note(data, facts);
                    choice.judge(facts, mem::take(&mut statement))
                }
                None => {
                    tally.anomaly(Anomaly::TooManyChoices);
                    Judged {
                        token: facts.is_evident(),
                        ..Judged::default()
                    }
                }
            };
            if judged.went_back {
                tally.anomaly(Anomaly::CounterWentBack);
            }
            proof.add(facts, judged);
        }
        self.lists.take(&proof);
        proof
            .evidence()
            .unwrap_or_else(|| self.without_token(chunk, proof.shows))
    }

    /// What a chunk is that proves no token.
    fn without_token(&self, chunk: &Chunk<'_>, shows: Shows) -> Evidence {
        let any = |is: fn(&ChoiceFacts) -> bool| self.scratch.iter().any(is);
        let reason = if chunk.error.is_error(!self.scratch.is_empty()) {
            Reason::Error
        } else if any(ChoiceFacts::is_evident) {
            Reason::NoGrowth
        } else if any(|facts| !facts.finish_reason.is_empty()) {
            Reason::Finish
        } else if chunk.has_progress {
            Reason::Progress
        } else if any(|facts| facts.has_role) {
            Reason::Role
        } else if !self.scratch.is_empty() {
            Reason::Empty
        } else if chunk.statement.usage.is_some() {
            Reason::Usage
        } else {
            Reason::Unrelated
        };
        Evidence {
            shows,
            ..Evidence::none(reason)
        }
    }

    /// llama.cpp's bodies count the first choice and its prompt alone; they are known by their timings.
    fn body_usage(&self, chunk: &Chunk<'_>) -> Usage {
        let usage = chunk.statement.usage.unwrap_or_default();
        if chunk.statement.timings.is_some() && self.scratch.len() > 1 {
            return Usage {
                output: None,
                prompt: usage.prompt.filter(|_| self.asked.prompts == 1),
                cached: usage.cached.filter(|_| self.asked.prompts == 1),
                ..usage
            };
        }
        usage
    }
}

// ---- Proof

impl Proof {
    fn add(&mut self, facts: &ChoiceFacts, judged: Judged) {
        self.shows.answer |= facts.shows.answer;
        self.shows.reasoning |= facts.shows.reasoning;
        self.shows.tool |= facts.shows.tool;
        if !judged.token {
            return;
        }
        self.token = true;
        let counts = [
            (facts.token_ids, Reason::TokenIds),
            (facts.logprobs, Reason::Logprobs),
            (judged.grown, Reason::Counter),
        ];
        if let Some((count, reason)) = counts.into_iter().find(|(count, _)| *count > 0) {
            let (before, reason) = self.known.unwrap_or((0, reason));
            self.known = Some((before.saturating_add(count), reason));
        }
        self.ids = self.ids.saturating_add(facts.token_ids);
        self.without_ids |= facts.token_ids == 0;
        self.logprobs = self.logprobs.saturating_add(facts.logprobs);
        self.without_logprobs |= facts.logprobs == 0;
    }

    /// What is proven, if any token is.
    fn evidence(&self) -> Option<Evidence> {
        let (tokens, reason) = match self.known {
            None => (Tokens::AtLeastOne, self.shows.reason()),
            Some((known, reason)) => (exactly(known), reason),
        };
        self.token.then_some(Evidence {
            tokens,
            reason,
            shows: self.shows,
        })
    }
}
