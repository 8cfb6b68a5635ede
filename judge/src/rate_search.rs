//! The largest offered rate that passes: bisection with an oracle that may not know.
//!
//! A state machine: it names a rate, is told what a run at that rate decided, and names the next. The answer is the last
//! rate that *passed*, never one in between.

use crate::decision::Decision;
use crate::error::{JudgeError, positive};

/// Where to search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateRange {
    /// Lowest rate, above 0.
    pub lo: f64,
    /// Highest rate.
    pub hi: f64,
    /// How near the ends have to come, relative to the lower.
    pub relative_tolerance: f64,
    /// Runs at most, both ends included.
    pub max_steps: usize,
}

/// A search on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct RateSearch {
    range: RateRange,
    steps: Vec<(f64, Decision)>,
    next: SearchStep,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchStep {
    /// Run at this rate, and record what it decided.
    Run(f64),
    /// It is over.
    Done(RateFound),
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateFound {
    /// The largest rate that passed.
    pub rate: Option<f64>,
    /// It lies between this one, which passed, and that one, which did not.
    pub bracket: Option<(f64, f64)>,
    /// Why the search ended.
    pub reason: SearchEnd,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchEnd {
    /// The bracket is as narrow as was asked for.
    Converged,
    /// Not even the lowest rate passes: lower it, or lengthen the run.
    LowestDoesNotPass,
    /// The highest rate passes: raise it.
    CeilingPasses,
    /// A run could not tell: lengthen it.
    NotEnoughData,
    /// No more runs were allowed.
    StepLimit,
}

impl RateSearch {
    /// A search over a range.
    ///
    /// # Errors
    /// If the lowest rate is not above 0, or the highest not above the lowest.
    pub fn new(range: RateRange) -> Result<Self, JudgeError> {
        positive("lowest rate", range.lo)?;
        if range.hi <= range.lo || range.hi.is_nan() {
            return Err(JudgeError::OutOfRange {
                name: "highest rate",
                value: range.hi,
                wanted: "a rate above the lowest",
            });
        }
        Ok(Self {
            range,
            steps: Vec::new(),
            next: SearchStep::Run(range.lo),
        })
    }

    /// The rate to run at next, or what was found.
    pub fn next_step(&self) -> SearchStep {
        self.next
    }

    /// What was run, in order.
    pub fn steps(&self) -> &[(f64, Decision)] {
        &self.steps
    }

    /// What the run at [`Self::next_step`] decided. After the end it changes nothing.
    pub fn record(&mut self, decision: Decision) {
        let SearchStep::Run(rate) = self.next else {
            return;
        };
        self.steps.push((rate, decision));
        self.next = match (self.steps.len(), decision) {
            (1, Decision::Pass) => SearchStep::Run(self.range.hi),
            (1, _) => SearchStep::Done(RateFound {
                rate: None,
                bracket: None,
                reason: SearchEnd::LowestDoesNotPass,
            }),
            (2, Decision::Pass) => SearchStep::Done(RateFound {
                rate: Some(rate),
                bracket: None,
                reason: SearchEnd::CeilingPasses,
            }),
            (2, _) => self.narrow(),
            (_, Decision::Pass) => {
                self.range.lo = rate;
                self.narrow()
            }
            (_, Decision::Fail) => {
                self.range.hi = rate;
                self.narrow()
            }
            (_, Decision::NotEnoughData) => SearchStep::Done(self.found(SearchEnd::NotEnoughData)),
        };
    }

    fn narrow(&self) -> SearchStep {
        let RateRange { lo, hi, .. } = self.range;
        if (hi - lo) / lo <= self.range.relative_tolerance {
            SearchStep::Done(self.found(SearchEnd::Converged))
        } else if self.steps.len() >= self.range.max_steps {
            SearchStep::Done(self.found(SearchEnd::StepLimit))
        } else {
            SearchStep::Run((lo + hi) / 2.0)
        }
    }

    fn found(&self, reason: SearchEnd) -> RateFound {
        RateFound {
            rate: Some(self.range.lo),
            bracket: Some((self.range.lo, self.range.hi)),
            reason,
        }
    }
}

impl SearchEnd {
    /// As it is written in a report.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::LowestDoesNotPass => "lowest_does_not_pass",
            Self::CeilingPasses => "ceiling_passes",
            Self::NotEnoughData => "not_enough_data",
            Self::StepLimit => "step_limit",
        }
    }
}
