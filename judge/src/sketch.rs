//! DDSketch: a quantile sketch with a guaranteed relative error, which merges without error. For dashboards.
//!
//! A value x counts under key ⌈log_γ x⌉, γ = (1 + α)/(1 − α), and is read back as 2γ^key/(γ + 1), at most α off. (Masson,
//! Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error guarantees", 2019.)
//!
//! Values of 0 and below count as 0, exactly. Memory grows with the logarithm of the range: 1,400 keys from 1 µs to a day
//! at α = 1 %.

use crate::error::{JudgeError, open_unit};
use crate::numeric::{floor, signed};
use std::collections::BTreeMap;

/// A value this near to a bucket's upper bound, in keys, is on it.
const SLACK: f64 = 1e-12;

/// The relation between values and keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mapping {
    gamma: f64,
}

/// Counts by key.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    mapping: Mapping,
    zeros: u64,
    counts: BTreeMap<i64, u64>,
}

/// A quantile read from a sketch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SketchQuantile {
    /// The estimate.
    pub estimate: f64,
    /// Its key; `None` for 0.
    pub key: Option<i64>,
}

// Mapping

impl Mapping {
    /// Keys for a relative error of `alpha` at most.
    ///
    /// # Errors
    /// If `alpha` is not between 0 and 1.
    pub fn new(alpha: f64) -> Result<Self, JudgeError> {
        let alpha = open_unit("relative error", alpha)?;
        Ok(Self {
            gamma: (1.0 + alpha) / (1.0 - alpha),
        })
    }

    /// Ratio of a bucket's bounds.
    pub fn gamma(self) -> f64 {
        self.gamma
    }

    /// Key of a value above 0.
    pub fn key(self, value: f64) -> i64 {
        signed((value.ln() / self.gamma.ln() - SLACK).ceil())
    }

    /// What a key is read back as.
    pub fn representative(self, key: i64) -> f64 {
        2.0 * (key as f64 * self.gamma.ln()).exp() / (self.gamma + 1.0)
    }
}

// Sketch

impl Sketch {
    /// An empty one.
    pub fn new(mapping: Mapping) -> Self {
        Self {
            mapping,
            zeros: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Counts a value.
    pub fn record(&mut self, value: f64) {
        if value > 0.0 {
            *self.counts.entry(self.mapping.key(value)).or_default() += 1;
        } else {
            self.zeros += 1;
        }
    }

    /// Adds the counts of one with the same mapping.
    ///
    /// # Errors
    /// With the other's mapping, if it is not the same.
    pub fn merge(&mut self, other: &Self) -> Result<(), Mapping> {
        if self.mapping != other.mapping {
            return Err(other.mapping);
        }
        self.zeros += other.zeros;
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
        Ok(())
    }

    /// Values counted.
    pub fn len(&self) -> u64 {
        self.zeros + self.counts.values().sum::<u64>()
    }

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The smallest key whose cumulative count exceeds p(n − 1): the bucket of the ⌊p(n − 1)⌋-th value, counted from 0.
    /// `None` of nothing, or for p outside 0 and 1.
    pub fn quantile(&self, p: f64) -> Option<SketchQuantile> {
        if !(0.0..=1.0).contains(&p) {
            return None;
        }
        let wanted = floor(p * self.len().checked_sub(1)? as f64);
        let mut running = self.zeros;
        if running > wanted {
            return Some(SketchQuantile {
                estimate: 0.0,
                key: None,
            });
        }
        self.counts.iter().find_map(|(key, count)| {
            running += count;
            (running > wanted).then(|| SketchQuantile {
                estimate: self.mapping.representative(*key),
                key: Some(*key),
            })
        })
    }
}
