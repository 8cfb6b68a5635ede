//! Totals of an ended answer, from the best source that it offered.
//!
//! In this order: usage stated for the whole answer, running usage counters, token ids, log-probabilities, llama.cpp's
//! own counter. A source counts only if it covers every token event; otherwise the next one is asked.

use super::choice::{Choice, Stated};
use super::chunk::{Chunk, Usage};
use super::{OpenAi, Proof};
use crate::dialect::{Totals, add_stated};
use crate::{CountSource, Endpoint};

/// Usage objects on chunks without choices.
#[derive(Debug, Default)]
pub(super) struct FinalUsage {
    count: usize,
    sum: Usage,
    last: Usage,
}

/// Lengths of lists of tokens, over the whole answer.
#[derive(Debug, Default)]
pub(super) struct Lists {
    ids: List,
    logprobs: List,
    /// SGLang's list of all output ids.
    all_output: Option<u64>,
    /// SGLang's list of all input ids, or the prompt's ids of a chat.
    prompt: Option<u64>,
}

#[derive(Debug, Default)]
struct List {
    tokens: u64,
    /// A token event had none.
    missing: bool,
}

// ---- FinalUsage

impl FinalUsage {
    pub(super) fn add(&mut self, usage: Usage) {
        if self.count == 0 {
            self.sum = usage;
        } else {
            self.sum = Usage {
                prompt: self
                    .sum
                    .prompt
                    .zip(usage.prompt)
                    .map(|(sum, prompt)| sum.saturating_add(prompt)),
                output: self
                    .sum
                    .output
                    .zip(usage.output)
                    .map(|(sum, output)| sum.saturating_add(output)),
                cached: add_stated(self.sum.cached, usage.cached),
                reasoning: add_stated(self.sum.reasoning, usage.reasoning),
            };
        }
        self.count += 1;
        self.last = usage;
    }

    /// Completions: TensorRT-LLM sends one for each prompt, the others one in all. Chat: llama.cpp sends one for each
    /// choice, each with the whole prompt; from the others the last one holds.
    fn total(&self, endpoint: Endpoint, choices: usize) -> Usage {
        match endpoint {
            Endpoint::Completions => self.sum,
            Endpoint::ChatCompletions if self.count == choices => Usage {
                prompt: self.last.prompt,
                cached: self.last.cached,
                ..self.sum
            },
            _ => self.last,
        }
    }
}

// ---- Lists

impl Lists {
    /// Notes the prompt's ids that a chunk carries.
    pub(super) fn prompt(&mut self, chunk: &Chunk<'_>) {
        self.prompt = chunk.prompt_ids.or(chunk.all_ids.input).or(self.prompt);
        self.all_output = chunk.all_ids.output.or(self.all_output);
    }

    /// Notes what a chunk with choices proved.
    pub(super) fn take(&mut self, proof: &Proof) {
        if proof.token {
            self.ids.add(proof.ids, proof.without_ids);
            self.logprobs.add(proof.logprobs, proof.without_logprobs);
        }
    }
}

impl List {
    fn add(&mut self, tokens: u64, missing: bool) {
        self.tokens = self.tokens.saturating_add(tokens);
        self.missing |= missing;
    }

    /// The length of all lists, if every token event had one.
    fn total(&self) -> Option<u64> {
        (self.tokens > 0 && !self.missing).then_some(self.tokens)
    }
}

// ---- OpenAi

impl OpenAi {
    pub(super) fn totals(&self) -> Totals {
        let stated = self.usage.total(self.asked.endpoint, self.choices.len());
        let mut totals = self
            .stated(stated, CountSource::Usage)
            .or_else(|| self.over_choices(|choice| &choice.usage))
            .or_else(|| {
                self.listed(
                    self.lists.ids.total().or(self.lists.all_output),
                    CountSource::TokenIds,
                )
            })
            .or_else(|| self.listed(self.lists.logprobs.total(), CountSource::Logprobs))
            .or_else(|| {
                let (totals, _) = self.sum(|choice| &choice.timings)?;
                self.stated(totals, CountSource::Counter)
            })
            .unwrap_or_default();
        totals.input = totals.input.or_else(|| self.prompt_ids()).or(stated.prompt);
        totals.cached = totals.cached.or(stated.cached);
        totals
    }

    fn stated(&self, usage: Usage, source: CountSource) -> Option<Totals> {
        let output = Some((usage.output?, source));
        Some(Totals {
            input: usage.prompt,
            output,
            cached: usage.cached,
            reasoning: usage.reasoning,
        })
    }

    fn listed(&self, output: Option<u64>, source: CountSource) -> Option<Totals> {
        Some(Totals {
            output: Some((output?, source)),
            ..Totals::default()
        })
    }

    fn over_choices(&self, of: impl Fn(&Choice) -> &Stated) -> Option<Totals> {
        let (usage, all_totals) = self.sum(of)?;
        self.stated(
            usage,
            if all_totals {
                CountSource::Usage
            } else {
                CountSource::Continuous
            },
        )
    }

    /// The last statements of one kind, added over all choices, and whether each of them is a total by intent.
    fn sum(&self, of: impl Fn(&Choice) -> &Stated) -> Option<(Usage, bool)> {
        let mut sum = Usage::default();
        let mut all_totals = true;
        for stated in self.choices.all()?.map(&of) {
            // A choice that proved no token and states nothing has none.
            if stated.behind {
                return None;
            }
            let Some(last) = stated.last else { continue };
            sum.output = add_stated(sum.output, last.output);
            sum.reasoning = add_stated(sum.reasoning, last.reasoning);
            all_totals &= stated.total;
        }
        let once = |count: fn(Usage) -> Option<u64>| {
            self.choices
                .once_per_prompt(&self.asked, |choice| count(of(choice).last?))
        };
        sum.prompt = once(|usage| usage.prompt);
        sum.cached = once(|usage| usage.cached);
        Some((sum, all_totals))
    }

    fn prompt_ids(&self) -> Option<u64> {
        self.lists.prompt.or_else(|| {
            self.choices
                .once_per_prompt(&self.asked, |choice| choice.prompt_ids)
        })
    }
}
