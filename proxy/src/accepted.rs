//! The wrapper around the client's socket.
//!
//! It dates arrivals (the read that brought a request's head), sees how long what we read from the engine took to leave
//! for the client, ends a client that takes nothing for too long, and closes so that the last answer arrives. What it
//! reads goes through the [`Intake`]. It is one of the two files that read the clock.

use crate::connection::ConnectionLimits;
use crate::frames::FrameBudget;
use crate::guard::Fault;
use crate::intake::{Intake, Parting, Protocol};
use crate::interim::Interim;
use crate::lingering::Lingering;
use crate::pace::Pace;
use crate::rate::Rate;
use crate::upgrade::Switch;
use measure::{End, Nanos};
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use upstream::{Client, Clock, EdgeStamps, Socket, Transport};

/// Delays are handed on in lots of this many, so that the token path does not meet the exporter for each of them.
const DELAYS: usize = 64;

/// Receives what a client's socket has to tell.
pub(crate) trait Tally: Send + Sync {
    /// How long bytes took from the engine's socket to the client's.
    fn delays(&self, delays: &[Nanos]);

    /// A request was refused by its bytes.
    fn refused(&self, code: &'static str);
}

/// What is known of a client's socket.
pub(crate) struct ClientSide {
    clock: Clock,
    /// The socket below, if it is TLS that is read.
    edge: Option<Arc<EdgeStamps>>,
    last_read: AtomicU64,
    /// Stamp of the oldest bytes that left the queue and were not written yet; 0 is none.
    leaving: AtomicU64,
    blocked: AtomicBool,
    too_slow: AtomicBool,
    flushes: AtomicU64,
    /// Bodies that wait for a flush before they break; several on HTTP/2.
    at_flush: Mutex<Vec<Waker>>,
    /// Answers that were begun to be made.
    asked: AtomicU64,
    /// Answers that are over, however they ended.
    answered: AtomicU64,
    /// What is wrong with the body of the request that is being served, or with the connection.
    broken: OnceLock<Fault>,
    new_streams: Mutex<Rate>,
    /// What goes out ahead of the answer.
    pub(crate) interim: Interim,
    /// The socket, once the connection is over before the server knows.
    left_over: Mutex<Option<(Box<dyn Socket>, Lingering)>>,
    /// The client asks to go on in another protocol.
    switch: Mutex<Option<Switch>>,
    hard_stop: CancellationToken,
    delays: Mutex<Vec<Nanos>>,
    tally: Arc<dyn Tally>,
}

impl ClientSide {
    /// The read that brought the request that is being handled.
    pub(crate) fn last_read(&self) -> Nanos {
        Nanos(self.last_read.load(Relaxed))
    }

    /// The body of the request being served has been found at fault.
    pub(crate) fn broken(&self) -> Option<Fault> {
        self.broken.get().copied()
    }

    /// When a wait for the client begins or ends.
    pub(crate) fn waits_at(&self) -> Nanos {
        self.clock.now()
    }

    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    /// An answer is on its way.
    pub(crate) fn on_asked(&self) {
        self.asked.fetch_add(1, Relaxed);
    }

    /// Whether some answer is not over yet.
    pub(crate) fn is_owed(&self) -> bool {
        self.answered() < self.asked.load(Relaxed)
    }

    /// The server has let go of an answer: all of it was written or queued for writing, or it broke off.
    pub(crate) fn on_answered(&self) {
        self.answered.fetch_add(1, Relaxed);
    }

    pub(crate) fn on_refused(&self, fault: Fault) {
        self.tally.refused(fault.code());
    }

    pub(crate) fn on_broken(&self, fault: Fault) {
        // The first fault ends the connection, so there is no second.
        let _ = self.broken.set(fault);
    }

    /// What was just read came now; over TLS, when the socket below was last read.
    pub(crate) fn on_read(&self) {
        let at = match &self.edge {
            Some(edge) => edge.last_read(),
            None => self.clock.now(),
        };
        self.last_read.store(at.0, Relaxed);
    }

    /// Another request has begun on a connection of HTTP/2; false if that is too many.
    pub(crate) fn on_new_stream(&self) -> bool {
        self.new_streams.lock().admit(self.last_read())
    }

    /// The socket of a client that asked to switch, whose server has seen its connection end.
    pub(crate) fn take_switch(&self) -> Option<Switch> {
        self.switch.lock().take()
    }

    /// Says the last word on a connection that ended over its server's head, if this is one.
    pub(crate) async fn say_last_word(&self) {
        let left_over = self.left_over.lock().take();
        if let Some((mut socket, mut lingering)) = left_over {
            // The client may be gone; there is nobody else to tell.
            let _ = poll_fn(|cx| lingering.poll(&mut *socket, cx)).await;
        }
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
            self.tally.delays(&delays);
            delays.clear();
        }
    }
}

impl Drop for ClientSide {
    fn drop(&mut self) {
        let delays = self.delays.get_mut();
        if !delays.is_empty() {
            self.tally.delays(delays);
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
        } else if let Some(fault) = self.broken() {
            fault.end()
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

/// A client that takes nothing.
struct Stalled {
    limit: Pin<Box<Sleep>>,
    /// The last write of the socket below TLS before it: another one since then, and the client has taken something.
    last: Option<Nanos>,
}

/// A client's socket.
pub(crate) struct Accepted {
    socket: Box<dyn Socket>,
    intake: Intake,
    side: Arc<ClientSide>,
    limits: ConnectionLimits,
    /// On HTTP/2.
    frames: Option<FrameBudget>,
    stalled: Option<Stalled>,
    /// How fast the client takes what waits for it.
    pace: Pace,
    lingering: Option<Lingering>,
    /// The server has written something since it last flushed.
    is_midway: bool,
}

impl Accepted {
    /// Wraps a socket that was just accepted.
    pub(crate) fn new(
        transport: Transport,
        clock: Clock,
        limits: ConnectionLimits,
        hard_stop: CancellationToken,
        tally: Arc<dyn Tally>,
    ) -> Self {
        let Transport { socket, edge } = transport;
        let side = ClientSide {
            clock,
            edge,
            last_read: AtomicU64::new(clock.now().0),
            leaving: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            too_slow: AtomicBool::new(false),
            flushes: AtomicU64::new(0),
            at_flush: Mutex::default(),
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            broken: OnceLock::new(),
            interim: Interim::default(),
            new_streams: Mutex::new(Rate::per_second(limits.new_streams)),
            left_over: Mutex::default(),
            switch: Mutex::default(),
            hard_stop,
            delays: Mutex::default(),
            tally,
        };
        Self {
            socket,
            intake: Intake::default(),
            side: Arc::new(side),
            limits,
            frames: None,
            stalled: None,
            pace: Pace::at_least(limits.client_rate),
            lingering: None,
            is_midway: false,
        }
    }

    pub(crate) fn side(&self) -> Arc<ClientSide> {
        Arc::clone(&self.side)
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.intake.held()
    }

    /// Finds out what the client speaks. What it sends by HTTP/1 is guarded from its first byte on.
    pub(crate) async fn protocol(&mut self) -> io::Result<Protocol> {
        self.intake.guard(self.limits);
        let sniffed =
            poll_fn(|cx| self.intake.poll_protocol(&mut *self.socket, &self.side, cx)).await?;
        if sniffed == Protocol::Http2 {
            self.frames = Some(FrameBudget::new(self.limits.control_frames));
        }
        Ok(sniffed)
    }

    /// Counts the frames in `bytes`, which are about to go to the server. With one too many the connection is over: the
    /// server is told so at once and lets go of all its exchanges, and the client is told why by whoever serves it.
    fn count_frames(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            return Ok(());
        };
        let Err(fault) = frames.on_read(bytes, self.side.last_read()) else {
            return Ok(());
        };
        self.side.on_refused(fault);
        self.side.on_broken(fault);
        let lingering = Lingering::new(frames.farewell());
        *self.side.left_over.lock() = Some((self.take_socket(), lingering));
        self.frames = None;
        Err(io::Error::new(io::ErrorKind::InvalidData, fault))
    }

    /// The socket, from which the server sees nothing more from here on.
    fn take_socket(&mut self) -> Box<dyn Socket> {
        let nowhere = Box::new(tokio::io::join(tokio::io::empty(), tokio::io::sink()));
        std::mem::replace(&mut self.socket, nowhere)
    }

    /// Writes what is to go out ahead of the answer, where the server is between two of its own words.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_midway {
            self.side.interim.leave_out();
            return Poll::Ready(Ok(()));
        }
        self.side.interim.poll_write(&mut *self.socket, cx)
    }

    fn poll_write_limit(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.pace.waits() {
            self.pace.on_wait(self.side.waits_at());
        }
        self.poll_stalled(cx).map(Err)
    }

    /// Ready when the client has taken nothing for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        self.side.blocked.store(true, Relaxed);
        let limit = self.limits.client_write;
        let last = self.side.edge.as_ref().map(|edge| edge.last_write());
        let stalled = self.stalled.take().filter(|stalled| stalled.last == last);
        let stalled = self.stalled.insert(stalled.unwrap_or_else(|| Stalled {
            limit: Box::pin(tokio::time::sleep(limit)),
            last,
        }));
        ready!(stalled.limit.as_mut().poll(cx));
        let why = format!("the client took no byte for {limit:?} (limits.client_write)");
        Poll::Ready(self.too_slow(why))
    }

    fn too_slow(&self, why: String) -> io::Error {
        self.side.too_slow.store(true, Relaxed);
        io::Error::new(io::ErrorKind::TimedOut, why)
    }

    fn on_written<'a>(
        &mut self,
        written: Poll<io::Result<usize>>,
        bufs: impl IntoIterator<Item = &'a [u8]>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Pending => self.poll_write_limit(cx),
            Poll::Ready(result) => {
                self.stalled = None;
                self.is_midway = true;
                self.side.on_write();
                let bytes = *result.as_ref().unwrap_or(&0);
                let side = &self.side;
                if self.pace.waits() && !self.pace.on_moved(bytes as u64, || side.waits_at()) {
                    let least = self.limits.client_rate;
                    let why = format!(
                        "the client took less than {least} bytes a second (limits.client_rate)"
                    );
                    return Poll::Ready(Err(self.too_slow(why)));
                }
                if let Some(frames) = &mut self.frames {
                    let mut left = bytes;
                    for buf in bufs {
                        let (buf, _) = buf.split_at(left.min(buf.len()));
                        frames.on_written(buf);
                        left -= buf.len();
                    }
                }
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
        let before = buf.filled().len();
        ready!(
            this.intake
                .poll_read(&mut *this.socket, &this.side, cx, buf)
        )?;
        if let Some((bytes, head)) = this.intake.take_switch() {
            let socket = this.take_socket();
            *this.side.switch.lock() = Some(Switch {
                socket,
                bytes,
                head,
            });
        }
        Poll::Ready(this.count_frames(&buf.filled()[before..]))
    }
}

impl AsyncWrite for Accepted {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match this.poll_interim(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.socket).poll_write(cx, buf),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        this.on_written(written, [buf], cx)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.intake.watch(&mut *this.socket, &this.side, cx)?;
        this.is_midway = false;
        if this.poll_interim(cx)?.is_pending() {
            return this.poll_stalled(cx).map(Err);
        }
        let flushed = match Pin::new(&mut this.socket).poll_flush(cx) {
            Poll::Ready(flushed) => flushed,
            // Only TLS takes bytes that the kernel has not taken.
            Poll::Pending => return this.poll_stalled(cx).map(Err),
        };
        this.stalled = None;
        this.side.on_flush();
        this.intake.on_flush(&this.side, cx);
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(lingering) = &mut this.lingering {
            return lingering.poll(&mut *this.socket, cx);
        }
        match this.intake.parting() {
            Parting::AtOnce => Pin::new(&mut this.socket).poll_shutdown(cx),
            Parting::Lingering(answer) => this
                .lingering
                .insert(Lingering::new(answer))
                .poll(&mut *this.socket, cx),
        }
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
        let written = match this.poll_interim(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut this.socket).poll_write_vectored(cx, bufs),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        };
        this.on_written(written, bufs.iter().map(|buf| &**buf), cx)
    }
}

/// The time of something that no read or write of a client's socket brings.
pub(crate) fn stamp_now(clock: &Clock) -> Nanos {
    clock.now()
}
