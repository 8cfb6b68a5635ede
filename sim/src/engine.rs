//! A pure simulation of continuous batching: no clock, no IO, no randomness but its seed.
//!
//! Time is the caller's monotonic clock, in nanoseconds. [`Engine::step`] forms one batch, says how long it takes and
//! which tokens it yields at its end; what is submitted or cancelled meanwhile counts from the next step on.
//!
//! A step serves the running sequences first, oldest first, then admits waiting ones, oldest first. Where a running
//! sequence finds no block, the youngest one loses its blocks, goes back to the head of the queue and is computed again.
//!
//! Invariants: the same seed and the same calls give the same trace; every accepted request that is not cancelled emits
//! exactly its tokens, the last with its finish; no more blocks, sequences or tokens a step than the [`Profile`] has.
//!
//! Limits: only prompts are found again in the prefix cache, generated tokens are not. A sequence's blocks are shared
//! from the step on in which they are computed.

mod prompt;
mod sequence;

use std::collections::VecDeque;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
pub use wire::encode::Finish;

use self::prompt::block_hashes;
use self::sequence::Sequence;
use crate::kv::BlockPool;
use crate::profile::{MILLION, PrefixCache, Profile, Speculation};

/// A request as the engine sees it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Token ids of the prompt. Equal beginnings share blocks.
    pub prompt: Vec<u32>,
    /// Tokens that it will generate, the end-of-text token included.
    pub output_tokens: u32,
    /// Why it ends after them.
    pub finish: Finish,
}

/// An accepted request. Never used twice by one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

/// Why a request was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing to compute.
    #[error("the prompt has no token; send at least one")]
    EmptyPrompt,
    /// There is nothing to generate.
    #[error("no output token is asked for; ask for at least one")]
    EmptyOutput,
    /// It would never fit.
    #[error("prompt and output have {tokens} tokens together; this deployment holds {limit}")]
    TooLong {
        /// Prompt and output of the request, in tokens.
        tokens: u64,
        /// See [`Profile::longest_sequence`].
        limit: u32,
    },
    /// The queue has reached its limit.
    #[error("{limit} requests are waiting already; try again later")]
    QueueFull {
        /// See [`Profile::max_waiting`].
        limit: u32,
    },
}

/// One batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When it began: now, or the end of the step before if that is later.
    pub starts_at_ns: u64,
    /// When its tokens are there.
    pub ends_at_ns: u64,
    /// Tokens decoded, drafts included.
    pub decoded_tokens: u32,
    /// Prompt tokens computed, and tokens computed again after a preemption.
    pub prefilled_tokens: u32,
    /// What it yields, oldest sequence first.
    pub emissions: Vec<Emission>,
    /// Requests that it took out of the queue for the first time.
    pub admitted: Vec<RequestId>,
}

/// New tokens of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emission {
    /// Whose.
    pub id: RequestId,
    /// How many; never 0.
    pub tokens: u32,
    /// Prompt tokens that this request found in the prefix cache when it was first admitted.
    pub cached: u32,
    /// Set on the last emission of a request.
    pub finished: Option<Finish>,
}

/// What an engine holds at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Sequences in the batch.
    pub running: u32,
    /// Requests not admitted yet, preempted ones included.
    pub waiting: u32,
    /// Blocks that running sequences hold.
    pub kv_blocks: u32,
    /// Preemptions so far.
    pub preemptions: u64,
}

/// What an engine has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Prompt tokens of all requests admitted.
    pub prompt_tokens: u64,
    /// Those of them that the prefix cache had.
    pub cached_tokens: u64,
    /// Tokens generated.
    pub generated_tokens: u64,
    /// Requests that have generated all their tokens.
    pub finished: u64,
}

/// The simulated engine.
#[derive(Debug)]
pub struct Engine {
    profile: Profile,
    random: Pcg64,
    pool: BlockPool,
    /// Oldest first.
    running: Vec<Sequence>,
    waiting: VecDeque<Sequence>,
    busy_until_ns: u64,
    next_id: u64,
    preemptions: u64,
    work: Work,
}

/// What a step computes: for each running sequence, in order, its tokens (0 where the budget did not reach).
#[derive(Debug, Default)]
struct Batch {
    tokens: Vec<u32>,
    budget: u32,
    admitted: Vec<RequestId>,
}

impl Engine {
    /// An idle engine.
    pub fn new(profile: Profile, seed: u64) -> Self {
        Self {
            random: Pcg64::seed_from_u64(seed),
            pool: BlockPool::new(profile.kv_blocks),
            running: Vec::new(),
            waiting: VecDeque::new(),
            busy_until_ns: 0,
            next_id: 0,
            preemptions: 0,
            work: Work::default(),
            profile,
        }
    }

    /// Its settings.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// What it holds.
    pub fn load(&self) -> Load {
        Load {
            running: count(self.running.len()),
            waiting: count(self.waiting.len()),
            kv_blocks: self.pool.held(),
            preemptions: self.preemptions,
        }
    }

    /// What it has done.
    pub fn work(&self) -> Work {
        self.work
    }

    /// When to call [`Engine::step`] next: the end of the last step, or `None` while there is nothing to do.
    pub fn next_wake_ns(&self) -> Option<u64> {
        (!self.running.is_empty() || !self.waiting.is_empty()).then_some(self.busy_until_ns)
    }

    /// Puts a request at the end of the queue.
    ///
    /// # Errors
    /// Says why it can't be taken, and then changes nothing.
    pub fn submit(&mut self, request: &Request) -> Result<RequestId, Refusal> {
        self.check(request)?;
        let hashes = match self.profile.prefix_cache {
            PrefixCache::On => block_hashes(&request.prompt, self.profile.block_tokens),
            PrefixCache::Off => Vec::new(),
        };
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.waiting.push_back(Sequence::new(id, request, hashes));
        Ok(id)
    }

    /// Forgets a request and frees what it holds. False if it is not here (any more).
    pub fn cancel(&mut self, id: RequestId) -> bool {
        if let Some(at) = self.running.iter().position(|sequence| sequence.id == id) {
            self.running.remove(at).lose_blocks(&mut self.pool);
            return true;
        }
        let waiting = self.waiting.len();
        self.waiting.retain(|sequence| sequence.id != id);
        self.waiting.len() < waiting
    }

    /// Forms and computes one batch, or says `None` if there is nothing to do.
    pub fn step(&mut self, now_ns: u64) -> Option<Step> {
        let batch = self.schedule();
        if batch.tokens.iter().all(|tokens| *tokens == 0) {
            debug_assert!(
                self.waiting.is_empty(),
                "an engine with work makes progress"
            );
            return None;
        }
        let (decoded, prefilled, context) = self.sizes(&batch);
        let duration_ns = self.duration_ns(decoded, prefilled, context);
        let starts_at_ns = now_ns.max(self.busy_until_ns);
        self.busy_until_ns = starts_at_ns.saturating_add(duration_ns);
        Some(Step {
            starts_at_ns,
            ends_at_ns: self.busy_until_ns,
            decoded_tokens: decoded,
            prefilled_tokens: prefilled,
            emissions: self.compute(&batch),
            admitted: batch.admitted,
        })
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        if request.prompt.is_empty() {
            return Err(Refusal::EmptyPrompt);
        }
        if request.output_tokens == 0 {
            return Err(Refusal::EmptyOutput);
        }
        let tokens = request.prompt.len() as u64 + u64::from(request.output_tokens);
        let limit = self.profile.longest_sequence();
        if tokens > u64::from(limit) {
            return Err(Refusal::TooLong { tokens, limit });
        }
        if count(self.waiting.len()) >= self.profile.max_waiting {
            return Err(Refusal::QueueFull {
                limit: self.profile.max_waiting,
            });
        }
        Ok(())
    }

    /// Chooses the tokens of the next step and takes the blocks they need.
    fn schedule(&mut self) -> Batch {
        let mut batch = Batch {
            budget: self.profile.max_step_tokens.get(),
            ..Batch::default()
        };
        let before = self.preemptions;
        self.schedule_running(&mut batch);
        if self.preemptions == before {
            self.admit(&mut batch);
        }
        batch
    }

    fn schedule_running(&mut self, batch: &mut Batch) {
        let block = self.profile.block_tokens;
        while batch.tokens.len() < self.running.len() {
            let at = batch.tokens.len();
            let sequence = &mut self.running[at];
            let tokens = sequence.wants(self.profile.draft_depth()).min(batch.budget);
            if sequence.make_room(&mut self.pool, tokens, block) {
                batch.push(tokens);
            } else {
                self.preempt_youngest();
            }
        }
    }

    fn preempt_youngest(&mut self) {
        if let Some(mut sequence) = self.running.pop() {
            sequence.lose_blocks(&mut self.pool);
            self.waiting.push_front(sequence);
            self.preemptions += 1;
        }
    }

    fn admit(&mut self, batch: &mut Batch) {
        let (block, most) = (self.profile.block_tokens, self.profile.max_running.get());
        while batch.budget > 0 && count(self.running.len()) < most {
            let Some(mut sequence) = self.waiting.pop_front() else {
                return;
            };
            sequence.find_prefix(&mut self.pool, block);
            let tokens = sequence.wants(0).min(batch.budget);
            if !sequence.make_room(&mut self.pool, tokens, block) {
                sequence.lose_blocks(&mut self.pool);
                self.waiting.push_front(sequence);
                return;
            }
            if sequence.admitted() {
                self.work.prompt_tokens += u64::from(sequence.prompt());
                self.work.cached_tokens += u64::from(sequence.computed());
                batch.admitted.push(sequence.id);
            }
            batch.push(tokens);
            self.running.push(sequence);
        }
    }

    /// Decoded tokens, prefilled tokens, and the context of all sequences that take part.
    fn sizes(&self, batch: &Batch) -> (u32, u32, u64) {
        let (mut decoded, mut prefilled, mut context) = (0, 0, 0);
        for (sequence, tokens) in self
            .running
            .iter()
            .zip(&batch.tokens)
            .filter(|(_, tokens)| **tokens > 0)
        {
            if sequence.decodes() {
                decoded += tokens;
            } else {
                prefilled += tokens;
            }
            context += u64::from(sequence.computed());
        }
        (decoded, prefilled, context)
    }

    fn duration_ns(&mut self, decoded: u32, prefilled: u32, context: u64) -> u64 {
        let profile = &self.profile;
        let exact = profile
            .step_ns
            .saturating_add(u64::from(decoded).saturating_mul(profile.decode_token_ns))
            .saturating_add(u64::from(prefilled).saturating_mul(profile.prefill_token_ns))
            .saturating_add(context.saturating_mul(profile.context_token_ps) / 1_000);
        let noise = profile.noise_ppm.min(MILLION);
        if noise == 0 {
            return exact.max(1);
        }
        // The mean of two even draws has a triangular distribution.
        let draws = u64::from(self.random.random_range(0..=noise))
            + u64::from(self.random.random_range(0..=noise));
        let factor = u64::from(MILLION - noise) + draws;
        let noisy = u128::from(exact) * u128::from(factor) / u128::from(MILLION);
        u64::try_from(noisy).unwrap_or(u64::MAX).max(1)
    }

    /// Advances every sequence of the batch; those that are computed as far as they are known yield tokens.
    fn compute(&mut self, batch: &Batch) -> Vec<Emission> {
        let block = self.profile.block_tokens;
        let mut emissions = Vec::new();
        for (sequence, tokens) in self.running.iter_mut().zip(&batch.tokens) {
            let drafts = if sequence.decodes() {
                tokens.saturating_sub(1)
            } else {
                0
            };
            let kept = kept_drafts(&mut self.random, self.profile.speculation, drafts);
            if let Some(emission) = sequence.advance(*tokens - drafts, kept) {
                self.work.generated_tokens += u64::from(emission.tokens);
                self.work.finished += u64::from(emission.finished.is_some());
                emissions.push(emission);
            }
            sequence.share_blocks(&mut self.pool, block);
        }
        for mut sequence in self.running.extract_if(.., |sequence| sequence.is_done()) {
            sequence.lose_blocks(&mut self.pool);
        }
        emissions
    }
}

impl Batch {
    fn push(&mut self, tokens: u32) {
        self.budget -= tokens;
        self.tokens.push(tokens);
    }
}

/// How many of a step's drafts the model keeps: the first ones, up to the first that it doesn't.
fn kept_drafts(random: &mut Pcg64, speculation: Option<Speculation>, drafts: u32) -> u32 {
    let acceptance = speculation.map_or(0, |speculation| speculation.acceptance_ppm);
    let mut kept = 0;
    while kept < drafts && random.random_range(0..MILLION) < acceptance {
        kept += 1;
    }
    kept
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
