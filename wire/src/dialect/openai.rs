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
use super::{Asked, Evidence, Outcome, Shows, Tally, add_stated};
use crate::sse::Field;
use crate::{Anomaly, Endpoint, Terminator, Tokens};
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
    /// Tokens that are counted; `None` if no choice counts any.
    known: Option<u64>,
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
            return Evidence::NONE;
        }
        match (self.parse(data), field) {
            (Some(chunk), Field::Data) => return self.chunk(data, &chunk, tally),
            (Some(chunk), Field::Error) => tally.error(chunk.error.message_anywhere()),
            (None, field) => tally.unreadable(field, data),
        }
        Evidence::NONE
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
        proof.evidence()
    }

    /// llama.cpp's bodies count the first choice alone; it is known by its timings.
    fn body_usage(&self, chunk: &Chunk<'_>) -> Usage {
        let usage = chunk.statement.usage.unwrap_or_default();
        if chunk.statement.timings.is_some() && self.scratch.len() > 1 {
            return Usage {
                output: None,
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
        if !judged.token {
            return;
        }
        self.token = true;
        let known = [facts.token_ids, facts.logprobs, judged.grown]
            .into_iter()
            .find(|count| *count > 0);
        self.known = add_stated(self.known, known);
        self.ids = self.ids.saturating_add(facts.token_ids);
        self.without_ids |= facts.token_ids == 0;
        self.logprobs = self.logprobs.saturating_add(facts.logprobs);
        self.without_logprobs |= facts.logprobs == 0;
    }

    fn evidence(&self) -> Evidence {
        let tokens = match self.known {
            _ if !self.token => Tokens::None,
            None => Tokens::AtLeastOne,
            Some(known) => exactly(known),
        };
        Evidence {
            tokens,
            shows: self.shows,
        }
    }
}
