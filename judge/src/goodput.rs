//! Goodput: requests that completed and met every objective, jointly, of all that were offered.
//!
//! The denominator is what was offered. Of what completed alone it is shown beside it, never instead: abandoning slow
//! requests would improve it. (Joint attainment as in DistServe, Zhong et al., OSDI 2024.)

/// What a request has to keep; unit as in [`Served`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objectives {
    /// Most for TTFT.
    pub ttft: f64,
    /// Most for TPOT.
    pub tpot: f64,
}

/// One offered request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Served {
    /// It completed.
    pub completed: bool,
    /// TTFT, if a token came.
    pub ttft: Option<f64>,
    /// TPOT; `None` where it is not applicable.
    pub tpot: Option<f64>,
}

/// How many were good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Goodput {
    /// All.
    pub offered: u64,
    /// Those that completed.
    pub completed: u64,
    /// Those that completed and met both.
    pub good: u64,
    /// Those that completed and met TTFT.
    pub ttft_met: u64,
    /// Those that completed and met TPOT, or can't have one.
    pub tpot_met: u64,
}

impl Goodput {
    /// Counts requests.
    pub fn of<'a>(requests: impl IntoIterator<Item = &'a Served>, objectives: &Objectives) -> Self {
        let mut counts = Self::default();
        for request in requests {
            counts.offered += 1;
            if !request.completed {
                continue;
            }
            let ttft = request.ttft.is_some_and(|ttft| ttft <= objectives.ttft);
            let tpot = request.tpot.is_none_or(|tpot| tpot <= objectives.tpot);
            counts.completed += 1;
            counts.ttft_met += u64::from(ttft);
            counts.tpot_met += u64::from(tpot);
            counts.good += u64::from(ttft && tpot);
        }
        counts
    }

    /// Good requests per second.
    pub fn per_s(&self, duration_s: f64) -> f64 {
        self.good as f64 / duration_s
    }

    /// good/offered. `None` of none.
    pub fn attainment(&self) -> Option<f64> {
        share(self.good, self.offered)
    }

    /// good/completed. `None` if none completed.
    pub fn attainment_of_completed(&self) -> Option<f64> {
        share(self.good, self.completed)
    }

    /// Share of what was offered that completed and met TTFT.
    pub fn ttft_attainment(&self) -> Option<f64> {
        share(self.ttft_met, self.offered)
    }

    /// Share of what was offered that completed and met TPOT.
    pub fn tpot_attainment(&self) -> Option<f64> {
        share(self.tpot_met, self.offered)
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}
