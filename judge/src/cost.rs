//! Cost of a request, of a token, and of a useful decision.
//!
//! total = (GPU-hour · GPUs · fraction + other hourly) · billed hours. Idle hours are billed hours; tensor parallelism
//! counts all its GPUs; a slice of a GPU counts the fraction reserved. A **useful decision** is completed, well-formed, no
//! duplicate by retry and not aborted. Whatever is divided by 0 is `None`.
//!
//! Money has the currency of the price given.

use crate::error::{JudgeError, positive};
use crate::numeric::ceil;

/// What is paid for an hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Price of a GPU-hour.
    pub gpu_hour: f64,
    /// GPUs.
    pub gpus: f64,
    /// Share of each that is reserved: 1, or that of a slice.
    pub fraction: f64,
    /// What else is paid an hour.
    pub other_hourly: f64,
}

/// What was had for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Requests completed.
    pub completed: u64,
    /// Useful decisions.
    pub useful: u64,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// In all.
    pub total: f64,
    /// Of a completed request.
    pub per_request: Option<f64>,
    /// Of a useful decision.
    pub per_useful_decision: Option<f64>,
    /// Of a thousand generated tokens.
    pub per_1k_output_tokens: Option<f64>,
    /// Of a thousand tokens, prompt and generated.
    pub per_1k_total_tokens: Option<f64>,
    /// Share of completed requests that were not useful.
    pub waste: Option<f64>,
}

/// The better of two options, per useful decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cheaper {
    /// The first.
    A,
    /// The second.
    B,
    /// Neither.
    Equal,
}

/// GPUs for a volume of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fleet {
    /// Replicas.
    pub replicas: u64,
    /// GPUs of them all.
    pub gpus: u64,
}

/// A replica at the rate that holds its service objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replica {
    /// Output tokens per second that it sustains.
    pub sustainable_tok_s: f64,
    /// Share of that to plan with.
    pub target_utilisation: f64,
    /// Its GPUs.
    pub gpus: u64,
}

impl Rate {
    /// Of an hour.
    pub fn hourly(&self) -> f64 {
        self.gpu_hour * self.gpus * self.fraction + self.other_hourly
    }
}

impl Cost {
    /// Of some work in some billed hours.
    pub fn of(rate: &Rate, billed_hours: f64, work: &Work) -> Self {
        let total = rate.hourly() * billed_hours;
        let per = |count: u64| (count > 0).then(|| total / count as f64);
        let per_1k = |count: u64| per(count).map(|cost| cost * 1000.0);
        let useful = |completed: f64| 1.0 - work.useful as f64 / completed;
        Self {
            total,
            per_request: per(work.completed),
            per_useful_decision: per(work.useful),
            per_1k_output_tokens: per_1k(work.output_tokens),
            per_1k_total_tokens: per_1k(work.input_tokens.saturating_add(work.output_tokens)),
            waste: (work.completed > 0).then(|| useful(work.completed as f64)),
        }
    }
}

impl Cheaper {
    /// By cost per useful decision; one that has none is the dearer.
    pub fn of(a: Option<f64>, b: Option<f64>) -> Self {
        let (a, b) = (a.unwrap_or(f64::INFINITY), b.unwrap_or(f64::INFINITY));
        if a < b {
            Self::A
        } else if b < a {
            Self::B
        } else {
            Self::Equal
        }
    }

    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::Equal => "EQUAL",
        }
    }
}

impl Replica {
    /// Replicas for `volume_tok_s`: ⌈volume/(R·u)⌉.
    ///
    /// # Errors
    /// If the volume, the sustainable rate or the utilisation is not above 0.
    pub fn fleet_for(&self, volume_tok_s: f64) -> Result<Fleet, JudgeError> {
        let rate = positive("sustainable rate of a replica", self.sustainable_tok_s)?;
        let utilisation = positive("target utilisation", self.target_utilisation)?;
        let volume = positive("volume", volume_tok_s)?;
        let replicas = ceil(volume / (rate * utilisation));
        Ok(Fleet {
            replicas,
            gpus: replicas.saturating_mul(self.gpus),
        })
    }
}
