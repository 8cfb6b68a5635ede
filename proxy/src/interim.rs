//! Answers before the answer: `103 Early Hints` and its like, from the engine to a client of HTTP/1.1.
//!
//! hyper's server has no call for them, so they are written into the client's socket beside it: between two of its flushes,
//! and before the first byte of the answer. The engine's side says them as they come, which is before its answer's head, so
//! that no head is ever ahead of its hint. One that finds the server in the middle of a write is left out rather than
//! misplaced; so is what goes beyond [`BYTES`].

use crate::hop;
use bytes::{Buf, BytesMut};
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Waker, ready};
use upstream::Socket;

/// Most that waits for one client, in bytes.
const BYTES: usize = 16 * 1024;

/// What waits to be written ahead of an answer.
#[derive(Default)]
pub(crate) struct Interim {
    /// Looked at before each write: nearly always false.
    waits: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: BytesMut,
    /// Of the server that waits for the answer.
    server: Option<Waker>,
}

/// Whether the client is to hear of this one. `100 Continue` is the server's own to say, and `101` is no interim answer.
pub(crate) fn passes(status: StatusCode) -> bool {
    status.is_informational()
        && !matches!(
            status,
            StatusCode::CONTINUE | StatusCode::SWITCHING_PROTOCOLS
        )
}

impl Interim {
    /// The engine has said one. Whoever serves the client is woken.
    pub(crate) fn push(&self, status: StatusCode, fields: &HeaderMap) {
        let mut head = BytesMut::new();
        let reason = status.canonical_reason().unwrap_or_default();
        head.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).as_bytes());
        for (name, value) in &hop::end_to_end(fields) {
            for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        head.extend_from_slice(b"\r\n");
        let mut waiting = self.waiting.lock();
        if waiting.bytes.len() + head.len() > BYTES {
            tracing::debug!(%status, "an interim answer is left out: more than {BYTES} bytes of them wait");
            return;
        }
        waiting.bytes.extend_from_slice(&head);
        self.waits.store(true, Relaxed);
        if let Some(server) = waiting.server.take() {
            server.wake();
        }
    }

    /// `cx` is woken by the next one.
    pub(crate) fn wake_on_next(&self, cx: &Context<'_>) {
        self.waiting.lock().server = Some(cx.waker().clone());
    }

    /// Writes what waits. Ready at once if nothing does.
    pub(crate) fn poll_write(
        &self,
        socket: &mut dyn Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.waits.load(Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let mut waiting = self.waiting.lock();
        while !waiting.bytes.is_empty() {
            let written = ready!(Pin::new(&mut *socket).poll_write(cx, &waiting.bytes))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            waiting.bytes.advance(written);
        }
        self.waits.store(false, Relaxed);
        Poll::Ready(Ok(()))
    }

    /// The moment for what waits has passed.
    pub(crate) fn leave_out(&self) {
        if self.waits.swap(false, Relaxed) {
            self.waiting.lock().bytes.clear();
        }
    }
}
