//! Latencies of a queue with one server, for tests of dependent data.

use judge::Observation;
use judge::prng::SplitMix64;

/// One server, first come, first served; Poisson arrivals; service 0.25 to 1.75 times its mean.
#[derive(Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) start: u64,
    pub(crate) n: usize,
    pub(crate) utilisation: f64,
}

impl Queue {
    /// Sojourn times of the same requests for each factor on the service time, in order of arrival.
    pub(crate) fn sojourns<const ARMS: usize>(
        self,
        factors: [f64; ARMS],
    ) -> [Vec<Observation>; ARMS] {
        const SETTLING: usize = 500;
        let mut generator = SplitMix64::new(self.start);
        let mut waits = [0.0; ARMS];
        let mut before = [0.0; ARMS];
        let mut arms = [(); ARMS].map(|()| Vec::new());
        for at in 0..self.n + SETTLING {
            let gap = -(1.0 - generator.unit()).ln() / self.utilisation;
            let service = 0.25 + 1.5 * generator.unit();
            for arm in 0..ARMS {
                let own = service * factors[arm];
                waits[arm] = f64::max(0.0, waits[arm] + before[arm] - gap);
                before[arm] = own;
                if at >= SETTLING {
                    arms[arm].push(Observation::value(waits[arm] + own));
                }
            }
        }
        arms
    }
}
