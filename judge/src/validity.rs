//! When a run says nothing about the candidate. The limits are engineering choices.

use crate::fidelity::ScheduleLag;

/// Pairs that may be missing on one side, as a share.
const MISSING_PAIRS: f64 = 0.02;
/// How far the arrival rates of the arms may be apart, relative.
const LOAD_PARITY: f64 = 0.02;
/// How far prefix hit rates may be apart, as shares.
const PREFIX_PARITY: f64 = 0.02;

/// Why a run is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunFault {
    /// The replay was late, or at another rate.
    #[error(
        "the replay did not keep its schedule: lag p99 {p99} s of {limit} s, rate {rate} of the planned one"
    )]
    Schedule {
        /// 99 % of the lag.
        p99: f64,
        /// What it may be.
        limit: f64,
        /// Achieved over planned rate.
        rate: f64,
    },
    /// The incumbent's queue grew at its own load: nothing was stationary.
    #[error("the incumbent was saturated at its own load")]
    IncumbentSaturated,
    /// The run never settled.
    #[error("no end of the warm-up was found: lengthen the run")]
    NeverSettled,
    /// Our own measurement was not calibrated, or not lately.
    #[error("the instrument is not calibrated for this run")]
    NotCalibrated,
    /// Records were lost in the windows used.
    #[error("{0} records were dropped in the windows used")]
    Dropped(u64),
    /// Too many requests have only one side.
    #[error("{0} of the pairs lack a side: at most {MISSING_PAIRS} may")]
    MissingPairs(f64),
    /// The arms did not see the same load.
    #[error("the arms' rates differ by {0}: at most {LOAD_PARITY} per replica")]
    LoadParity(f64),
    /// The arms, or the recording and the replay, did not reuse prefixes alike.
    #[error("prefix hit rates differ by {0}: at most {PREFIX_PARITY}")]
    PrefixParity(f64),
    /// Unpaired arms with different mixes that can't be standardised.
    #[error(
        "the mixes of input lengths differ and the candidate lacks a range that the incumbent has"
    )]
    Mix,
    /// The arms differ in something that is not what is compared.
    #[error("the arms differ in {0}, which is not what is compared")]
    Tuple(String),
}

/// What is known of a run. Whatever is `None` or 0 does not apply to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFacts {
    /// Of a replay: how well it kept its schedule.
    pub lag: Option<ScheduleLag>,
    /// The incumbent was saturated.
    pub incumbent_saturated: bool,
    /// No end of the warm-up was found.
    pub never_settled: bool,
    /// There is no fresh calibration.
    pub not_calibrated: bool,
    /// Records dropped in the windows used.
    pub dropped: u64,
    /// Of a paired run: pairs, and those of them that lack a side.
    pub pairs: Option<PairFacts>,
    /// Arrival rates a replica, of the incumbent and the candidate.
    pub rates: Option<(f64, f64)>,
    /// Prefix hit rates that should be alike.
    pub hit_rates: Option<(f64, f64)>,
    /// Of an unpaired run: the mixes differ and can't be standardised.
    pub mix_undefined: bool,
    /// In what the arms differ besides what is compared.
    pub differs_in: Vec<String>,
}

/// Requests of a paired run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairFacts {
    /// All.
    pub sent: u64,
    /// Those with one side only.
    pub one_sided: u64,
}

impl RunFacts {
    /// Every reason for which the run is invalid.
    pub fn faults(&self) -> Vec<RunFault> {
        let mut faults = Vec::new();
        if let Some(lag) = self.lag.filter(|lag| !lag.is_valid()) {
            faults.push(RunFault::Schedule {
                p99: lag.p99,
                limit: lag.limit,
                rate: lag.rate_ratio,
            });
        }
        let flags = [
            (self.incumbent_saturated, RunFault::IncumbentSaturated),
            (self.never_settled, RunFault::NeverSettled),
            (self.not_calibrated, RunFault::NotCalibrated),
            (self.dropped > 0, RunFault::Dropped(self.dropped)),
            (self.mix_undefined, RunFault::Mix),
        ];
        faults.extend(
            flags
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, fault)| fault),
        );
        faults.extend(self.parity());
        faults.extend(self.differs_in.iter().cloned().map(RunFault::Tuple));
        faults
    }

    fn parity(&self) -> impl Iterator<Item = RunFault> {
        let missing = self
            .pairs
            .map(|pairs| pairs.one_sided as f64 / pairs.sent as f64);
        let rates = self.rates.map(|(a, b)| (b / a - 1.0).abs());
        let hits = self.hit_rates.map(|(a, b)| (b - a).abs());
        let missing = missing.filter(|share| *share > MISSING_PAIRS);
        let rates = rates.filter(|apart| *apart > LOAD_PARITY);
        let hits = hits.filter(|apart| *apart > PREFIX_PARITY);
        missing
            .map(RunFault::MissingPairs)
            .into_iter()
            .chain(rates.map(RunFault::LoadParity))
            .chain(hits.map(RunFault::PrefixParity))
    }
}
