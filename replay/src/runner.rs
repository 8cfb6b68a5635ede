//! Plays a schedule: each request at its time, whatever became of the others.
//!
//! What is intended and what happened are both kept. A request is *late* if it left after its time; how late all of them were
//! decides whether the run is valid, and is the caller's to judge (`judge::fidelity::ScheduleLag`).
//!
//! Limit: at most [`Limits::open`] requests are open at once; what is due beyond is not sent, and counted.

use crate::schedule::Schedule;
use crate::sender::{Outgoing, Sender};
use crate::timeline::{Due, Timeline};
use measure::{Nanos, Record};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests open at once.
    pub open: usize,
    /// How long open requests are waited for once the last one was sent, or the run was stopped.
    pub drain: Duration,
}

/// A request that was sent, and what came of it.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Its number in the schedule.
    pub request: usize,
    /// When it was to be sent, on the clock of its record. It was sent at the record's arrival.
    pub planned: Nanos,
    /// What came of it.
    pub record: Record,
}

/// How a run stands, for whoever shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    /// Sent so far.
    pub sent: usize,
    /// Over.
    pub ended: usize,
    /// Due, but too many were open.
    pub held_back: usize,
    /// Not due yet when the run was stopped.
    pub unsent: usize,
    /// Measured by nobody: a fault of ours.
    pub lost: usize,
}

/// Who is told, and who can stop.
pub trait Audience {
    /// A request is over.
    fn on_sent(&mut self, sent: Sent);

    /// Something changed.
    fn on_standing(&mut self, standing: Standing);
}

/// Plays `schedule`: `outgoing` gives the request of a number. It stops early, and keeps what it has, when `stop` becomes true.
pub async fn play(
    sender: Arc<Sender>,
    schedule: &Schedule,
    (mut outgoing, limits): (impl FnMut(usize) -> Outgoing, Limits),
    mut stop: watch::Receiver<bool>,
    audience: &mut impl Audience,
) -> Standing {
    let mut play = Play::new(sender, schedule, limits);
    let mut stopped = *stop.borrow();
    while !stopped && play.sends() {
        play.send_due(&mut outgoing);
        audience.on_standing(play.standing);
        let due = play.next_due();
        tokio::select! {
            () = reached(due) => {}
            Some(sent) = play.next_end() => play.ended(sent, audience),
            // Nobody is there to stop it any more: it goes on.
            Ok(()) = stop.changed() => stopped = *stop.borrow(),
        }
    }
    play.drain(audience).await;
    audience.on_standing(play.standing);
    play.standing
}

/// Ready at `instant`; never, if there is none.
async fn reached(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

struct Play {
    sender: Arc<Sender>,
    timeline: Timeline,
    limits: Limits,
    began: Nanos,
    open: JoinSet<(Due, Option<Record>)>,
    /// True: exchanges that are still open end now.
    give_up: watch::Sender<bool>,
    standing: Standing,
}

impl Play {
    fn new(sender: Arc<Sender>, schedule: &Schedule, limits: Limits) -> Self {
        Self {
            began: sender.clock().now(),
            sender,
            timeline: Timeline::new(schedule),
            limits,
            open: JoinSet::new(),
            give_up: watch::Sender::new(false),
            standing: Standing::default(),
        }
    }

    /// Whether there is, or may be, something to send.
    fn sends(&self) -> bool {
        self.timeline.due().is_some() || (self.timeline.left() > 0 && !self.open.is_empty())
    }

    /// Sends what is due.
    fn send_due(&mut self, outgoing: &mut impl FnMut(usize) -> Outgoing) {
        while let Some(due) = self.timeline.take(self.now().since(self.began)) {
            if self.open.len() >= self.limits.open {
                self.standing.held_back += 1;
                // What was to follow it is not sent at its time either, but is not lost with it.
                self.timeline
                    .on_end(due.request, self.now().since(self.began));
                continue;
            }
            self.standing.sent += 1;
            let request = outgoing(due.request);
            let (sender, arrival) = (Arc::clone(&self.sender), self.now());
            let mut given_up = self.give_up.subscribe();
            self.open.spawn(async move {
                let give_up = async move {
                    // Without anybody to give up, it goes on to its end.
                    if given_up.wait_for(|given_up| *given_up).await.is_err() {
                        std::future::pending::<()>().await;
                    }
                };
                (due, sender.send(request, arrival, give_up).await)
            });
        }
    }

    /// When the next request is due, if that is known.
    fn next_due(&self) -> Option<Instant> {
        let due = self.timeline.due()?;
        let at = Nanos(self.began.0.saturating_add(due.0));
        Some(self.sender.clock().instant(at))
    }

    /// The next request that is over. `None` if none is open.
    async fn next_end(&mut self) -> Option<(Due, Option<Record>)> {
        loop {
            match self.open.join_next().await? {
                Ok(ended) => return Some(ended),
                Err(error) => {
                    tracing::error!(%error, "a request's task failed");
                    self.standing.lost += 1;
                }
            }
        }
    }

    fn ended(&mut self, (due, record): (Due, Option<Record>), audience: &mut impl Audience) {
        let Some(record) = record else {
            self.standing.lost += 1;
            let now = self.now();
            self.timeline.on_end(due.request, now.since(self.began));
            return;
        };
        self.standing.ended += 1;
        self.timeline
            .on_end(due.request, record.stamps.end.since(self.began));
        audience.on_sent(Sent {
            request: due.request,
            planned: Nanos(self.began.0.saturating_add(due.planned.0)),
            record,
        });
    }

    /// Waits for what is open, for so long and no longer.
    async fn drain(&mut self, audience: &mut impl Audience) {
        self.standing.unsent = self.timeline.left();
        let limit = tokio::time::sleep(self.limits.drain);
        tokio::pin!(limit);
        let mut given_up = false;
        while !self.open.is_empty() {
            tokio::select! {
                ended = self.next_end() => if let Some(ended) = ended {
                    self.ended(ended, audience);
                },
                () = &mut limit, if !given_up => {
                    given_up = true;
                    self.give_up.send_replace(true);
                }
            }
            audience.on_standing(self.standing);
        }
    }

    fn now(&self) -> Nanos {
        self.sender.clock().now()
    }
}
