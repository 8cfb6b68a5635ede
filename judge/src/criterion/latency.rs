//! The criterion of one latency quantile: absolute against a target, and relative to the incumbent, both where both are
//! asked for. Relative alone would let a service drift from release to release; absolute alone would let a regression below
//! the target pass.

use crate::decision::{Decision, Standing};
use crate::dependence::{BATCHES, QuantileInterval, Target};
use crate::error::JudgeError;
use crate::observation::{Ending, Observation, at_end};
use crate::paired::PairedTest;
use crate::quantile::Sorted;
use crate::replicates::Replicates;
use crate::sample_size::{Gap, TimeToAnswer};
use crate::unpaired;
use crate::verdict::Finding;

/// What a latency has to keep. Values, target and error have one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyRule {
    /// Level, margin over the incumbent, and one-sided risk.
    pub test: PairedTest,
    /// The most that the candidate's quantile may be, if there is a target.
    pub limit: Option<f64>,
    /// 99 % of the measurement's own error.
    pub error: f64,
}

/// What the two arms were asked.
#[derive(Debug, Clone, Copy)]
pub enum Arms<'a> {
    /// The same requests, one by one, in order of the incumbent's arrival.
    Paired(&'a [Observation], &'a [Observation]),
    /// Whole replays of one trace, and the candidate's values of all of them.
    Replays(&'a Replicates, &'a [Observation]),
    /// Different requests, each in order of arrival.
    Unpaired(&'a [Observation], &'a [Observation]),
}

/// What was found of a latency.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyFinding {
    /// The candidate's quantile with its interval, infinite end; `None` of too few.
    pub interval: Option<QuantileInterval>,
    /// Against the target, if there is one.
    pub absolute: Option<Decision>,
    /// Against the incumbent.
    pub relative: Standing,
    /// Both together, with what is missing.
    pub finding: Finding,
}

/// An answer with what it lacks.
type Answer<T> = (T, Option<TimeToAnswer>);

impl LatencyRule {
    /// Judges two arms; `rate_per_s` is that of the traffic to come.
    ///
    /// # Errors
    /// If a number of the rule is out of range, or paired lists differ in length.
    pub fn judge(
        &self,
        criterion: &str,
        arms: Arms<'_>,
        rate_per_s: f64,
    ) -> Result<LatencyFinding, JudgeError> {
        let candidate = arms.candidate();
        let interval = self.interval(candidate)?;
        let absolute = match self.limit {
            Some(limit) => Some(self.absolute(limit, candidate, rate_per_s)?),
            None => None,
        };
        let (relative, relative_lacks) = self.relative(arms, rate_per_s)?;
        let absolute_decision = absolute.map(|(decision, _)| decision);
        let decision = Decision::all(absolute_decision.into_iter().chain([relative.into()]));
        let open = [
            absolute.filter(|(decision, _)| *decision == Decision::NotEnoughData),
            Some((relative.into(), relative_lacks))
                .filter(|(decision, _)| *decision == Decision::NotEnoughData),
        ];
        let missing = open
            .into_iter()
            .flatten()
            .map(|(_, missing)| missing)
            .reduce(|one, other| Some(one?.and(other?)))
            .flatten();
        Ok(LatencyFinding {
            interval,
            absolute: absolute_decision,
            relative,
            finding: Finding::gating(criterion, decision).missing(missing),
        })
    }

    fn interval(&self, values: &[Observation]) -> Result<Option<QuantileInterval>, JudgeError> {
        QuantileInterval::of(values, Ending::Infinite, self.test.level, self.confidence())
    }

    /// Two-sided confidence of which each side has the rule's risk.
    fn confidence(&self) -> f64 {
        1.0 - 2.0 * self.test.alpha
    }

    fn absolute(
        &self,
        limit: f64,
        values: &[Observation],
        rate_per_s: f64,
    ) -> Result<Answer<Decision>, JudgeError> {
        let target = Target {
            level: self.test.level,
            limit,
            error: self.error,
        };
        let decision = target.decide(values, self.confidence())?;
        let gap = match self.interval(values)? {
            Some(interval) if interval.guard_holds() => {
                let sorted = Sorted::new(at_end(values, Ending::Infinite));
                let within = sorted.at_most(limit - self.error) as f64 / values.len() as f64;
                Gap::Interval {
                    half_width: interval.half_width,
                    rank_gap: within - self.test.level.p(),
                }
            }
            other => self.guard(other.as_ref()),
        };
        let missing = gap.time_to_answer(values.len() as u64, rate_per_s);
        Ok((decision, Some(missing)))
    }

    fn guard(&self, interval: Option<&QuantileInterval>) -> Gap {
        Gap::Guard {
            design_effect: interval.map_or(1.0, |interval| interval.design_effect.value()),
            level: self.test.level,
        }
    }

    fn relative(&self, arms: Arms<'_>, rate_per_s: f64) -> Result<Answer<Standing>, JudgeError> {
        match arms {
            Arms::Paired(a, b) => self.paired(a, b, rate_per_s),
            Arms::Replays(replays, _) => Ok((replays.standing(), None)),
            Arms::Unpaired(a, b) => {
                let result = unpaired::compare(&self.test, a, b)?;
                let standing = result.map_or(Standing::NotEnoughData, |result| {
                    if self.is_fine_enough(result.a.quantile) {
                        result.standing
                    } else {
                        Standing::NotEnoughData
                    }
                });
                Ok((standing, None))
            }
        }
    }

    fn paired(
        &self,
        a: &[Observation],
        b: &[Observation],
        rate_per_s: f64,
    ) -> Result<Answer<Standing>, JudgeError> {
        let of_a = QuantileInterval::of(a, Ending::Value, self.test.level, self.confidence())?;
        let result = self.test.compare(a, b)?;
        let (standing, gap) = match (result, of_a) {
            // More data do not make a coarse measurement finer.
            (Some(result), _) if !self.is_fine_enough(result.reading.q_a) => {
                return Ok((Standing::NotEnoughData, None));
            }
            (Some(result), Some(of_a)) if of_a.guard_holds() => (
                result.standing,
                Gap::Statistic {
                    t: result.reading.weighted.t,
                    critical: result.t_critical,
                },
            ),
            (_, of_a) => (Standing::NotEnoughData, self.guard(of_a.as_ref())),
        };
        Ok((
            standing,
            Some(gap.time_to_answer(a.len().max(BATCHES) as u64, rate_per_s)),
        ))
    }

    /// The error of the measurement is at most a quarter of what the margin allows: (m − 1)·q̂_A/4.
    fn is_fine_enough(&self, q_a: f64) -> bool {
        self.error <= (self.test.margin - 1.0) * q_a / 4.0
    }
}

impl<'a> Arms<'a> {
    fn candidate(self) -> &'a [Observation] {
        match self {
            Self::Paired(_, b) | Self::Replays(_, b) | Self::Unpaired(_, b) => b,
        }
    }
}
