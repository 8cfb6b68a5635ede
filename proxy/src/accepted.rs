//! The wrapper around the client's socket.
//!
//! It dates arrivals (the read that brought a request's head), sees how long what we read from the engine took to leave
//! for the client, and ends a client that takes nothing for too long. It is one of the two files that read the clock.

use measure::{End, Nanos};
use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use upstream::{Client, Clock, Socket};

/// First bytes of an HTTP/2 connection with prior knowledge.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Delays are handed on in lots of this many, so that the token path does not meet the exporter for each of them.
const DELAYS: usize = 64;

/// Receives how long bytes took from the engine's socket to the client's.
pub(crate) trait DelaySink: Send + Sync {
    fn delays(&self, delays: &[Nanos]);
}

/// What is known of a client's socket.
pub(crate) struct ClientSide {
    clock: Clock,
    last_read: AtomicU64,
    /// Stamp of the oldest bytes that left the queue and were not written yet; 0 is none.
    leaving: AtomicU64,
    blocked: AtomicBool,
    too_slow: AtomicBool,
    flushes: AtomicU64,
    /// Bodies that wait for a flush before they break; several on HTTP/2.
    at_flush: Mutex<Vec<Waker>>,
    hard_stop: CancellationToken,
    delays: Mutex<Vec<Nanos>>,
    sink: Arc<dyn DelaySink>,
}

impl ClientSide {
    /// The read that brought the request that is being handled.
    pub(crate) fn last_read(&self) -> Nanos {
        Nanos(self.last_read.load(Relaxed))
    }

    fn on_read(&self) {
        self.last_read.store(self.clock.now().0, Relaxed);
    }

    /// A server flushes its socket only when it has written all that it had.
    fn on_flush(&self) {
        self.flushes.fetch_add(1, SeqCst);
        for waker in self.at_flush.lock().drain(..) {
            waker.wake();
        }
    }

    fn on_write(&self) {
        let since = self.leaving.swap(0, Relaxed);
        // What left while the client took nothing was held up by the client, not by us.
        if self.blocked.swap(false, Relaxed) || since == 0 {
            return;
        }
        let delay = self.clock.now().since(Nanos(since));
        let mut delays = self.delays.lock();
        delays.push(delay);
        if delays.len() >= DELAYS {
            self.sink.delays(&delays);
            delays.clear();
        }
    }
}

impl Drop for ClientSide {
    fn drop(&mut self) {
        let delays = self.delays.get_mut();
        if !delays.is_empty() {
            self.sink.delays(delays);
        }
    }
}

impl std::fmt::Debug for ClientSide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientSide")
            .field("last_read", &self.last_read())
            .finish_non_exhaustive()
    }
}

impl Client for ClientSide {
    fn taken(&self, oldest: Nanos) {
        let _ = self.leaving.compare_exchange(0, oldest.0, Relaxed, Relaxed);
    }

    fn parting(&self) -> End {
        if self.hard_stop.is_cancelled() {
            End::Drained
        } else if self.too_slow.load(Relaxed) {
            End::SlowClient
        } else {
            End::ClientGone
        }
    }

    fn flushes(&self) -> u64 {
        self.flushes.load(SeqCst)
    }

    fn poll_flushed(&self, since: u64, cx: &mut Context<'_>) -> Poll<()> {
        self.at_flush.lock().push(cx.waker().clone());
        if self.flushes() > since {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// With prior knowledge, cleartext.
    Http2,
}

/// A client's socket, with the bytes that were read to tell its protocol.
pub(crate) struct Accepted {
    socket: Box<dyn Socket>,
    sniffed: Vec<u8>,
    given: usize,
    side: Arc<ClientSide>,
    write_limit: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Accepted {
    /// Wraps a socket that was just accepted.
    pub(crate) fn new(
        socket: Box<dyn Socket>,
        clock: Clock,
        write_limit: Duration,
        hard_stop: CancellationToken,
        sink: Arc<dyn DelaySink>,
    ) -> Self {
        let side = ClientSide {
            clock,
            last_read: AtomicU64::new(0),
            leaving: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            too_slow: AtomicBool::new(false),
            flushes: AtomicU64::new(0),
            at_flush: Mutex::default(),
            hard_stop,
            delays: Mutex::default(),
            sink,
        };
        Self {
            socket,
            sniffed: Vec::new(),
            given: 0,
            side: Arc::new(side),
            write_limit,
            stalled: None,
        }
    }

    pub(crate) fn side(&self) -> Arc<ClientSide> {
        Arc::clone(&self.side)
    }

    /// Reads until the bytes differ from HTTP/2's preface, or are all of it: never waits for more than that.
    pub(crate) async fn protocol(&mut self) -> io::Result<Protocol> {
        let mut buf = [0; PREFACE.len()];
        loop {
            let have = self.sniffed.len();
            if self.sniffed != PREFACE[..have] {
                return Ok(Protocol::Http1);
            }
            if have == PREFACE.len() {
                return Ok(Protocol::Http2);
            }
            let got = self.socket.read(&mut buf[have..]).await?;
            self.side.on_read();
            if got == 0 {
                return Ok(Protocol::Http1);
            }
            self.sniffed.extend_from_slice(&buf[have..have + got]);
        }
    }

    fn poll_write_limit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.side.blocked.store(true, Relaxed);
        let limit = self.write_limit;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(stalled.as_mut().poll(cx));
        self.side.too_slow.store(true, Relaxed);
        let why = format!("the client took no byte for {limit:?} (limits.client_write)");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    fn on_written(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.poll_write_limit(cx),
            Poll::Ready(result) => {
                self.stalled = None;
                self.side.on_write();
                Poll::Ready(result)
            }
        }
    }
}

impl AsyncRead for Accepted {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.given < this.sniffed.len() {
            let rest = &this.sniffed[this.given..];
            let take = rest.len().min(buf.remaining());
            buf.put_slice(&rest[..take]);
            this.given += take;
            return Poll::Ready(Ok(()));
        }
        let result = ready!(Pin::new(&mut this.socket).poll_read(cx, buf));
        this.side.on_read();
        Poll::Ready(result)
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write(cx, buf);
        this.on_written(written, cx)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = ready!(Pin::new(&mut this.socket).poll_flush(cx));
        this.side.on_flush();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        this.on_written(written, cx)
    }
}

/// The time of something that no read or write of a client's socket brings.
pub(crate) fn stamp_now(clock: &Clock) -> Nanos {
    clock.now()
}
