//! The verdict on a candidate, from the criteria: MAY REPLACE, MUST NOT REPLACE, NOT ENOUGH DATA, INVALID RUN.
//!
//! Intersection–union (Berger, "Multiparameter hypothesis testing and acceptance sampling", 1982): a candidate may replace
//! the incumbent only if the run is valid and *every* gating criterion passes, each at its own risk; then the risk of a
//! wrong MAY REPLACE is at most the largest of theirs, without any correction for their number. Precedence: INVALID RUN,
//! then FAIL, then NOT ENOUGH DATA. Advisory criteria are shown and don't count.
//!
//! Total: whatever the criteria say, there is exactly one verdict. Without a gating criterion nothing was shown, and the
//! verdict is NOT ENOUGH DATA.

use crate::decision::Decision;
use crate::sample_size::TimeToAnswer;
use crate::validity::RunFault;
use std::fmt;

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Every gating criterion is proven.
    MayReplace,
    /// One is proven not to hold.
    MustNotReplace,
    /// Neither.
    NotEnoughData,
    /// The run says nothing about the candidate.
    InvalidRun,
}

/// Whether a criterion counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It has to pass.
    Gating,
    /// It is shown.
    Advisory,
}

/// What one criterion found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the criterion.
    pub criterion: String,
    /// Whether it counts.
    pub role: Role,
    /// What it decided.
    pub decision: Decision,
    /// What it lacks, where it could not tell and that is known.
    pub missing: Option<TimeToAnswer>,
}

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub verdict: Verdict,
    /// Why the run is invalid.
    pub faults: Vec<RunFault>,
    /// Gating criteria that failed.
    pub failed: Vec<String>,
    /// Gating criteria that could not tell, with what they lack.
    pub undecided: Vec<(String, Option<TimeToAnswer>)>,
}

// Finding

impl Finding {
    /// A criterion that has to pass.
    pub fn gating(criterion: impl Into<String>, decision: Decision) -> Self {
        Self {
            criterion: criterion.into(),
            role: Role::Gating,
            decision,
            missing: None,
        }
    }

    /// The same, with what it lacks; kept only where it could not tell.
    #[must_use]
    pub fn missing(mut self, missing: Option<TimeToAnswer>) -> Self {
        self.missing = missing.filter(|_| self.decision == Decision::NotEnoughData);
        self
    }

    /// The same criterion, only shown.
    #[must_use]
    pub fn advisory(mut self) -> Self {
        self.role = Role::Advisory;
        self
    }
}

// Judgement

impl Judgement {
    /// Combines what the run and the criteria say.
    pub fn of(faults: Vec<RunFault>, findings: &[Finding]) -> Self {
        let gating = || findings.iter().filter(|one| one.role == Role::Gating);
        let that = |decision| gating().filter(move |one| one.decision == decision);
        let failed: Vec<String> = that(Decision::Fail)
            .map(|one| one.criterion.clone())
            .collect();
        let undecided: Vec<_> = that(Decision::NotEnoughData)
            .map(|one| (one.criterion.clone(), one.missing))
            .collect();
        let verdict = if !faults.is_empty() {
            Verdict::InvalidRun
        } else if !failed.is_empty() {
            Verdict::MustNotReplace
        } else if !undecided.is_empty() || gating().next().is_none() {
            Verdict::NotEnoughData
        } else {
            Verdict::MayReplace
        };
        Self {
            verdict,
            faults,
            failed,
            undecided,
        }
    }

    /// How much more traffic or time a NOT ENOUGH DATA takes: what the slowest criterion lacks. `None` for another
    /// verdict, or where a criterion can't tell.
    pub fn time_to_answer(&self) -> Option<TimeToAnswer> {
        if self.verdict != Verdict::NotEnoughData {
            return None;
        }
        let mut missing = self.undecided.iter().map(|(_, missing)| *missing);
        let first = missing.next()??;
        missing.try_fold(first, |longest, next| Some(longest.and(next?)))
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.verdict.as_str())?;
        match self.verdict {
            Verdict::MayReplace => Ok(()),
            Verdict::MustNotReplace => write!(out, ": {}", self.failed.join(", ")),
            Verdict::InvalidRun => {
                let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
                write!(out, ": {}", faults.join("; "))
            }
            Verdict::NotEnoughData => {
                for (at, (criterion, missing)) in self.undecided.iter().enumerate() {
                    let separator = if at == 0 { ": " } else { "; " };
                    write!(out, "{separator}{criterion}")?;
                    if let Some(missing) = missing {
                        write!(out, " ({missing})")?;
                    }
                }
                Ok(())
            }
        }
    }
}

// Verdict

impl Verdict {
    /// As it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MayReplace => "MAY REPLACE",
            Self::MustNotReplace => "MUST NOT REPLACE",
            Self::NotEnoughData => "NOT ENOUGH DATA",
            Self::InvalidRun => "INVALID RUN",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
