//! Coordinated omission: a sender that waits for each answer sends late, and its service times hide that.
//!
//! The response time counts from the moment at which a request was *meant* to be sent. (Tene, "How NOT to measure
//! latency"; giltene/wrk2.) HdrHistogram's correction, which invents the missing values, is here for comparison only.
//!
//! All times in one unit.

/// One request of a sender that waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// What it took from being sent.
    pub service: f64,
    /// What it took from when it was meant to be sent.
    pub response: f64,
    /// How much too late it was sent.
    pub lag: f64,
}

/// Requests meant to be sent every `interval`, each sent when the one before it is answered at the earliest.
pub fn one_sender(service: &[f64], interval: f64) -> Vec<Sent> {
    let mut free = f64::NEG_INFINITY;
    let send = |(at, service): (usize, &f64)| {
        let intended = at as f64 * interval;
        let start = intended.max(free);
        free = start + service;
        Sent {
            service: *service,
            response: free - intended,
            lag: start - intended,
        }
    };
    service.iter().enumerate().map(send).collect()
}

/// HdrHistogram's correction: for each s also s − v, s − 2v, … while that is at least v. For comparison only.
pub fn hdr_corrected(service: &[f64], interval: f64) -> Vec<f64> {
    let mut corrected = Vec::with_capacity(service.len());
    for value in service {
        corrected.push(*value);
        let mut missing = value - interval;
        while interval > 0.0 && missing >= interval {
            corrected.push(missing);
            missing -= interval;
        }
    }
    corrected
}
