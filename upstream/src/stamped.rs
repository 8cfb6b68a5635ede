//! The wrapper around the engine's socket: the ruler's edge.
//!
//! Each read that brings bytes is stamped as it returns, before anything looks at the bytes; so is each write that the
//! kernel took. Whoever decodes a frame later asks for the stamp of the read it came in. The connection reads ahead by at
//! most the one frame that waits between it and the pump, so the last read *is* the read of the frame being handled.

use crate::Clock;
use measure::Nanos;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Anything that carries bytes both ways: a TCP stream, one end of a pipe in a test.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Socket for T {}

/// What is known of one engine socket's times. One task uses it, so relaxed order is enough; 0 is "never".
#[derive(Debug)]
pub struct SocketStamps {
    clock: Clock,
    opened: Nanos,
    last_read: AtomicU64,
    first_write: AtomicU64,
    last_write: AtomicU64,
}

impl SocketStamps {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            opened: clock.now(),
            last_read: AtomicU64::new(0),
            first_write: AtomicU64::new(0),
            last_write: AtomicU64::new(0),
        }
    }

    /// Forgets the writes of the exchange before.
    pub(crate) fn begin(&self) {
        self.first_write.store(0, Relaxed);
        self.last_write.store(0, Relaxed);
    }

    /// When the connection was made.
    pub fn opened(&self) -> Nanos {
        self.opened
    }

    /// The last read that brought bytes or the end.
    pub fn last_read(&self) -> Nanos {
        Nanos(self.last_read.load(Relaxed))
    }

    /// The first write of this exchange that the kernel took.
    pub fn first_write(&self) -> Option<Nanos> {
        stamp(&self.first_write)
    }

    /// The last one.
    pub fn last_write(&self) -> Option<Nanos> {
        stamp(&self.last_write)
    }

    fn on_read(&self) {
        self.last_read.store(self.clock.now().0, Relaxed);
    }

    fn on_write(&self) {
        let now = self.clock.now().0;
        self.last_write.store(now, Relaxed);
        let _ = self.first_write.compare_exchange(0, now, Relaxed, Relaxed);
    }
}

/// The time of something that no read or write of the engine's socket brings: a limit that ran out, a client that left.
pub(crate) fn stamp_now(clock: &Clock) -> Nanos {
    clock.now()
}

fn stamp(cell: &AtomicU64) -> Option<Nanos> {
    match cell.load(Relaxed) {
        0 => None,
        ns => Some(Nanos(ns)),
    }
}

/// An engine socket whose reads and writes are stamped.
pub struct Stamped<S> {
    socket: S,
    stamps: Arc<SocketStamps>,
}

impl<S: Socket> Stamped<S> {
    /// Wraps a socket that was just connected.
    pub fn new(socket: S, clock: Clock) -> Self {
        Self {
            socket,
            stamps: Arc::new(SocketStamps::new(clock)),
        }
    }

    /// Where its stamps can be read.
    pub fn stamps(&self) -> Arc<SocketStamps> {
        Arc::clone(&self.stamps)
    }
}

impl<S: Socket> AsyncRead for Stamped<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = ready!(Pin::new(&mut this.socket).poll_read(cx, buf));
        this.stamps.on_read();
        Poll::Ready(result)
    }
}

impl<S: Socket> AsyncWrite for Stamped<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = ready!(Pin::new(&mut this.socket).poll_write(cx, buf));
        this.stamps.on_write();
        Poll::Ready(result)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
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
        let result = ready!(Pin::new(&mut this.socket).poll_write_vectored(cx, bufs));
        this.stamps.on_write();
        Poll::Ready(result)
    }
}
