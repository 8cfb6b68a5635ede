//! The wrapper of a connection's socket: it notes reads and writes, and does to the socket what hyper can't be asked to do.
//!
//! The write's time is read right before the call. Vectored writes are declined, so that hyper joins what is ready in one
//! buffer and one flush is one write.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::exchange::Book;
use crate::link::Link;

/// A socket that notes what happens to it.
#[derive(Debug)]
pub(crate) struct Noted<IO> {
    io: IO,
    link: Arc<Link>,
    book: Arc<Book>,
    on_reset: OnReset<IO>,
    was_cut: bool,
}

/// What makes a kind of socket end with a reset instead of an orderly close.
pub(crate) type OnReset<IO> = fn(&IO);

/// TCP: unsent bytes are thrown away, and dropping the socket sends RST.
pub(crate) fn reset_tcp(stream: &TcpStream) {
    // Without it the connection is closed in order, which the client's side of a test will tell.
    let _ = stream.set_zero_linger();
}

/// Other transports know no reset: they are dropped.
pub(crate) fn just_drop<IO>(_: &IO) {}

impl<IO> Noted<IO> {
    pub(crate) fn new(io: IO, link: Arc<Link>, book: Arc<Book>, on_reset: OnReset<IO>) -> Self {
        Self {
            io,
            link,
            book,
            on_reset,
            was_cut: false,
        }
    }
}

impl<IO: AsyncWrite + Unpin> Noted<IO> {
    /// Writes what has to go before everything else.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut interim = self.link.interim().lock();
        while interim.has_remaining() {
            let taken = ready!(Pin::new(&mut self.io).poll_write(cx, &interim))?;
            interim.advance(taken);
        }
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Noted<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        if buf.filled().len() == before {
            return Poll::Ready(Ok(()));
        }
        self.link.read(self.book.clock.stamp());
        if self.link.refuses() {
            self.book.refused_reuse.fetch_add(1, Ordering::Relaxed);
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Noted<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.was_cut {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        ready!(self.poll_interim(cx))?;
        let cuts = self.link.cuts();
        let buf = if cuts {
            &buf[..buf.len().div_ceil(2)]
        } else {
            buf
        };
        let at_ns = self.book.clock.stamp();
        let taken = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.link.wrote(&buf[..taken], at_ns);
        self.was_cut = cuts;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<IO> Drop for Noted<IO> {
    fn drop(&mut self) {
        if self.link.resets() {
            (self.on_reset)(&self.io);
        }
    }
}
