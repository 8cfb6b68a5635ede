//! Runs an [`Engine`] against a clock.
//!
//! One task owns the engine. Jobs come in through a bounded queue; each gets its progress through a `watch`, which keeps
//! only the latest state: a reader that lags finds its tokens merged, as real engines merge them. A job whose reader is
//! gone is cancelled at the end of the step.
//!
//! Steps follow each other on the *planned* schedule, so that the timer's coarseness does not slow the engine down, unless
//! it has fallen behind by more than [`SLACK_NS`]: then the next step begins now.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use wire::encode::Times;

use crate::clock::Clock;
use crate::engine::{Engine, Finish, Load, Refusal, Request, RequestId, Step, Work};
use crate::pace::Pace;

/// Lateness that is the timer's, not the engine's.
const SLACK_NS: u64 = 2_000_000;

/// Jobs that wait to be looked at.
const QUEUE: usize = 1_024;

/// What one choice has come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Tokens generated.
    pub(crate) tokens: u32,
    /// Prompt tokens from the prefix cache; means something once there is a token.
    pub(crate) cached: u32,
    pub(crate) finish: Option<Finish>,
    /// It has left the queue.
    pub(crate) admitted: bool,
    /// The engine's times of it so far, on the planned schedule.
    pub(crate) times: Times,
}

/// Asks the engine for answers.
#[derive(Debug, Clone)]
pub(crate) struct EngineQueue {
    jobs: mpsc::Sender<Job>,
    state: watch::Receiver<(Load, Work)>,
}

/// The choices of one exchange.
struct Job {
    requests: Vec<Request>,
    accepted: oneshot::Sender<Result<watch::Receiver<Vec<Progress>>, Refusal>>,
}

/// The task's state.
pub(crate) struct Driver {
    engine: Engine,
    clock: Clock,
    pace: Pace,
    jobs: mpsc::Receiver<Job>,
    state: watch::Sender<(Load, Work)>,
    open: BTreeMap<RequestId, Open>,
}

/// A request inside the engine.
struct Open {
    progress: Arc<watch::Sender<Vec<Progress>>>,
    choice: usize,
    submitted_ns: u64,
}

impl EngineQueue {
    /// A queue and the driver that serves it.
    pub(crate) fn new(engine: Engine, clock: Clock, pace: Pace) -> (Self, Driver) {
        let (jobs, receiver) = mpsc::channel(QUEUE);
        let (state, seen) = watch::channel((Load::default(), Work::default()));
        let driver = Driver {
            engine,
            clock,
            pace,
            jobs: receiver,
            state,
            open: BTreeMap::new(),
        };
        (Self { jobs, state: seen }, driver)
    }

    /// What the engine holds, and what it has done.
    pub(crate) fn state(&self) -> (Load, Work) {
        *self.state.borrow()
    }

    /// Submits the choices of one exchange, all or none. `None` if the engine is not running.
    pub(crate) async fn submit(
        &self,
        requests: Vec<Request>,
    ) -> Option<Result<watch::Receiver<Vec<Progress>>, Refusal>> {
        let (accepted, answer) = oneshot::channel();
        self.jobs.send(Job { requests, accepted }).await.ok()?;
        answer.await.ok()
    }
}

impl Driver {
    /// Runs until no queue is left that could bring a job.
    pub(crate) async fn run(mut self) {
        let mut step: Option<Step> = None;
        loop {
            let Some(current) = &step else {
                let Some(job) = self.jobs.recv().await else {
                    return;
                };
                self.accept(job);
                step = self.begin(self.clock.stamp());
                continue;
            };
            tokio::select! {
                biased;
                job = self.jobs.recv() => match job {
                    Some(job) => self.accept(job),
                    None => return,
                },
                () = self.pace.until(current.ends_at_ns) => {
                    self.deliver(current);
                    let now_ns = self.clock.stamp();
                    let late = now_ns > current.ends_at_ns.saturating_add(SLACK_NS);
                    step = self.begin(if late { now_ns } else { current.ends_at_ns });
                }
            }
        }
    }

    fn begin(&mut self, at_ns: u64) -> Option<Step> {
        let step = self.engine.step(at_ns);
        self.state
            .send_replace((self.engine.load(), self.engine.work()));
        for (id, starts_at_ns) in step
            .iter()
            .flat_map(|step| step.admitted.iter().map(|id| (id, step.starts_at_ns)))
        {
            if let Some(open) = self.open.get(id) {
                open.update(|progress, submitted_ns| {
                    progress.admitted = true;
                    progress.times.admitted_ns = starts_at_ns.saturating_sub(submitted_ns);
                });
            }
        }
        step
    }

    fn accept(&mut self, job: Job) {
        let mut ids = Vec::new();
        for request in &job.requests {
            match self.engine.submit(request) {
                Ok(id) => ids.push(id),
                Err(refusal) => {
                    for id in ids {
                        self.engine.cancel(id);
                    }
                    // Whoever asked may have left already.
                    let _ = job.accepted.send(Err(refusal));
                    return;
                }
            }
        }
        let submitted_ns = self.clock.stamp();
        let (progress, seen) = watch::channel(vec![Progress::default(); ids.len()]);
        let progress = Arc::new(progress);
        for (choice, id) in ids.into_iter().enumerate() {
            self.open.insert(
                id,
                Open {
                    progress: Arc::clone(&progress),
                    choice,
                    submitted_ns,
                },
            );
        }
        let _ = job.accepted.send(Ok(seen));
        self.state
            .send_replace((self.engine.load(), self.engine.work()));
    }

    fn deliver(&mut self, step: &Step) {
        for emission in &step.emissions {
            let Some(open) = self.open.get(&emission.id) else {
                continue;
            };
            open.update(|progress, submitted_ns| {
                let at_ns = step.ends_at_ns.saturating_sub(submitted_ns);
                if progress.tokens == 0 {
                    progress.times.first_token_ns = at_ns;
                }
                progress.times.last_token_ns = at_ns;
                progress.tokens += emission.tokens;
                progress.cached = emission.cached;
                progress.finish = emission.finished;
            });
            if emission.finished.is_some() {
                self.open.remove(&emission.id);
            }
        }
        for (id, _) in self
            .open
            .extract_if(.., |_, open| open.progress.is_closed())
        {
            self.engine.cancel(id);
        }
    }
}

impl Open {
    /// Changes its progress, told when it was submitted.
    fn update(&self, change: impl FnOnce(&mut Progress, u64)) {
        self.progress.send_modify(|choices| {
            if let Some(progress) = choices.get_mut(self.choice) {
                change(progress, self.submitted_ns);
            }
        });
    }
}
