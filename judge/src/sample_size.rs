//! How many requests a question needs, and how many more until it is answered.
//!
//! All of these are for independent values: for the latency of a queue, multiply by the design effect.

use crate::error::{JudgeError, open_unit, positive};
use crate::numeric::{binomial_at_most, ceil, count, first_where, normal_quantile};
use crate::quantile::Level;

/// Effective exceedances below which no quantile is judged.
pub const LEAST_EXCEEDANCES: f64 = 10.0;
/// Largest number of requests that is looked at.
const LIMIT: u64 = 1 << 40;

/// A limit on a share, and what is believed to be true of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareQuestion {
    /// The share over the limit that is to be refuted.
    pub limit: f64,
    /// The share that is believed to be true, below the limit.
    pub truth: f64,
    /// Risk of a wrong pass.
    pub alpha: f64,
    /// Wanted probability of a right one.
    pub power: f64,
}

/// A number of requests that answers a [`ShareQuestion`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareSize {
    /// From this number on the power is never below the wanted one.
    pub requests: u64,
    /// The power at that number.
    pub power: f64,
    /// Exceedances that still pass at that number.
    pub most_exceedances: u64,
}

/// Why a question is open yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gap {
    /// Too few effective exceedances at this design effect.
    Guard {
        /// The design effect.
        design_effect: f64,
        /// The level that is judged.
        level: Level,
    },
    /// The interval reaches across the target.
    Interval {
        /// Half width of the interval, in shares of the ranks.
        half_width: f64,
        /// Share of values at most the target less the error, less p: how far the estimate is from the target in ranks.
        rank_gap: f64,
    },
    /// A t that is not small enough yet.
    Statistic {
        /// The t; negative on the side of a pass.
        t: f64,
        /// Its critical value, positive.
        critical: f64,
    },
}

/// What it takes until a question is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeToAnswer {
    /// About so many more requests, which takes so many hours at the present rate (`None` without traffic).
    More {
        /// Requests.
        requests: u64,
        /// Hours.
        hours: Option<f64>,
    },
    /// The present estimate itself misses the target: more data will not make a PASS.
    Hopeless,
}

/// Requests for the guard: ⌈10·d/(1 − p)⌉.
pub fn for_exceedances(level: Level, design_effect: f64) -> u64 {
    ceil(LEAST_EXCEEDANCES * design_effect / level.tail())
}

/// Requests for an interval of a quantile that is `half_width` wide in ranks on each side: ⌈z²·p(1 − p)/w²⌉.
///
/// # Errors
/// If `half_width` is not above 0 or `confidence` not between 0 and 1.
pub fn for_half_width(level: Level, half_width: f64, confidence: f64) -> Result<u64, JudgeError> {
    let w = positive("half width", half_width)?;
    let z = normal_quantile((1.0 + open_unit("confidence", confidence)?) / 2.0);
    Ok(ceil(z * z * level.p() * level.tail() / (w * w)))
}

/// Items for a paired accuracy comparison: ⌈(z_{1−α} + z_{power})²·discordance/margin²⌉.
///
/// # Errors
/// If `discordance` or `margin` is not above 0, or `alpha` or `power` not between 0 and 1.
pub fn for_paired_accuracy(
    discordance: f64,
    margin: f64,
    alpha: f64,
    power: f64,
) -> Result<u64, JudgeError> {
    let discordance = positive("share of discordant items", discordance)?;
    let margin = positive("margin", margin)?;
    let z = normal_quantile(1.0 - open_unit("alpha", alpha)?)
        + normal_quantile(open_unit("power", power)?);
    Ok(ceil(z * z * discordance / (margin * margin)))
}

impl ShareQuestion {
    /// Requests from which on the power is never below the wanted one.
    ///
    /// With k exceedances allowed, power falls as n grows, until n allows k + 1. So the lowest points are the last n of
    /// each k, and the answer is the first n of the k after the last low one.
    ///
    /// # Errors
    /// If a number is not between 0 and 1, or the believed share is not below the limit.
    pub fn size(&self) -> Result<ShareSize, JudgeError> {
        self.check()?;
        let mut k = 0;
        let mut good_since = 0;
        let mut first = self.first_that_allows(0, 0);
        let mut answer = first;
        // The low points rise but for a small saw-tooth of their own: some more are looked at.
        while good_since < 20 + k / 4 && first < LIMIT {
            let next = self.first_that_allows(k + 1, first);
            if self.power(next - 1, k) < self.power {
                answer = next;
                good_since = 0;
            } else {
                good_since += 1;
            }
            first = next;
            k += 1;
        }
        if first >= LIMIT {
            return Err(JudgeError::OutOfRange {
                name: "share believed to be true",
                value: self.truth,
                wanted: "one further below the limit: this one would take 10^12 requests",
            });
        }
        let allowed = self.most_allowed(answer);
        Ok(ShareSize {
            requests: answer,
            power: self.power(answer, allowed),
            most_exceedances: allowed,
        })
    }

    fn check(&self) -> Result<(), JudgeError> {
        open_unit("limit of the share", self.limit)?;
        open_unit("alpha", self.alpha)?;
        open_unit("power", self.power)?;
        if self.truth >= 0.0 && self.truth < self.limit {
            return Ok(());
        }
        Err(JudgeError::OutOfRange {
            name: "share believed to be true",
            value: self.truth,
            wanted: "a number from 0 to below the limit",
        })
    }

    /// The smallest n at which k exceedances pass.
    fn first_that_allows(&self, k: u64, from: u64) -> u64 {
        let passes = |n: u64| binomial_at_most(n as f64, self.limit, k as f64) <= self.alpha;
        let mut reach = from.max(k + 1);
        while reach < LIMIT && !passes(reach) {
            reach *= 2;
        }
        first_where(from, reach, passes)
    }

    fn most_allowed(&self, n: u64) -> u64 {
        let too_many = first_where(0, n + 1, |k| {
            binomial_at_most(n as f64, self.limit, k as f64) > self.alpha
        });
        too_many.saturating_sub(1)
    }

    fn power(&self, n: u64, allowed: u64) -> f64 {
        if self.truth == 0.0 {
            return 1.0;
        }
        binomial_at_most(n as f64, self.truth, allowed as f64)
    }
}

impl Gap {
    /// What closes the gap, having `n` requests and getting `rate_per_s` more a second.
    pub fn time_to_answer(self, n: u64, rate_per_s: f64) -> TimeToAnswer {
        let size = n as f64;
        let need = match self {
            Self::Guard {
                design_effect,
                level,
            } => for_exceedances(level, design_effect),
            Self::Interval { rank_gap, .. } if rank_gap <= 0.0 => return TimeToAnswer::Hopeless,
            Self::Statistic { t, .. } if t >= 0.0 => return TimeToAnswer::Hopeless,
            Self::Interval {
                half_width,
                rank_gap,
            } => ceil(size * (half_width / rank_gap).powi(2)),
            Self::Statistic { t, critical } => ceil(size * (critical / t).powi(2)),
        };
        let requests = need.saturating_sub(n);
        let hours = (rate_per_s > 0.0).then(|| requests as f64 / (rate_per_s * 3600.0));
        TimeToAnswer::More { requests, hours }
    }
}

impl TimeToAnswer {
    /// The longer of two: what answers both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Hopeless, _) | (_, Self::Hopeless) => Self::Hopeless,
            (
                Self::More {
                    requests: one,
                    hours: one_hours,
                },
                Self::More {
                    requests: two,
                    hours: two_hours,
                },
            ) => {
                if one >= two {
                    Self::More {
                        requests: one,
                        hours: one_hours,
                    }
                } else {
                    Self::More {
                        requests: two,
                        hours: two_hours,
                    }
                }
            }
        }
    }
}

impl std::fmt::Display for TimeToAnswer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hopeless => out.write_str(
                "the present estimate itself misses the target: more data will not make a PASS",
            ),
            Self::More {
                requests,
                hours: Some(hours),
            } => write!(
                out,
                "about {requests} more requests, {} more hours at the present rate",
                count(hours.ceil())
            ),
            Self::More { requests, .. } => write!(out, "about {requests} more requests"),
        }
    }
}
