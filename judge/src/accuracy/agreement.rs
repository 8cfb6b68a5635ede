//! Agreement of two outputs without labels: says "differs", never "worse", and never gates.
//!
//! Engines are not batch-invariant: an incumbent at temperature 0 disagrees with itself. So the signal is how much more it
//! disagrees with the candidate, by Newcombe's interval ([`crate::share::newcombe`]).

use crate::interval::Interval;
use crate::share::{Share, newcombe};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Two outputs as token ids.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Length of the common prefix; `None` if they are equal.
    pub first_divergence: Option<usize>,
    /// That over the longer length; 1 if equal.
    pub common_prefix: f64,
    /// Levenshtein's distance.
    pub edit_distance: usize,
    /// 1 − distance over the longer length; 1 if both are empty.
    pub edit_similarity: f64,
}

/// Agreement of the incumbent with itself against that with the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// Of A with A.
    pub with_itself: Share,
    /// Of A with B.
    pub with_candidate: Share,
}

impl Agreement {
    /// Compares two outputs. Takes time in the product of their lengths.
    pub fn of(a: &[u32], b: &[u32]) -> Self {
        let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let longer = a.len().max(b.len());
        let edit_distance = strsim::generic_levenshtein(&Tokens(a), &Tokens(b));
        let of_longer = |part: usize| part as f64 / longer as f64;
        Self {
            first_divergence: (a != b).then_some(common),
            common_prefix: if longer == 0 { 1.0 } else { of_longer(common) },
            edit_distance,
            edit_similarity: if longer == 0 {
                1.0
            } else {
                1.0 - of_longer(edit_distance)
            },
        }
    }

    /// They are the same.
    pub fn is_exact(&self) -> bool {
        self.first_divergence.is_none()
    }
}

/// A list of tokens, in the form that the distance takes.
struct Tokens<'a>(&'a [u32]);

impl<'a> IntoIterator for &Tokens<'a> {
    type Item = &'a u32;
    type IntoIter = std::slice::Iter<'a, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl NoiseFloor {
    /// e_AA − e_AB.
    pub fn excess(&self) -> f64 {
        self.with_itself.value() - self.with_candidate.value()
    }

    /// Of that, Newcombe's interval at 95 %.
    pub fn interval95(&self) -> Interval {
        newcombe(self.with_itself, self.with_candidate, CONFIDENCE)
    }

    /// The candidate disagrees more than the incumbent does with itself.
    pub fn differs_beyond_noise(&self) -> bool {
        self.interval95().lower > 0.0
    }
}
