//! How long a client may let the next request wait: one timer a connection, set anew for each wait.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The first byte of the next request.
    Idle,
    /// The rest of a head, from its first byte on.
    Head,
}

/// The limit on the wait that is on, if one is.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    wait: Option<Wait>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// No wait is on. A timer that is running is left to run: it wakes the task once for nothing.
    pub(crate) fn lift(&mut self) {
        self.wait = None;
    }

    /// Ready when `wait` has taken longer than `limit`, counted from the first call for it.
    pub(crate) fn poll(&mut self, wait: Wait, limit: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let is_new = self.wait.replace(wait) != Some(wait);
        let timer = match &mut self.sleep {
            Some(timer) => {
                if is_new {
                    timer.as_mut().reset(sleep(limit).deadline());
                }
                timer
            }
            none => none.insert(Box::pin(sleep(limit))),
        };
        timer.as_mut().poll(cx)
    }
}
