//! Fluidity: the share of token deadlines that a stream meets when earliness is banked.
//!
//! A token that comes early leaves slack for later ones, as a reader with a buffer has it; one that comes late misses all
//! deadlines that passed meanwhile, and the slack is spent. Beside TPOT, since TPOT can be improved by holding tokens back.
//! (Agrawal et al., "Etalon: holistic performance evaluation framework for LLM inference systems", arXiv 2407.07000; the
//! semantics are those of project-etalon/etalon, `etalon/metrics/metric_utils.py`.)

use crate::numeric::floor;

/// Deadlines of one stream, in the unit of its times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadlines {
    /// For the first token.
    pub first: f64,
    /// Between tokens, above 0.
    pub between: f64,
}

/// How many deadlines there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fluidity {
    /// Deadlines that passed without their token.
    pub missed: u64,
    /// All that passed.
    pub deadlines: u64,
}

impl Fluidity {
    /// Of a stream's times: TTFT first, then the gaps between tokens.
    pub fn of(times: &[f64], deadlines: Deadlines) -> Self {
        let mut met = 0;
        let mut missed = 0;
        let mut slack = 0.0;
        for (at, time) in times.iter().enumerate() {
            let deadline = if at == 0 {
                deadlines.first
            } else {
                deadlines.between
            };
            if *time <= deadline + slack {
                slack += deadline - time;
                met += 1;
                continue;
            }
            let late = time - slack;
            missed += if at == 0 {
                1 + floor((late - deadlines.first) / deadlines.between)
            } else {
                floor(late / deadlines.between)
            };
            slack = 0.0;
        }
        Self {
            missed,
            deadlines: met + missed,
        }
    }

    /// missed/deadlines. `None` of a stream without times.
    pub fn miss_rate(self) -> Option<f64> {
        (self.deadlines > 0).then(|| self.missed as f64 / self.deadlines as f64)
    }

    /// 1 − missed/deadlines.
    pub fn index(self) -> Option<f64> {
        self.miss_rate().map(|rate| 1.0 - rate)
    }
}
