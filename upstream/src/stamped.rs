//! The wrapper around the engine's socket: the ruler's edge.
//!
//! Each read that brings bytes is stamped as it returns, before anything looks at the bytes. A write is dated by the moment
//! before its call: the engine can have the bytes while the call is still on its way back to us, on a busy machine
//! milliseconds before, and a time to first token must not begin later than the engine can.
//!
//! Whoever decodes a frame later asks for the stamp of the read it came in. On HTTP/1.1 the connection reads ahead by at
//! most the one frame that waits between it and the pump, so the last read *is* the read of the frame being handled. On
//! HTTP/2 one read can bring many frames; there the connection has to be allowed each read, and is when all are handled.
//!
//! Over TLS the stamps are those of the socket below it, see [`crate::edge`].

use crate::Clock;
use crate::edge::EdgeStamps;
use crate::frames::Frames;
use measure::Nanos;
use parking_lot::Mutex;
use std::collections::VecDeque;
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
    /// Reads that may still be made.
    reads: AtomicU64,
    /// HTTP/2: how much of the request's body the last writes had brought out, and when each began.
    body: Mutex<VecDeque<(u64, Nanos)>>,
}

/// Reads without a bound.
const ALL: u64 = u64::MAX;

/// Writes that are remembered one by one. Many are made in one turn only for a large message, whose end the last one has.
const WRITES: usize = 64;

impl SocketStamps {
    fn new(clock: Clock) -> Self {
        Self {
            clock,
            opened: clock.now(),
            last_read: AtomicU64::new(0),
            first_write: AtomicU64::new(0),
            last_write: AtomicU64::new(0),
            reads: AtomicU64::new(ALL),
            body: Mutex::default(),
        }
    }

    /// The connection may read as it likes.
    pub(crate) fn allow_reads(&self) {
        self.reads.store(ALL, Relaxed);
    }

    /// The connection may read once more.
    pub(crate) fn allow_one_read(&self) {
        self.reads.store(1, Relaxed);
    }

    /// Forgets the writes of the exchange before.
    pub(crate) fn begin(&self) {
        self.first_write.store(0, Relaxed);
        self.last_write.store(0, Relaxed);
        self.body.lock().clear();
    }

    /// When the connection was made.
    pub fn opened(&self) -> Nanos {
        self.opened
    }

    /// The last read that brought bytes or the end.
    pub fn last_read(&self) -> Nanos {
        Nanos(self.last_read.load(Relaxed))
    }

    /// The first write of this exchange that the kernel took; of those on HTTP/2, the ones that carried some of the request.
    pub fn first_write(&self) -> Option<Nanos> {
        stamp(&self.first_write)
    }

    /// The last one.
    pub fn last_write(&self) -> Option<Nanos> {
        stamp(&self.last_write)
    }

    /// HTTP/2: the write that brought out the request's body up to `end`, if it was made.
    pub(crate) fn sent_up_to(&self, end: u64) -> Option<Nanos> {
        let body = self.body.lock();
        let write = body.iter().find(|(out, _)| *out >= end);
        write.map(|(_, began)| *began)
    }

    /// A write that began at `began` brought out so many bytes of the request's body.
    fn on_body(&self, began: Nanos, bytes: u64) {
        let mut body = self.body.lock();
        let before = body.back().map_or(0, |(out, _)| *out);
        if body.len() == WRITES {
            body.pop_front();
        }
        body.push_back((before.saturating_add(bytes), began));
    }

    fn on_read(&self, at: Nanos) {
        self.last_read.store(at.0, Relaxed);
        let reads = self.reads.load(Relaxed);
        if reads != ALL {
            self.reads.store(reads.saturating_sub(1), Relaxed);
        }
    }

    /// Bytes left in writes of which the first began at `began` and the last at `last`.
    fn on_write(&self, began: Nanos, last: Nanos) {
        self.last_write.store(last.0, Relaxed);
        let _ = self
            .first_write
            .compare_exchange(0, began.0, Relaxed, Relaxed);
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
    /// Where the writes stand, if they are HTTP/2.
    frames: Option<Frames>,
    /// The socket below, if this one is TLS.
    edge: Option<Arc<EdgeStamps>>,
    /// The last write carried some of the request.
    carried: bool,
}

impl<S: Socket> Stamped<S> {
    /// Wraps a socket that was just connected.
    pub fn new(socket: S, clock: Clock) -> Self {
        Self {
            socket,
            stamps: Arc::new(SocketStamps::new(clock)),
            frames: None,
            edge: None,
            carried: false,
        }
    }

    /// The same, of a socket that HTTP/2 will be spoken on.
    pub(crate) fn http2(socket: S, clock: Clock) -> Self {
        Self {
            frames: Some(Frames::new()),
            ..Self::new(socket, clock)
        }
    }

    /// The same, with the times of the socket below where that one is TLS.
    pub(crate) fn over(mut self, edge: Option<Arc<EdgeStamps>>) -> Self {
        self.edge = edge;
        self
    }

    /// When the bytes that were just read came.
    fn read_at(&self) -> Nanos {
        match &self.edge {
            Some(edge) => edge.last_read(),
            None => self.stamps.clock.now(),
        }
    }

    /// What TLS had taken and kept may have left meanwhile, the end of the request with it.
    fn on_flush(&self) {
        if let Some(edge) = &self.edge
            && self.carried
        {
            let last = edge
                .last_write()
                .max(self.stamps.last_write().unwrap_or_default());
            self.stamps.last_write.store(last.0, Relaxed);
        }
    }

    /// Where its stamps can be read.
    pub fn stamps(&self) -> Arc<SocketStamps> {
        Arc::clone(&self.stamps)
    }

    /// The kernel took `written` of the bytes in `bufs`, in a write that began at `began`.
    fn on_write<'a>(
        &mut self,
        began: Nanos,
        written: usize,
        bufs: impl IntoIterator<Item = &'a [u8]>,
    ) {
        let last = match &self.edge {
            Some(edge) => edge.last_write().max(began),
            None => began,
        };
        self.carried = true;
        let Some(frames) = &mut self.frames else {
            return self.stamps.on_write(began, last);
        };
        let mut left = written;
        let mut request = false;
        let mut body = 0;
        for buf in bufs {
            let (buf, _) = buf.split_at(left.min(buf.len()));
            let carried = frames.follow(buf);
            request |= carried.request;
            body += carried.body;
            left -= buf.len();
        }
        self.carried = request;
        if request {
            self.stamps.on_write(began, last);
        }
        if body > 0 {
            self.stamps.on_body(last, body);
        }
    }
}

impl<S: Socket> AsyncRead for Stamped<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.stamps.reads.load(Relaxed) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut this.socket).poll_read(cx, buf));
        this.stamps.on_read(this.read_at());
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
        let began = this.stamps.clock.now();
        let result = ready!(Pin::new(&mut this.socket).poll_write(cx, buf));
        if let Ok(written) = result {
            this.on_write(began, written, [buf]);
        }
        Poll::Ready(result)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.socket).poll_flush(cx);
        this.on_flush();
        flushed
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
        let began = this.stamps.clock.now();
        let result = ready!(Pin::new(&mut this.socket).poll_write_vectored(cx, bufs));
        if let Ok(written) = result {
            this.on_write(began, written, bufs.iter().map(|buf| &**buf));
        }
        Poll::Ready(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::IoSlice;
    use std::task::Waker;

    /// A socket whose other side has the bytes while the write is under way.
    struct Kernel {
        clock: Clock,
        arrived: Arc<AtomicU64>,
    }

    impl Kernel {
        fn take(&self, bytes: usize) -> Poll<io::Result<usize>> {
            let called = self.clock.now();
            let mut now = called;
            while now <= called {
                now = self.clock.now();
            }
            self.arrived.store(now.0, Relaxed);
            Poll::Ready(Ok(bytes))
        }
    }

    impl AsyncRead for Kernel {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Kernel {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.take(buf.len())
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.take(bufs.iter().map(|buf| buf.len()).sum())
        }
    }

    /// A time to first token came out shorter than it was: the writer had lost its CPU to the engine that it woke.
    #[test]
    fn no_write_is_dated_after_the_engine_can_have_its_bytes() {
        let (clock, arrived) = (Clock::start(), Arc::new(AtomicU64::new(0)));
        let kernel = Kernel {
            clock,
            arrived: Arc::clone(&arrived),
        };
        let mut socket = Stamped::new(kernel, clock);
        let stamps = socket.stamps();
        let cx = &mut Context::from_waker(Waker::noop());
        let written = Pin::new(&mut socket).poll_write(cx, b"head");
        assert!(matches!(written, Poll::Ready(Ok(4))));
        let first = stamps.first_write();
        assert!(first.is_some() && first < Some(Nanos(arrived.load(Relaxed))));
        let written = Pin::new(&mut socket).poll_write_vectored(cx, &[IoSlice::new(b"body")]);
        assert!(matches!(written, Poll::Ready(Ok(4))));
        assert_eq!(stamps.first_write(), first);
        let last = stamps.last_write();
        assert!(first < last && last < Some(Nanos(arrived.load(Relaxed))));
    }
}
