//! A client of HTTP/2 that doesn't take its answer.
//!
//! There a socket that is never blocked says nothing: each stream has a window of its own, and one that the client doesn't
//! open holds an answer for ever. So it is looked at what waits in the exchange's queue.

use crate::caller::Caller;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use upstream::QueueView;

/// How a client must take what waits for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakingPace {
    /// It is looked this often: `limits.client_write`.
    pub(crate) every: Duration,
    /// Bytes a second: `limits.client_rate`. A byte in all that time is always wanted.
    pub(crate) least: u64,
}

/// Ends when the client has let its answer wait for a whole round and took less than it must; its record then says so.
pub(crate) async fn stalled(queue: QueueView, pace: TakingPace, caller: Arc<Caller>) {
    let wanted = pace.least.saturating_mul(pace.every.as_secs()).max(1);
    let mut before = queue.standing();
    loop {
        sleep(pace.every).await;
        let now = queue.standing();
        let waited = before.waiting > 0 && now.waiting > 0 && now.drained == before.drained;
        if waited && now.taken - before.taken < wanted {
            return caller.on_too_slow();
        }
        before = now;
    }
}
