//! How fast a simulated engine is and what it has room for.
//!
//! Times in nanoseconds, rates in parts per million. All figures are invented for the simulator: plausible in size and
//! in shape, no claim about any engine, model or accelerator.

use std::num::NonZeroU32;

/// One part in [`MILLION`] is the unit of rates here, so that a run needs no floating point and is the same everywhere.
pub(crate) const MILLION: u32 = 1_000_000;

/// A simulated deployment: model, accelerator and engine settings in one.
///
/// A step with `d` decoded tokens (drafts included), `p` prefilled tokens and `c` tokens of context in its batch lasts
/// `step_ns + d × decode_token_ns + p × prefill_token_ns + c × context_token_ps / 1000`, times the noise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What to call it.
    pub name: &'static str,
    /// Longest sequence, prompt and output together, in tokens.
    pub max_model_len: u32,
    /// Sequences that run at once.
    pub max_running: NonZeroU32,
    /// Requests that may wait; the next one is refused.
    pub max_waiting: u32,
    /// Tokens that one step computes at most, over all sequences. Longer prompts are prefilled in several steps.
    pub max_step_tokens: NonZeroU32,
    /// Tokens in a block of the KV cache.
    pub block_tokens: NonZeroU32,
    /// Blocks of the KV cache.
    pub kv_blocks: u32,
    /// Whether blocks of prompts are kept and found again.
    pub prefix_cache: PrefixCache,
    /// Part of a step's duration that is always there: reading the weights, launching kernels.
    pub step_ns: u64,
    /// Added by each decoded token.
    pub decode_token_ns: u64,
    /// Added by each prefilled token.
    pub prefill_token_ns: u64,
    /// Added by each token of context of each sequence in the batch, in picoseconds: attention over the KV cache.
    pub context_token_ps: u64,
    /// Largest deviation of a step's duration, either way, in parts per million. The deviation has a triangular
    /// distribution around 0. At most a million.
    pub noise_ppm: u32,
    /// Speculative decoding, if it is on.
    pub speculation: Option<Speculation>,
}

/// Whether prompts share blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixCache {
    /// Full blocks of prompts are found again by their content, until room is needed.
    On,
    /// Every prompt is computed.
    Off,
}

/// Several tokens a step: drafts are proposed, the model keeps the first few that it agrees with and adds one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speculation {
    /// Drafts a step.
    pub depth: u32,
    /// Chance of a draft to be kept if the ones before it were, in parts per million.
    pub acceptance_ppm: u32,
}

impl Profile {
    /// About what a model of 8 billion parameters might do alone on one accelerator: decode steps of 6 ms at batch 1,
    /// 8 000 prefilled tokens a second, room for half a million tokens.
    pub fn small_gpu() -> Self {
        Self {
            name: "small-gpu",
            max_model_len: 32_768,
            max_running: nonzero(256),
            max_waiting: 4_096,
            max_step_tokens: nonzero(2_048),
            block_tokens: nonzero(16),
            kv_blocks: 32_768,
            prefix_cache: PrefixCache::On,
            step_ns: 5_900_000,
            decode_token_ns: 60_000,
            prefill_token_ns: 125_000,
            context_token_ps: 20_000,
            noise_ppm: 80_000,
            speculation: None,
        }
    }

    /// As [`Profile::small_gpu`], with three drafts a step of which most are kept.
    pub fn small_gpu_speculative() -> Self {
        Self {
            name: "small-gpu-speculative",
            step_ns: 7_400_000,
            decode_token_ns: 20_000,
            speculation: Some(Speculation {
                depth: 3,
                acceptance_ppm: 700_000,
            }),
            ..Self::small_gpu()
        }
    }

    /// A small and quick engine for tests: little room, so that its limits are reached soon.
    pub fn fast() -> Self {
        Self {
            name: "fast",
            max_model_len: 4_096,
            max_running: nonzero(8),
            max_waiting: 1_024,
            max_step_tokens: nonzero(256),
            block_tokens: nonzero(16),
            kv_blocks: 512,
            prefix_cache: PrefixCache::On,
            step_ns: 1_000_000,
            decode_token_ns: 50_000,
            prefill_token_ns: 10_000,
            context_token_ps: 0,
            noise_ppm: 0,
            speculation: None,
        }
    }

    /// One server with a queue before it, first come first served, for checks against queueing theory: a request of one
    /// output token takes exactly `service_ns`, whatever its prompt; each further token takes as long again.
    pub fn one_server(service_ns: u64) -> Self {
        Self {
            name: "one-server",
            max_model_len: 65_536,
            max_running: nonzero(1),
            max_waiting: 1_000_000,
            max_step_tokens: nonzero(65_536),
            block_tokens: nonzero(16),
            kv_blocks: 4_096,
            prefix_cache: PrefixCache::Off,
            step_ns: service_ns,
            decode_token_ns: 0,
            prefill_token_ns: 0,
            context_token_ps: 0,
            noise_ppm: 0,
            speculation: None,
        }
    }

    /// Longest sequence that this deployment can ever hold: the model's limit, or the KV cache's where that is smaller.
    pub fn longest_sequence(&self) -> u32 {
        let room = self.kv_blocks.saturating_mul(self.block_tokens.get());
        self.max_model_len
            .min(room.saturating_sub(self.draft_depth()))
    }

    /// Drafts a step.
    pub(crate) fn draft_depth(&self) -> u32 {
        self.speculation.map_or(0, |speculation| speculation.depth)
    }
}

const fn nonzero(value: u32) -> NonZeroU32 {
    match NonZeroU32::new(value) {
        Some(value) => value,
        None => NonZeroU32::MIN,
    }
}
