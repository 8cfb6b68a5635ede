//! Incumbent and candidate, side by side: is what was measured like for like, and what follows from it?
//!
//! Takes the records of both, cuts the warm-up off, checks that the run can say anything at all, and asks each criterion.
//! Defaults are those of [`crate::criterion`]. Of a *paired* comparison the n-th record of one side and of the other are of
//! the same request; otherwise each side has requests of its own, which takes far more of them.
//!
//! Records are in order of the incumbent's arrival if paired, else each side in order of its own. What the records can't
//! say (drops, calibration, a replay's lag) is handed in as [`RunFacts`].

mod arm;

pub use arm::{Arm, ArmFigures, Spread};

use crate::criterion::{Arms, LatencyFinding, LatencyRule, error_rate, throughput};
use crate::error::JudgeError;
use crate::mix::{Mix, Stratum};
use crate::observation::{Observation, Quantity};
use crate::paired::PairedTest;
use crate::quantile::Level;
use crate::share::RateDifference;
use crate::validity::RunFacts;
use crate::verdict::{Finding, Judgement};
use arm::{is_bad, warm_up};
use measure::Record;

/// One-sided risk of a wrong answer on a latency: dependence costs up to a factor of two.
const LATENCY_ALPHA: f64 = 0.025;

/// Inclusive upper edges of the input lengths whose mixes are compared.
const INPUT_EDGES: &[u64] = &[
    15, 31, 63, 127, 255, 511, 1_023, 2_047, 4_095, 8_191, 16_383, 32_767, 65_535, 131_071,
];

/// What the candidate has to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The most that p95 TTFT may be, in seconds.
    pub ttft: Option<f64>,
    /// The most that p95 TPOT may be, in seconds.
    pub tpot: Option<f64>,
    /// A candidate's latency may be at most so many times the incumbent's.
    pub margin: f64,
    /// Its share of bad answers may be at most this much above the incumbent's.
    pub error_margin: f64,
    /// 99 % of our own error of a TTFT, in seconds.
    pub ttft_error: f64,
    /// 99 % of our own error of a TPOT, in seconds: that of two stamps over the tokens between them.
    pub tpot_error: f64,
}

/// The two sides.
#[derive(Debug, Clone, Copy)]
pub enum Sides<'a> {
    /// The same requests, one by one.
    Paired(Arm<'a>, Arm<'a>),
    /// Requests of their own.
    Unpaired(Arm<'a>, Arm<'a>),
}

/// What was found of one latency.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyRow {
    /// Which.
    pub quantity: Quantity,
    /// At which level.
    pub level: Level,
    /// What was found.
    pub found: LatencyFinding,
}

/// Both sides compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The verdict, with its reasons.
    pub judgement: Judgement,
    /// Figures of the incumbent.
    pub incumbent: ArmFigures,
    /// Figures of the candidate.
    pub candidate: ArmFigures,
    /// The latencies: p95, which decide, then p99, which are shown.
    pub latencies: Vec<LatencyRow>,
    /// Bad answers, if both sides have any requests.
    pub errors: Option<RateDifference>,
    /// Every criterion, in the order of a table.
    pub findings: Vec<Finding>,
    /// What the run is like, the records' part filled in.
    pub facts: RunFacts,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            ttft: None,
            tpot: None,
            margin: 1.10,
            error_margin: 0.005,
            ttft_error: 0.001,
            tpot_error: 0.000_1,
        }
    }
}

impl Comparison {
    /// Compares two sides. `known` is what the records can't say of the run.
    ///
    /// # Errors
    /// If a term is out of range, or the sides of a pairing differ in length.
    pub fn of(sides: Sides<'_>, terms: &Terms, known: RunFacts) -> Result<Self, JudgeError> {
        let settled = Settled::of(sides)?;
        let facts = settled.facts(known);
        let rate = settled.incumbent().rate().unwrap_or(0.0);
        let rows = [
            (Quantity::Ttft, Level::P95),
            (Quantity::Tpot, Level::P95),
            (Quantity::Ttft, Level::P99),
            (Quantity::Tpot, Level::P99),
        ];
        let mut latencies = Vec::with_capacity(rows.len());
        for (quantity, level) in rows {
            latencies.extend(settled.latency(quantity, level, terms, rate)?);
        }
        let mut findings: Vec<Finding> = latencies
            .iter()
            .filter(|row| row.level == Level::P95)
            .map(|row| row.found.finding.clone())
            .collect();
        let errors = settled.errors(terms, rate)?;
        findings.extend(errors.as_ref().map(|(_, finding)| finding.clone()));
        findings.push(settled.throughput());
        findings.extend(
            latencies
                .iter()
                .filter(|row| row.level != Level::P95)
                .map(|row| row.found.finding.clone().advisory()),
        );
        Ok(Self {
            judgement: Judgement::of(facts.faults(), &findings),
            incumbent: settled.incumbent().figures(),
            candidate: settled.candidate().figures(),
            latencies,
            errors: errors.map(|(difference, _)| difference),
            findings,
            facts,
        })
    }
}

/// Both sides without their warm-up.
#[derive(Debug, Clone, Copy)]
struct Settled<'a> {
    sides: Sides<'a>,
    /// No end of the warm-up was found on one of the sides.
    never: bool,
}

impl<'a> Settled<'a> {
    fn of(sides: Sides<'a>) -> Result<Self, JudgeError> {
        let (a, b) = match sides {
            Sides::Paired(a, b) | Sides::Unpaired(a, b) => (a, b),
        };
        let (of_a, of_b) = (warm_up(a.records), warm_up(b.records));
        let never = of_a.is_none() || of_b.is_none();
        let (of_a, of_b) = (of_a.unwrap_or(0), of_b.unwrap_or(0));
        let sides = match sides {
            Sides::Paired(a, b) if a.records.len() != b.records.len() => {
                return Err(JudgeError::Lengths {
                    left: "the incumbent",
                    left_len: a.records.len(),
                    right: "the candidate",
                    right_len: b.records.len(),
                });
            }
            // A pair is cut as one.
            Sides::Paired(a, b) => {
                let cut = of_a.max(of_b);
                Sides::Paired(a.after(cut), b.after(cut))
            }
            Sides::Unpaired(a, b) => Sides::Unpaired(a.after(of_a), b.after(of_b)),
        };
        Ok(Self { sides, never })
    }

    fn incumbent(&self) -> Arm<'a> {
        match self.sides {
            Sides::Paired(a, _) | Sides::Unpaired(a, _) => a,
        }
    }

    fn candidate(&self) -> Arm<'a> {
        match self.sides {
            Sides::Paired(_, b) | Sides::Unpaired(_, b) => b,
        }
    }

    fn facts(&self, known: RunFacts) -> RunFacts {
        let (a, b) = (self.incumbent(), self.candidate());
        let mut facts = known;
        facts.incumbent_saturated |= a.saturated();
        facts.never_settled |= self.never;
        facts.rates = facts.rates.or(a.rate_each().zip(b.rate_each()));
        facts.hit_rates = facts.hit_rates.or(a.hit_rate().zip(b.hit_rate()));
        if let Sides::Unpaired(..) = self.sides {
            match mix(a.records, b.records) {
                Some(mix) if mix.standardised_b.is_none() && mix.differs() => {
                    facts.mix_undefined = true;
                }
                Some(mix) if mix.differs() => {
                    let share = 100.0 * mix.distance;
                    facts.differs_in.push(format!(
                        "the mix of input lengths ({share:.1} % of the requests)"
                    ));
                }
                _ => {}
            }
        }
        facts
    }

    fn latency(
        &self,
        quantity: Quantity,
        level: Level,
        terms: &Terms,
        rate: f64,
    ) -> Result<Option<LatencyRow>, JudgeError> {
        let (limit, error) = match quantity {
            Quantity::Ttft => (terms.ttft, terms.ttft_error),
            Quantity::Tpot => (terms.tpot, terms.tpot_error),
        };
        let rule = LatencyRule {
            test: PairedTest {
                level,
                margin: terms.margin,
                alpha: LATENCY_ALPHA,
            },
            // The target is one of p95.
            limit: limit.filter(|_| level == Level::P95),
            error,
        };
        let name = format!("p{:.0} {}", 100.0 * level.p(), quantity.as_str());
        let (a, b) = self.populations(quantity);
        if a.is_empty() && b.is_empty() {
            return Ok(None);
        }
        let arms = match self.sides {
            Sides::Paired(..) => Arms::Paired(&a, &b),
            Sides::Unpaired(..) => Arms::Unpaired(&a, &b),
        };
        let found = rule.judge(&name, arms, rate)?;
        Ok(Some(LatencyRow {
            quantity,
            level,
            found,
        }))
    }

    /// What both sides have of a quantity; of pairs, those where both have it.
    fn populations(&self, quantity: Quantity) -> (Vec<Observation>, Vec<Observation>) {
        let (a, b) = (self.incumbent().records, self.candidate().records);
        match self.sides {
            Sides::Unpaired(..) => (
                quantity.population(a.iter().copied()),
                quantity.population(b.iter().copied()),
            ),
            Sides::Paired(..) => {
                let both = a
                    .iter()
                    .zip(b)
                    .filter(|(a, b)| !a.flags.client_limited && !b.flags.client_limited);
                both.filter_map(|(a, b)| quantity.of(a).zip(quantity.of(b)))
                    .unzip()
            }
        }
    }

    fn errors(
        &self,
        terms: &Terms,
        rate: f64,
    ) -> Result<Option<(RateDifference, Finding)>, JudgeError> {
        let bad = |records: &[&Record]| -> Vec<bool> {
            records.iter().map(|record| is_bad(record)).collect()
        };
        let (a, b) = (bad(self.incumbent().records), bad(self.candidate().records));
        if a.is_empty() || b.is_empty() {
            return Ok(None);
        }
        error_rate(&a, &b, terms.error_margin, rate).map(Some)
    }

    fn throughput(&self) -> Finding {
        let candidate = self.candidate();
        let good = candidate.records.iter().filter(|one| !is_bad(one)).count();
        throughput(
            candidate.saturated(),
            good as u64,
            candidate.records.len() as u64,
        )
    }
}

/// The mixes of input lengths; `None` if one side has no known length.
fn mix(a: &[&Record], b: &[&Record]) -> Option<Mix> {
    let lengths = |records: &[&Record]| -> Vec<u64> {
        let mut counts = vec![0; INPUT_EDGES.len() + 1];
        for length in records.iter().filter_map(|record| record.input_tokens) {
            let at = INPUT_EDGES.partition_point(|edge| *edge < length);
            if let Some(count) = counts.get_mut(at) {
                *count += 1;
            }
        }
        counts
    };
    let strata = lengths(a).into_iter().zip(lengths(b));
    let strata: Vec<_> = strata
        .map(|(n_a, n_b)| Stratum {
            n_a,
            n_b,
            ..Stratum::default()
        })
        .collect();
    Mix::of(&strata).ok()
}
