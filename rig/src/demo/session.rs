//! One run: starts engine and proxy, sends the load, gathers both sides several times a second, and stops in an order that
//! loses nothing: clients, proxy, engine.

use crate::Error;
use crate::clock::OneClock;
use crate::demo::Options;
use crate::demo::control::Control;
use crate::demo::load::{Clients, MODEL, Tally};
use crate::demo::mix::Plan;
use crate::demo::pairing::{KEPT, Pairing};
use crate::demo::report::{Process as ProcessReport, Report, Requests, Settings};
use crate::engine_thread::{Deployment, EngineThread};
use crate::listen;
use crate::process::{Holding, Process, Scheduled};
use crate::proxy_thread::ProxyThread;
use measure::{Nanos, ShapeEdges};
use sim::Profile;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::signal;
use tokio::task::JoinSet;

/// Both sides are gathered this often.
const GATHER_EVERY: Duration = Duration::from_millis(100);

/// Tokens a second are counted over so many gatherings: a second.
const RATE_OVER: usize = 10;

/// After the last answer, both sides have so long to notice that it is over.
const SETTLE_MOST: Duration = Duration::from_secs(5);

/// Where Prometheus looks for the proxy's metrics by default.
const ADMIN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// What is told meanwhile.
pub trait Watch {
    /// All parts run; the first request is about to be sent.
    fn started(&mut self, started: &Started);

    /// How far it is; several times a second.
    fn progress(&mut self, progress: &Progress);
}

/// Where things are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Where the load's clients connect, and anybody else may.
    pub proxy: SocketAddr,
    /// Where the proxy's metrics are.
    pub admin: SocketAddr,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Since the first request could be sent.
    pub elapsed: Duration,
    /// Requests that have ended, however.
    pub done: u64,
    /// Requests that have not.
    pub in_flight: u64,
    /// Requests without an answer.
    pub failed: u64,
    /// p95 of the time to first token so far, as the proxy reports it.
    pub ttft_p95: Option<Duration>,
    /// Tokens that reached clients in the last second.
    pub tokens_per_second: f64,
}

/// All that a report is made of.
pub(crate) struct Finished {
    pub(crate) settings: Settings,
    pub(crate) requests: Requests,
    pub(crate) process: ProcessReport,
    pub(crate) pairing: Pairing,
}

/// A run under way.
struct Session<'a> {
    clock: OneClock,
    start: Nanos,
    half: Nanos,
    engine: EngineThread,
    proxy: ProxyThread,
    tally: Arc<Tally>,
    pairing: Pairing,
    received: VecDeque<(Nanos, u64)>,
    holding_at_half: Option<Holding>,
    watch: &'a mut dyn Watch,
}

/// Runs the load and compares.
pub(crate) async fn run(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    let (holding, scheduled) = (Process::this().holding(), Process::this().scheduled());
    let mut session = Session::start(options, watch).await?;
    let mut control = Control::start(session.clock).await?;
    tokio::select! {
        carried = session.carry(options) => carried?,
        () = control.send_for_ever() => {}
    }
    let hops = control.stop().await?;
    session.settle().await;
    let settings = Settings {
        version: env!("CARGO_PKG_VERSION"),
        engine: profile().name,
        seconds: options.duration.as_secs_f64(),
        rate: options.rate,
        seed: options.seed,
    };
    Ok(Report::new(
        session.finish(settings, (holding, scheduled)).await?,
        &hops,
    ))
}

/// The small deployment with a prefill in small pieces and of 40 000 tokens a second, so that a long prompt holds up the
/// others' tokens for milliseconds.
fn profile() -> Profile {
    Profile {
        name: "small-gpu-chunked",
        max_step_tokens: NonZeroU32::new(512).unwrap_or(NonZeroU32::MIN),
        prefill_token_ns: 25_000,
        ..Profile::small_gpu()
    }
}

/// Where the proxy's metrics shall be: where asked, else the usual place, else anywhere.
fn admin(options: &Options) -> Result<TcpListener, Error> {
    const WHAT: &str = "proxy's metrics";
    match options.admin_listen {
        Some(address) => listen::listen(WHAT, address),
        None => listen::listen(WHAT, ADMIN).or_else(|_| listen::listen(WHAT, listen::ANYWHERE)),
    }
}

fn nanos(duration: Duration) -> Nanos {
    Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

impl<'a> Session<'a> {
    async fn start(options: &Options, watch: &'a mut dyn Watch) -> Result<Self, Error> {
        let clock = OneClock::start();
        let deployment = Deployment {
            profile: profile(),
            seed: options.seed,
            model: MODEL,
        };
        let listener = listen::listen("simulated engine", listen::ANYWHERE)?;
        let engine = EngineThread::start(deployment, &clock, listener).await?;
        let proxy = ProxyThread::start(engine.address, &clock, admin(options)?)?;
        watch.started(&Started {
            proxy: proxy.data,
            admin: proxy.admin,
        });
        let start = clock.stamp();
        Ok(Self {
            clock,
            start,
            half: start + nanos(options.duration / 2),
            engine,
            proxy,
            tally: Arc::default(),
            pairing: Pairing::new(ShapeEdges::default()),
            received: VecDeque::with_capacity(RATE_OVER + 1),
            holding_at_half: None,
            watch,
        })
    }

    /// Sends all requests and waits for their answers, gathering all the while.
    async fn carry(&mut self, options: &Options) -> Result<(), Error> {
        let clients = Clients::new(self.proxy.data, Arc::clone(&self.tally));
        let plan = Plan::new(options.seed, options.rate, nanos(options.duration));
        let (clock, start) = (self.clock, self.start);
        let answers = async {
            let mut open = JoinSet::new();
            tokio::select! {
                () = clients.send(plan, (clock, start), &mut open) => {}
                interrupted = signal::ctrl_c() => interrupted.map_err(Error::Signals)?,
            }
            tokio::select! {
                () = Clients::finish(&mut open) => Ok(()),
                interrupted = signal::ctrl_c() => Err(interrupted.map_or_else(Error::Signals, |()| Error::Interrupted)),
            }
        };
        tokio::select! {
            answered = answers => answered,
            () = self.gather_for_ever() => Ok(()),
        }
    }

    async fn gather_for_ever(&mut self) {
        let mut ticks = tokio::time::interval(GATHER_EVERY);
        loop {
            ticks.tick().await;
            self.gather();
        }
    }

    /// Takes what both sides have, and tells how far it is.
    fn gather(&mut self) {
        while let Ok(record) = self.proxy.records.try_recv() {
            self.pairing.record(record);
        }
        self.gather_truth();
        let now = self.clock.stamp();
        if now >= self.half && self.holding_at_half.is_none() {
            self.holding_at_half = Some(Process::this().holding());
        }
        let progress = self.progress(now);
        self.watch.progress(&progress);
    }

    fn gather_truth(&mut self) {
        for record in self.engine.server.truth().drain() {
            self.pairing.truth(&record);
        }
    }

    fn progress(&mut self, now: Nanos) -> Progress {
        let tokens = self.tally.tokens.load(Relaxed);
        let (since, before) = self.received.front().copied().unwrap_or((now, tokens));
        self.received.push_back((now, tokens));
        if self.received.len() > RATE_OVER {
            self.received.pop_front();
        }
        let span = now.since(since).as_secs_f64();
        let ttft = &self.pairing.ttft;
        Progress {
            elapsed: Duration::from_nanos(now.since(self.start).0),
            done: self.tally.done(),
            in_flight: self.tally.open(),
            failed: self.tally.failed.load(Relaxed),
            ttft_p95: (!ttft.is_empty())
                .then(|| Duration::from_nanos(ttft.value_at_quantile(0.95))),
            tokens_per_second: if span > 0.0 {
                per_second(tokens - before, span)
            } else {
                0.0
            },
        }
    }

    /// Waits until both sides have noticed that all is over, but not for ever.
    async fn settle(&mut self) {
        let settled = async {
            while self.in_flight() > 0 || self.engine.server.live().open > 0 {
                tokio::time::sleep(GATHER_EVERY).await;
                self.gather();
            }
        };
        // What has not ended by then is part of the report.
        let _ = tokio::time::timeout(SETTLE_MOST, settled).await;
        self.gather();
    }

    fn in_flight(&self) -> u64 {
        let in_flight = &self.proxy.in_flight;
        u64::from(in_flight.prefill()) + u64::from(in_flight.decode())
    }

    async fn finish(
        mut self,
        settings: Settings,
        (start, scheduled): (Holding, Option<Scheduled>),
    ) -> Result<Finished, Error> {
        let in_flight_left = self.in_flight();
        // A thread that has ended is in nobody's account any more.
        let given = Process::this()
            .scheduled()
            .zip(scheduled)
            .map(|(now, before)| now.since(before));
        let mut records = self.proxy.stop().await?;
        while let Some(record) = records.recv().await {
            self.pairing.record(record);
        }
        let server = self.engine.server.clone();
        self.engine.stop().await?;
        for record in server.truth().drain() {
            self.pairing.truth(&record);
        }
        drop(server);
        let process = ProcessReport {
            start,
            half: self.holding_at_half,
            end: Process::this().holding(),
            cpu_seconds: given.map(|given| Nanos(given.running_ns).as_secs_f64()),
            cpu_wait_seconds: given.map(|given| Nanos(given.waiting_ns).as_secs_f64()),
        };
        let requests = requests(&self.tally, &self.pairing, in_flight_left);
        Ok(Finished {
            settings,
            requests,
            process,
            pairing: self.pairing,
        })
    }
}

fn requests(tally: &Tally, pairing: &Pairing, in_flight_left: u64) -> Requests {
    let counts = pairing.counts;
    Requests {
        sent: tally.sent.load(Relaxed),
        answered: tally.answered.load(Relaxed),
        left_early: tally.left.load(Relaxed),
        failed: tally.failed.load(Relaxed),
        in_flight_left,
        held_back: tally.held_back.load(Relaxed),
        records: counts.records,
        truths: counts.truths,
        paired: counts.paired,
        unpaired: pairing.unpaired(),
        not_kept: counts.not_kept,
        kept_most: KEPT,
        tokens_received: tally.tokens.load(Relaxed),
        tokens_reported: counts.tokens_reported,
        tokens_true: counts.tokens_true,
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens of a second are few")]
fn per_second(count: u64, span: f64) -> f64 {
    count as f64 / span
}
