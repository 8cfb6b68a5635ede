//! The queue from engine to client, bounded by bytes.
//!
//! The pump drains the engine at line rate whatever the client does, because a stamp is right only if the read was not
//! held back. What the client has not taken waits here: a share of its own for each exchange, then a part of one budget
//! that all exchanges share. When neither has room the pump stops reading, and from then on the exchange's times are the
//! client's, which its record says.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, response};
use http_body::{Body, Frame, SizeHint};
use measure::{End, Nanos};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use crate::Failure;

/// Pieces that wait are joined into one write up to this many bytes.
const JOIN_BYTES: usize = 32 * 1024;

/// Bounds of a queue, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct QueueLimits {
    /// What each exchange has of its own.
    pub own: usize,
    /// The most that one exchange may hold, shared part included.
    pub most: usize,
}

/// Bytes that all queues share beyond their own.
#[derive(Debug)]
pub struct Budget {
    left: AtomicUsize,
}

impl Budget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicUsize::new(bytes),
        })
    }

    /// Bytes not taken now.
    pub fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    fn take(&self, bytes: usize) -> bool {
        self.left
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes))
            .is_ok()
    }

    fn give(&self, bytes: usize) {
        self.left.fetch_add(bytes, Relaxed);
    }
}

/// How the queue ended.
#[derive(Debug)]
enum Ended {
    /// The engine's body ended as its framing says, with what trails it.
    Whole(Option<HeaderMap>),
    /// It broke: the client's body must break too.
    Broken(Failure),
}

#[derive(Debug)]
struct Inner {
    head: Option<Result<response::Parts, Failure>>,
    pieces: VecDeque<Bytes>,
    bytes: usize,
    borrowed: usize,
    full: bool,
    oldest: Option<Nanos>,
    /// Bytes that the reader took, ever.
    taken: u64,
    /// How often it took the last that waited.
    drained: u64,
    ended: Option<Ended>,
    reader_gone: bool,
    /// The reader left while pieces waited.
    lost: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Inner {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Inner>,
    limits: QueueLimits,
    budget: Arc<Budget>,
    client: Arc<dyn Client>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.budget.give(self.inner.get_mut().borrowed);
    }
}

/// The side that an answer goes to, as far as the exchange needs to know it.
pub trait Client: Send + Sync + std::fmt::Debug {
    /// Bytes left the queue towards the client; `oldest` is the stamp of the read that brought the oldest of them.
    fn taken(&self, oldest: Nanos);

    /// What it means that the exchange is dropped now, before the engine's end.
    fn parting(&self) -> End;

    /// How many times everything that was handed over had been written to the client's socket.
    fn flushes(&self) -> u64;

    /// Ready once it was written again after flush number `since`. A server that meets a broken body drops what it has not
    /// written yet, so a body breaks only then.
    fn poll_flushed(&self, since: u64, cx: &mut Context<'_>) -> Poll<()>;
}

/// Nobody in particular: takes what comes, and has left when it is dropped.
impl Client for () {
    fn taken(&self, _oldest: Nanos) {}

    fn parting(&self) -> End {
        End::ClientGone
    }

    fn flushes(&self) -> u64 {
        0
    }

    fn poll_flushed(&self, _since: u64, _cx: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }
}

/// The pump's end.
#[derive(Debug)]
pub(crate) struct QueueWriter(Arc<Shared>);

/// The client's end before the head has come.
#[derive(Debug)]
pub(crate) struct QueueReader {
    shared: Arc<Shared>,
    /// The client's flushes when something was handed over last.
    handed_at: u64,
}

/// A new queue.
pub(crate) fn queue(
    limits: QueueLimits,
    budget: &Arc<Budget>,
    client: Arc<dyn Client>,
) -> (QueueWriter, QueueReader) {
    let inner = Inner {
        head: None,
        pieces: VecDeque::new(),
        bytes: 0,
        borrowed: 0,
        full: false,
        oldest: None,
        taken: 0,
        drained: 0,
        ended: None,
        reader_gone: false,
        lost: false,
        reader: None,
        writer: None,
    };
    let shared = Arc::new(Shared {
        inner: Mutex::new(inner),
        limits,
        budget: Arc::clone(budget),
        client,
    });
    (
        QueueWriter(Arc::clone(&shared)),
        QueueReader {
            shared,
            handed_at: 0,
        },
    )
}

impl QueueWriter {
    /// Hands over the engine's response head, or what kept it from coming.
    pub(crate) fn head(&self, head: Result<response::Parts, Failure>) {
        let mut inner = self.0.inner.lock();
        inner.head = Some(head);
        inner.wake_reader();
    }

    /// Queues a piece that was read at `at`. It is always taken, since it was read already; the queue may then be full.
    pub(crate) fn push(&self, piece: Bytes, at: Nanos) {
        if piece.is_empty() {
            return;
        }
        let mut inner = self.0.inner.lock();
        inner.bytes += piece.len();
        let beyond = inner.bytes.saturating_sub(self.0.limits.own);
        let wanted = beyond.saturating_sub(inner.borrowed);
        if wanted > 0 && inner.bytes <= self.0.limits.most && self.0.budget.take(wanted) {
            inner.borrowed += wanted;
        } else if wanted > 0 {
            inner.full = true;
        }
        inner.oldest.get_or_insert(at);
        inner.pieces.push_back(piece);
        inner.wake_reader();
    }

    /// Whether something still waits for the client, or was waiting when it left.
    pub(crate) fn has_pieces(&self) -> bool {
        let inner = self.0.inner.lock();
        inner.lost || !inner.pieces.is_empty()
    }

    /// Whether the pump must stop reading.
    pub(crate) fn is_full(&self) -> bool {
        self.0.inner.lock().full
    }

    /// Ready when there is room again, or no reader any more.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.0.inner.lock();
        if inner.full && !inner.reader_gone {
            inner.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Ready when the reader is gone.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut inner = self.0.inner.lock();
        if inner.reader_gone {
            return Poll::Ready(());
        }
        if !inner
            .writer
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            inner.writer = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// The engine's body ended whole, with these trailers.
    pub(crate) fn end(&self, trailers: Option<HeaderMap>) {
        let mut inner = self.0.inner.lock();
        inner.ended = Some(Ended::Whole(trailers));
        inner.wake_reader();
    }

    /// The engine's body broke.
    pub(crate) fn broken(&self, failure: Failure) {
        let mut inner = self.0.inner.lock();
        inner.ended = Some(Ended::Broken(failure));
        inner.wake_reader();
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        let mut inner = self.0.inner.lock();
        if inner.ended.is_none() {
            inner.ended = Some(Ended::Broken(Failure::Abandoned));
            if inner.head.is_none() {
                inner.head = Some(Err(Failure::Abandoned));
            }
            inner.wake_reader();
        }
    }
}

impl QueueReader {
    /// The engine's response head, then the body behind it.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<response::Parts, Failure>> {
        let mut inner = self.shared.inner.lock();
        match inner.head.take() {
            Some(head) => {
                self.handed_at = self.shared.client.flushes();
                Poll::Ready(head)
            }
            None => {
                inner.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The reading end as a body; `length` is what the engine's head promised.
    pub(crate) fn into_body(self, length: Option<u64>) -> RelayBody {
        RelayBody {
            queue: self,
            left: length,
            done: false,
        }
    }

    /// Whether nothing is to come any more.
    fn is_over(&self) -> bool {
        let inner = self.shared.inner.lock();
        inner.pieces.is_empty() && matches!(inner.ended, Some(Ended::Whole(None)))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let mut inner = self.shared.inner.lock();
        if inner.pieces.is_empty() {
            return match &mut inner.ended {
                Some(Ended::Whole(trailers)) => {
                    Poll::Ready(trailers.take().map(|fields| Ok(Frame::trailers(fields))))
                }
                Some(Ended::Broken(failure)) => {
                    let failure = failure.clone();
                    drop(inner);
                    let flushed = self.shared.client.poll_flushed(self.handed_at, cx);
                    flushed.map(|()| Some(Err(failure)))
                }
                None => {
                    inner.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            };
        }
        let piece = take_joined(&mut inner.pieces);
        inner.bytes -= piece.len();
        inner.taken = inner.taken.saturating_add(piece.len() as u64);
        inner.drained += u64::from(inner.pieces.is_empty());
        let due = inner.bytes.saturating_sub(self.shared.limits.own);
        if inner.borrowed > due {
            self.shared.budget.give(inner.borrowed - due);
            inner.borrowed = due;
        }
        // Hysteresis of half the own share: a queue at its edge would otherwise wake the pump for every piece.
        if inner.full && inner.bytes <= self.shared.limits.own / 2 {
            inner.full = false;
            inner.wake_writer();
        }
        let oldest = if inner.pieces.is_empty() {
            inner.oldest.take()
        } else {
            inner.oldest
        };
        drop(inner);
        if let Some(oldest) = oldest {
            self.shared.client.taken(oldest);
        }
        self.handed_at = self.shared.client.flushes();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        let mut inner = self.shared.inner.lock();
        inner.reader_gone = true;
        inner.lost = !inner.pieces.is_empty();
        inner.pieces.clear();
        inner.wake_writer();
    }
}

/// One piece if one waits (no copy), else as many as fit into one write.
fn take_joined(pieces: &mut VecDeque<Bytes>) -> Bytes {
    let first = pieces.pop_front().unwrap_or_default();
    let fits = |joined: usize, next: Option<&Bytes>| {
        next.is_some_and(|next| joined + next.len() <= JOIN_BYTES)
    };
    if !fits(first.len(), pieces.front()) {
        return first;
    }
    let mut joined = BytesMut::with_capacity(
        JOIN_BYTES.min(first.len() + pieces.iter().map(Bytes::len).sum::<usize>()),
    );
    joined.extend_from_slice(&first);
    while fits(joined.len(), pieces.front()) {
        if let Some(piece) = pieces.pop_front() {
            joined.extend_from_slice(&piece);
        }
    }
    joined.freeze()
}

/// The client's body: what the queue holds, as it comes. Dropping it before its end aborts the exchange.
#[derive(Debug)]
pub struct RelayBody {
    queue: QueueReader,
    left: Option<u64>,
    done: bool,
}

/// How a queue stands, for whoever wants to know whether its reader takes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Bytes that wait.
    pub waiting: usize,
    /// Bytes that the reader has taken since the beginning.
    pub taken: u64,
    /// How often it has taken the last that waited.
    pub drained: u64,
}

/// A look at the queue of one exchange, which holds nothing up.
#[derive(Debug, Clone)]
pub struct QueueView(Arc<Shared>);

impl QueueView {
    /// How it stands now.
    pub fn standing(&self) -> Standing {
        let inner = self.0.inner.lock();
        Standing {
            waiting: inner.bytes,
            taken: inner.taken,
            drained: inner.drained,
        }
    }
}

impl RelayBody {
    /// A look at the queue that it is the end of.
    pub fn view(&self) -> QueueView {
        QueueView(Arc::clone(&self.queue.shared))
    }

    /// Looks whether the engine's head was all of its answer.
    pub(crate) fn end_if_over(mut self) -> Self {
        self.done = self.queue.is_over();
        self
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let this = self.get_mut();
        this.queue.poll_piece(cx).map(|piece| match piece {
            Some(Ok(frame)) => {
                let bytes = frame.data_ref().map_or(0, |piece| piece.len() as u64);
                this.left = this.left.map(|left| left.saturating_sub(bytes));
                Some(Ok(frame))
            }
            Some(Err(failure)) => {
                this.done = true;
                Some(Err(failure))
            }
            None => {
                this.done = true;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.done || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests;
