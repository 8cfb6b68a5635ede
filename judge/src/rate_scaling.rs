//! Ways to change the rate of recorded arrivals, and to undo coarse timestamps. Times in any one unit, ascending.
//!
//! Scaling up keeps every arrival and adds more in the same gaps ([`upsample`]), which keeps how the rate fluctuates at
//! every width; warping time shrinks daily patterns against service times, superposing smooths bursts. (The argument is
//! that of TraceUpscaler, EuroSys 2024.) Scaling down keeps whole conversations ([`Thinning`]), never single requests of
//! one.

use crate::error::{JudgeError, positive};
use crate::prng::SplitMix64;
use sha2::{Digest, Sha256};

/// t/factor: everything `factor` times as fast.
///
/// # Errors
/// If the factor is not above 0.
pub fn warp(times: &[f64], factor: f64) -> Result<Vec<f64>, JudgeError> {
    let factor = positive("factor", factor)?;
    Ok(times.iter().map(|time| time / factor).collect())
}

/// The arrivals and the same ones shifted around a period.
///
/// # Errors
/// If the period is not above 0.
pub fn superpose(times: &[f64], shift: f64, period: f64) -> Result<Vec<f64>, JudgeError> {
    let period = positive("period", period)?;
    let shifted = times.iter().map(|time| (time + shift).rem_euclid(period));
    Ok(sorted(times.iter().copied().chain(shifted).collect()))
}

/// Every arrival, and `times_more` − 1 others at random within each gap; the last gap ends at `end`.
pub fn upsample(times: &[f64], times_more: u32, end: f64, generator: &mut SplitMix64) -> Vec<f64> {
    let mut all = Vec::with_capacity(times.len() * times_more as usize);
    for (at, time) in times.iter().enumerate() {
        let until = times.get(at + 1).copied().unwrap_or(end);
        all.push(*time);
        for _ in 1..times_more {
            all.push(time + (until - time) * generator.unit());
        }
    }
    sorted(all)
}

/// Arrivals on a coarse grid spread over it: the m at one timestamp v become v + grid·(j + ½)/m. The grid is the smallest
/// distance of two timestamps; where there is only one timestamp, nothing is known of it and nothing changes.
pub fn spread_grid(times: &[f64]) -> Vec<f64> {
    let mut distinct = times.to_vec();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let steps = distinct.iter().zip(distinct.iter().skip(1));
    let Some(grid) = steps.map(|(a, b)| b - a).min_by(f64::total_cmp) else {
        return times.to_vec();
    };
    let spread = |same: &[f64]| {
        let (first, count) = (same.first().copied().unwrap_or(0.0), same.len() as f64);
        (0..same.len())
            .map(|j| first + grid * (j as f64 + 0.5) / count)
            .collect::<Vec<f64>>()
    };
    times.chunk_by(|a, b| a == b).flat_map(spread).collect()
}

/// A choice of conversations by keyed hash: always the same ones, and none in part.
#[derive(Debug, Clone)]
pub struct Thinning<'a> {
    /// What the choice depends on.
    pub key: &'a [u8],
    /// Share to keep.
    pub keep: f64,
}

impl Thinning<'_> {
    /// Keep a conversation: the first 8 bytes of SHA-256(key ‖ id), as a share of 2^64, lie below `keep`.
    pub fn keeps(&self, conversation: &[u8]) -> bool {
        let digest = Sha256::new()
            .chain_update(self.key)
            .chain_update(conversation)
            .finalize();
        let first = digest.iter().take(8);
        let number = first.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (number as f64) / 2.0_f64.powi(64) < self.keep
    }
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_unstable_by(f64::total_cmp);
    times
}
