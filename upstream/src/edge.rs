//! The socket below TLS, on either side of the proxy.
//!
//! What TLS hands up was read before, perhaps by several reads of the socket, and one of them may bring what is handed up
//! in several pieces. So decrypted bytes have the time of the socket's last read before they were handed up: the read that
//! completed their record, since the socket is not read while decrypted bytes wait. What TLS takes may leave later, too.

use crate::{Clock, Socket};
use measure::Nanos;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Times of the socket below TLS. One task uses them, so relaxed order is enough; 0 is "never".
#[derive(Debug)]
pub struct EdgeStamps {
    clock: Clock,
    last_read: AtomicU64,
    last_write: AtomicU64,
}

/// A socket that TLS is spoken over.
pub struct Edge<S> {
    socket: S,
    stamps: Arc<EdgeStamps>,
}

/// What a connection runs over.
pub struct Transport {
    /// Where its bytes are read and written, decrypted.
    pub socket: Box<dyn Socket>,
    /// The socket below, if `socket` is TLS.
    pub edge: Option<Arc<EdgeStamps>>,
}

impl EdgeStamps {
    /// The last read that brought bytes or the end.
    pub fn last_read(&self) -> Nanos {
        Nanos(self.last_read.load(Relaxed))
    }

    /// The beginning of the last write of which the kernel took some.
    pub fn last_write(&self) -> Nanos {
        Nanos(self.last_write.load(Relaxed))
    }
}

impl<S: Socket> Edge<S> {
    /// Wraps a socket before TLS is begun on it.
    pub fn new(socket: S, clock: Clock) -> Self {
        let stamps = EdgeStamps {
            clock,
            last_read: AtomicU64::new(0),
            last_write: AtomicU64::new(0),
        };
        Self {
            socket,
            stamps: Arc::new(stamps),
        }
    }

    /// Where its times can be read.
    pub fn stamps(&self) -> Arc<EdgeStamps> {
        Arc::clone(&self.stamps)
    }
}

impl From<Box<dyn Socket>> for Transport {
    /// A socket without TLS.
    fn from(socket: Box<dyn Socket>) -> Self {
        Self { socket, edge: None }
    }
}

impl<S: Socket> AsyncRead for Edge<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = ready!(Pin::new(&mut this.socket).poll_read(cx, buf));
        let at = this.stamps.clock.now();
        this.stamps.last_read.store(at.0, Relaxed);
        Poll::Ready(read)
    }
}

impl<S: Socket> AsyncWrite for Edge<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let began = this.stamps.clock.now();
        let written = ready!(Pin::new(&mut this.socket).poll_write(cx, buf));
        this.stamps.last_write.store(began.0, Relaxed);
        Poll::Ready(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let began = this.stamps.clock.now();
        let written = ready!(Pin::new(&mut this.socket).poll_write_vectored(cx, bufs));
        this.stamps.last_write.store(began.0, Relaxed);
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
