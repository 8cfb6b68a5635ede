//! Optional limits on the engine's silence. Off by default: a queued or thinking request is silent for minutes.

use crate::Failure;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How long an exchange may wait for the engine; `None` is for ever.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatienceLimits {
    /// From sending to the first token: `upstream.ttft_timeout`.
    pub ttft: Option<Duration>,
    /// Between two reads once a token came: `upstream.silence_timeout`.
    pub silence: Option<Duration>,
}

/// The limits of one exchange, running.
#[derive(Debug)]
pub(crate) struct Patience {
    first: Option<Timer>,
    silence: Option<Timer>,
}

#[derive(Debug)]
struct Timer {
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            sleep: Box::pin(sleep(limit)),
        }
    }
}

impl Patience {
    pub(crate) fn new(limits: PatienceLimits) -> Self {
        Self {
            first: limits.ttft.map(Timer::new),
            silence: limits.silence.map(Timer::new),
        }
    }

    /// The engine gave bytes at `at`.
    pub(crate) fn on_read(&mut self, at: Instant) {
        if let Some(timer) = &mut self.silence {
            let limit = timer.limit;
            timer.sleep.as_mut().reset(at + limit);
        }
    }

    /// The first token is waited for since `since`.
    pub(crate) fn wait_from(&mut self, since: Instant) {
        if let Some(timer) = &mut self.first
            && timer.sleep.deadline() != since + timer.limit
        {
            let due = since + timer.limit;
            timer.sleep.as_mut().reset(due);
        }
    }

    /// Ready when the first token took too long.
    pub(crate) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        poll(&mut self.first, cx).map(Failure::TimeoutTtft)
    }

    /// Ready when the silence since the last read was too long.
    pub(crate) fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        poll(&mut self.silence, cx).map(Failure::TimeoutIdle)
    }
}

fn poll(timer: &mut Option<Timer>, cx: &mut Context<'_>) -> Poll<Duration> {
    match timer {
        Some(timer) => timer.sleep.as_mut().poll(cx).map(|()| timer.limit),
        None => Poll::Pending,
    }
}
