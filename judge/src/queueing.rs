//! Closed forms of simple queues: the truth for a test against an engine that is one.
//!
//! First come, first served; Poisson arrivals of rate λ. Times have the unit of 1/rate. All are `Err` where the queue would
//! grow for ever, that is where λ is not below what the servers can do.
//!
//! M/M/1 and M/M/c: Kleinrock, *Queueing Systems* 1, chapter 3. M/D/1: Erlang's sum for P(wait ≤ x) has alternating signs
//! and loses all digits beyond some 15 service times, so the form of Franx ("A simple solution for the M/D/c waiting time
//! distribution", 2001) is used, whose terms are all positive.

use crate::error::{JudgeError, positive};
use crate::numeric::{bisect, count};

/// One server, exponential service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mm1 {
    arrivals: f64,
    service: f64,
}

/// c servers, exponential service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mmc {
    servers: u32,
    arrivals: f64,
    service: f64,
}

/// One server, constant service.
#[derive(Debug, Clone, PartialEq)]
pub struct Md1 {
    arrivals: f64,
    service_time: f64,
}

fn stable(utilisation: f64) -> Result<(), JudgeError> {
    if utilisation < 1.0 {
        return Ok(());
    }
    Err(JudgeError::OutOfRange {
        name: "utilisation",
        value: utilisation,
        wanted: "a number below 1: at 1 the queue grows for ever",
    })
}

// Mm1

impl Mm1 {
    /// Arrivals and service, both as rates.
    ///
    /// # Errors
    /// If a rate is not above 0, or the queue grows for ever.
    pub fn new(arrivals: f64, service: f64) -> Result<Self, JudgeError> {
        stable(positive("arrival rate", arrivals)? / positive("service rate", service)?)?;
        Ok(Self { arrivals, service })
    }

    /// Mean time from arrival to end: 1/(μ − λ).
    pub fn mean_sojourn(&self) -> f64 {
        1.0 / (self.service - self.arrivals)
    }

    /// Mean number present: λ/(μ − λ).
    pub fn mean_in_system(&self) -> f64 {
        self.arrivals * self.mean_sojourn()
    }

    /// Quantile of the time from arrival to end: −ln(1 − p)/(μ − λ).
    pub fn sojourn_quantile(&self, p: f64) -> f64 {
        -(-p).ln_1p() * self.mean_sojourn()
    }

    /// P(no wait): 1 − λ/μ.
    pub fn no_wait(&self) -> f64 {
        1.0 - self.arrivals / self.service
    }
}

// Mmc

impl Mmc {
    /// Servers, and rates of arrivals and of one server.
    ///
    /// # Errors
    /// If there is no server, a rate is not above 0, or the queue grows for ever.
    pub fn new(servers: u32, arrivals: f64, service: f64) -> Result<Self, JudgeError> {
        positive("number of servers", f64::from(servers))?;
        let offered = positive("arrival rate", arrivals)? / positive("service rate", service)?;
        stable(offered / f64::from(servers))?;
        Ok(Self {
            servers,
            arrivals,
            service,
        })
    }

    /// Erlang's C: P(wait > 0). From Erlang's B by its recursion, which does not overflow.
    pub fn erlang_c(&self) -> f64 {
        let offered = self.arrivals / self.service;
        let blocked = (1..=self.servers).fold(1.0, |blocked, servers| {
            offered * blocked / (f64::from(servers) + offered * blocked)
        });
        let utilisation = offered / f64::from(self.servers);
        blocked / (1.0 - utilisation * (1.0 - blocked))
    }

    /// Mean wait: C/(cμ − λ).
    pub fn mean_wait(&self) -> f64 {
        self.erlang_c() / self.spare()
    }

    /// Quantile of the wait: 0 if 1 − p ≥ C, else −ln((1 − p)/C)/(cμ − λ).
    pub fn wait_quantile(&self, p: f64) -> f64 {
        let waits = self.erlang_c();
        if 1.0 - p >= waits {
            0.0
        } else {
            -((1.0 - p) / waits).ln() / self.spare()
        }
    }

    fn spare(&self) -> f64 {
        f64::from(self.servers) * self.service - self.arrivals
    }
}

// Md1

impl Md1 {
    /// Arrivals as a rate, service as a time.
    ///
    /// # Errors
    /// If one is not above 0, or the queue grows for ever.
    pub fn new(arrivals: f64, service_time: f64) -> Result<Self, JudgeError> {
        stable(positive("arrival rate", arrivals)? * positive("service time", service_time)?)?;
        Ok(Self {
            arrivals,
            service_time,
        })
    }

    /// Mean wait: λD²/(2(1 − ρ)) (Pollaczek and Khinchine).
    pub fn mean_wait(&self) -> f64 {
        self.utilisation() * self.service_time / (2.0 * (1.0 - self.utilisation()))
    }

    /// P(wait ≤ x), with k = ⌊x/D⌋ + 1 and u = λ(kD − x): e^{−u}·Σ_{j<k} Q_{k−1−j}·u^j/j!, Q_m = P(at most m in the queue).
    pub fn wait_at_most(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 0.0;
        }
        let k = count((x / self.service_time).floor()) + 1;
        let u = self.arrivals * (k as f64 * self.service_time - x);
        let queue = self.queue_at_most(k);
        let mut term = (-u).exp();
        let mut sum = 0.0;
        for (j, below) in queue.iter().rev().enumerate() {
            sum += below * term;
            term *= u / (j as f64 + 1.0);
        }
        sum.min(1.0)
    }

    /// Quantile of the wait: 0 if 1 − ρ ≥ p.
    pub fn wait_quantile(&self, p: f64) -> f64 {
        if 1.0 - self.utilisation() >= p {
            return 0.0;
        }
        let mut high = self.service_time;
        while self.wait_at_most(high) < p && high < f64::MAX / 2.0 {
            high *= 2.0;
        }
        bisect(0.0, high, |x| self.wait_at_most(x) < p)
    }

    /// Quantile of wait and service together.
    pub fn sojourn_quantile(&self, p: f64) -> f64 {
        self.wait_quantile(p) + self.service_time
    }

    fn utilisation(&self) -> f64 {
        self.arrivals * self.service_time
    }

    /// P(at most m wait) for m below `length`: P(at most m + 1 present).
    ///
    /// The present distribution comes from the balance of crossings, in which nothing is subtracted: what leaves j + 1 for j
    /// in a service, π_{j+1}·a_0, equals what goes above j, π_0·P(A > j) + Σ_{1≤i≤j} π_i·P(A > j + 1 − i), A the arrivals
    /// of one service.
    fn queue_at_most(&self, length: u64) -> Vec<f64> {
        let rho = self.utilisation();
        let tails = poisson_tails(rho, length + 2);
        let more_than = |n: u64| tails.get(crate::numeric::index(n)).copied().unwrap_or(0.0);
        let mut present = vec![1.0 - rho];
        for j in 0..length {
            let from_empty = more_than(j) * (1.0 - rho);
            let others = present.iter().zip(0_u64..).skip(1);
            let up: f64 = others.map(|(share, i)| share * more_than(j + 1 - i)).sum();
            present.push((from_empty + up) * rho.exp());
        }
        let mut below = present.first().copied().unwrap_or(0.0);
        let rest = present.iter().skip(1);
        rest.map(|share| {
            below += share;
            below
        })
        .collect()
    }
}

/// P(A > n) of a Poisson number with the given mean, n = 0 … count − 1; summed from the far end, so that small ones are
/// right.
fn poisson_tails(mean: f64, count: u64) -> Vec<f64> {
    let far = count + 40;
    let mut probabilities = Vec::new();
    let mut term = (-mean).exp();
    for n in 0..=far {
        probabilities.push(term);
        term *= mean / (n as f64 + 1.0);
    }
    let mut tail = 0.0;
    let mut tails: Vec<f64> = probabilities
        .iter()
        .skip(1)
        .rev()
        .map(|probability| {
            tail += probability;
            tail
        })
        .collect();
    tails.reverse();
    tails.truncate(crate::numeric::index(count));
    tails
}
