//! Bootstrap by whole blocks: a conversation each, or a minute of arrivals or more.
//!
//! For derived figures such as cost or goodput. Never for a tail quantile of dependent values, where its blocks are too
//! short to be independent ([`crate::dependence`] is for those). Efron and Tibshirani, *An Introduction to the Bootstrap*;
//! blocks: Künsch, "The jackknife and the bootstrap for general stationary observations", 1989.

use crate::error::JudgeError;
use crate::interval::Interval;
use crate::numeric::index;
use crate::prng::SplitMix64;
use crate::quantile::{Level, Sorted};

/// What the resampled figure looked like.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    replicates: Sorted,
}

impl Bootstrap {
    /// Resamples `blocks` `replicates` times: as many blocks are drawn as there are, with replacement, and handed to
    /// `statistic`. One generator serves all replicates in turn.
    ///
    /// # Errors
    /// If there are no blocks, or no replicate is asked for.
    pub fn of_blocks<B>(
        blocks: &[B],
        replicates: u32,
        generator: &mut SplitMix64,
        statistic: impl Fn(&[&B]) -> f64,
    ) -> Result<Self, JudgeError> {
        if blocks.is_empty() {
            return Err(JudgeError::Empty {
                name: "the list of blocks",
            });
        }
        if replicates == 0 {
            return Err(JudgeError::Empty {
                name: "the list of replicates",
            });
        }
        let replicates = (0..replicates).map(|_| {
            let drawn: Vec<&B> = draw(blocks.len(), generator)
                .into_iter()
                .filter_map(|at| blocks.get(at))
                .collect();
            statistic(&drawn)
        });
        Ok(Self {
            replicates: Sorted::new(replicates),
        })
    }

    /// The percentile interval at 95 %: the replicates of ranks ⌈0.025R⌉ and ⌈0.975R⌉.
    pub fn interval95(&self) -> Interval {
        let at = |level| self.replicates.quantile(level).unwrap_or(f64::NAN);
        Interval {
            lower: at(Level::P02_5),
            upper: at(Level::P97_5),
        }
    }

    /// The smallest and the largest replicate.
    pub fn range(&self) -> Interval {
        Interval {
            lower: self.replicates.min().unwrap_or(f64::NAN),
            upper: self.replicates.max().unwrap_or(f64::NAN),
        }
    }
}

/// `count` indices below `count`, with replacement.
pub fn draw(count: usize, generator: &mut SplitMix64) -> Vec<usize> {
    (0..count)
        .map(|_| index(generator.below(count as u64)))
        .collect()
}

/// The quantile of all values of all blocks, by nearest rank: a statistic for [`Bootstrap::of_blocks`]. NaN of nothing.
pub fn pooled_quantile(blocks: &[&Vec<f64>], level: Level) -> f64 {
    Sorted::new(blocks.iter().flat_map(|block| block.iter().copied()))
        .quantile(level)
        .unwrap_or(f64::NAN)
}
