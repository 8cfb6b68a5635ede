//! The one place where tasks are started: counted, and ended together.

use std::future::Future;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks of one running proxy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    /// Never closed and never waited for: it only counts.
    services: TaskTracker,
    closing: CancellationToken,
    hard_stop: CancellationToken,
}

impl Tasks {
    /// Starts a task that carries exchanges. It must end by itself after [`Self::closing`], and at [`Self::hard_stop`].
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Starts a task that serves the process rather than an exchange: it ends with the process, nobody waits for it.
    pub(crate) fn spawn_service(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.services
            .spawn(self.hard_stop.clone().run_until_cancelled_owned(task));
    }

    /// Cancelled when connections are to finish what they carry and take nothing new.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// The same tasks, of which those that begin from here on are asked to finish by `closing`.
    pub(crate) fn closed_by(&self, closing: CancellationToken) -> Self {
        Self {
            closing,
            ..self.clone()
        }
    }

    /// Cancelled when what is still open is cut.
    pub(crate) fn hard_stop(&self) -> &CancellationToken {
        &self.hard_stop
    }

    /// Tasks that carry exchanges now.
    pub(crate) fn open(&self) -> usize {
        self.tracker.len()
    }

    /// Tasks that serve the process now, those of the admin listener's connections among them.
    pub(crate) fn services(&self) -> usize {
        self.services.len()
    }

    /// Asks connections to finish, waits until all have or `limit` is over, then cuts the rest. Returns how many were cut.
    pub(crate) async fn close(&self, limit: Duration) -> usize {
        self.closing.cancel();
        self.tracker.close();
        let finished = tokio::time::timeout(limit, self.tracker.wait())
            .await
            .is_ok();
        let cut = if finished { 0 } else { self.tracker.len() };
        self.hard_stop.cancel();
        self.tracker.wait().await;
        cut
    }
}
