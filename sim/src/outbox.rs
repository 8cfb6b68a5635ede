//! The way of an answer's bytes from whoever tells it to hyper.
//!
//! A stream is told by a future (the *teller*) that lives inside the body and runs when hyper asks for a frame: no task of
//! its own, no hop between tasks for a token. It hands events to its [`Outbox`], which dresses them as the faults say.
//! Each frame leaves a mark on the [`Link`], so that the moment of its write gets known.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use flate2::write::GzEncoder;
use http_body::{Frame as HttpFrame, SizeHint};
use tokio::sync::mpsc;

use crate::exchange::Exchange;
use crate::fault::{Dress, LineEnd};
use crate::link::{Link, Mark, Note};
use crate::truth::Kind;

/// Pause between two pieces of a dripping event.
const DRIP_PAUSE: Duration = Duration::from_millis(1);

/// The answer breaks off here; hyper then closes the connection without ending the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulated engine broke off")]
pub(crate) struct BrokeOff;

/// How hyper puts frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A chunk each.
    Chunked,
    /// As they are.
    Raw,
}

/// A future that tells an answer.
pub(crate) type Teller = Pin<Box<dyn Future<Output = Result<(), BrokeOff>> + Send>>;

#[derive(Debug)]
struct Frame {
    bytes: Bytes,
    /// So many of the bytes make the notes true; after them come only line ends.
    telling: usize,
    notes: Vec<Note>,
}

/// Takes events on their way out.
#[derive(Debug)]
pub(crate) struct Outbox {
    frames: mpsc::Sender<Frame>,
    link: Arc<Link>,
    dress: Dress,
    signs: Signs,
    held: Frames,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

/// What an engine's streams have beside events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signs {
    /// Its comment, blank line included; empty where there is none.
    pub(crate) comment: &'static str,
    /// Events that are told together share a chunk.
    pub(crate) together: bool,
}

/// Events that wait for others to share a chunk with.
#[derive(Debug, Default)]
struct Frames {
    bytes: Vec<u8>,
    notes: Vec<Note>,
    events: u32,
}

/// The body of an answer.
pub(crate) struct AnswerBody {
    link: Arc<Link>,
    exchange: Option<Arc<Exchange>>,
    content: Content,
}

enum Content {
    /// Whole and not yet taken, or nothing (more).
    Whole(Option<Frame>),
    Stream(Stream),
}

struct Stream {
    frames: mpsc::Receiver<Frame>,
    teller: Option<Teller>,
    outcome: Result<(), BrokeOff>,
    framing: Framing,
}

// ===== Outbox =====

impl Outbox {
    /// Hands on an event, line ends LF, blank line included.
    pub(crate) async fn event(&mut self, event: &[u8], notes: &[Note]) -> Result<(), BrokeOff> {
        if self.dress.comments {
            self.comment().await?;
        }
        self.dress_lines(event);
        self.held.notes.extend_from_slice(notes);
        self.held.events += 1;
        if self.held.events >= self.dress.coalesce.get() && !self.signs.together {
            self.flush().await?;
        }
        Ok(())
    }

    /// What is told at this moment has been handed on.
    pub(crate) async fn told(&mut self) -> Result<(), BrokeOff> {
        if self.held.events >= self.dress.coalesce.get() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Hands on a keep-alive comment, before events that are held.
    pub(crate) async fn comment(&mut self) -> Result<(), BrokeOff> {
        if self.signs.comment.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        self.dress_lines(self.signs.comment.as_bytes());
        self.held.notes.push(Note {
            choice: 0,
            kind: Kind::Comment,
            tokens: 0,
        });
        self.flush().await?;
        self.held = held;
        Ok(())
    }

    /// Hands on what is held.
    pub(crate) async fn flush(&mut self) -> Result<(), BrokeOff> {
        let Frames { bytes, notes, .. } = std::mem::take(&mut self.held);
        if bytes.is_empty() {
            return Ok(());
        }
        let end_of_json = bytes.trim_ascii_end().len();
        let bytes = self.compress(bytes, |gzip| gzip.flush())?;
        match self.dress.drip {
            Some(size) if self.gzip.is_none() => {
                self.drip(&bytes, notes, (size.get(), end_of_json)).await
            }
            _ => self.send(bytes, notes).await,
        }
    }

    /// Hands on what is held, and whatever ends the stream's encoding.
    pub(crate) async fn finish(&mut self) -> Result<(), BrokeOff> {
        self.flush().await?;
        let rest = self.compress(Vec::new(), GzEncoder::try_finish)?;
        if rest.is_empty() {
            Ok(())
        } else {
            self.send(rest, Vec::new()).await
        }
    }

    /// Waits until everything handed on is written.
    pub(crate) async fn drained(&mut self) -> Result<(), BrokeOff> {
        self.flush().await?;
        // The frame may still lie in the channel: it is taken before the link can be empty, since hyper polls the body
        // (and so this future) only to take frames.
        while self.frames.capacity() == 0 {
            tokio::task::yield_now().await;
        }
        self.link.drained().await;
        Ok(())
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    fn dress_lines(&mut self, event: &[u8]) {
        let line_end: &[u8] = match self.dress.line_end {
            LineEnd::Lf => return self.held.bytes.extend_from_slice(event),
            LineEnd::CrLf => b"\r\n",
            LineEnd::Cr => b"\r",
        };
        for line in event.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_suffix(b"\n") {
                Some(line) => {
                    self.held.bytes.extend_from_slice(line);
                    self.held.bytes.extend_from_slice(line_end);
                }
                None => self.held.bytes.extend_from_slice(line),
            }
        }
    }

    /// Puts bytes through the encoder, if there is one, and takes out what it has.
    fn compress(
        &mut self,
        bytes: Vec<u8>,
        close: impl FnOnce(&mut GzEncoder<Vec<u8>>) -> std::io::Result<()>,
    ) -> Result<Vec<u8>, BrokeOff> {
        let Some(gzip) = &mut self.gzip else {
            return Ok(bytes);
        };
        gzip.write_all(&bytes)
            .and_then(|()| close(gzip))
            .map_err(|_| BrokeOff)?;
        Ok(std::mem::take(gzip.get_mut()))
    }

    /// Sends pieces of `size` bytes. What the whole carries is there with the piece that ends the last JSON.
    async fn drip(
        &mut self,
        bytes: &[u8],
        mut notes: Vec<Note>,
        (size, end): (usize, usize),
    ) -> Result<(), BrokeOff> {
        let mut sent = 0;
        for piece in bytes.chunks(size) {
            if sent > 0 {
                tokio::time::sleep(DRIP_PAUSE).await;
            }
            sent += piece.len();
            let notes = if sent >= end {
                std::mem::take(&mut notes)
            } else {
                Vec::new()
            };
            self.send(piece.to_vec(), notes).await?;
        }
        Ok(())
    }

    async fn send(&mut self, bytes: Vec<u8>, notes: Vec<Note>) -> Result<(), BrokeOff> {
        let frame = Frame {
            telling: match self.gzip {
                Some(_) => bytes.len(),
                None => bytes.trim_ascii_end().len(),
            },
            bytes: bytes.into(),
            notes,
        };
        // The receiver is in the body that this future belongs to, so that it is there.
        self.frames.send(frame).await.map_err(|_| BrokeOff)
    }
}

// ===== AnswerBody =====

impl AnswerBody {
    /// A body whose length is known.
    pub(crate) fn whole(
        link: &Arc<Link>,
        exchange: Option<Arc<Exchange>>,
        bytes: Bytes,
        notes: Vec<Note>,
    ) -> Self {
        link.mark(Mark::Head, exchange.as_ref());
        if bytes.is_empty() {
            link.mark(Mark::End(0), exchange.as_ref());
        }
        let frame = (!bytes.is_empty()).then_some(Frame {
            telling: bytes.len(),
            bytes,
            notes,
        });
        Self {
            link: Arc::clone(link),
            exchange,
            content: Content::Whole(frame),
        }
    }

    /// A stream of events that `tell` tells.
    pub(crate) fn stream(
        link: &Arc<Link>,
        exchange: Arc<Exchange>,
        (framing, dress, signs): (Framing, Dress, Signs),
        tell: impl FnOnce(Outbox) -> Teller,
    ) -> Self {
        link.mark(Mark::Head, Some(&exchange));
        let (sender, receiver) = mpsc::channel(1);
        let outbox = Outbox {
            frames: sender,
            link: Arc::clone(link),
            dress,
            signs,
            held: Frames::default(),
            gzip: dress
                .gzip
                .then(|| GzEncoder::new(Vec::new(), flate2::Compression::default())),
        };
        let stream = Stream {
            frames: receiver,
            teller: Some(tell(outbox)),
            outcome: Ok(()),
            framing,
        };
        Self {
            link: Arc::clone(link),
            exchange: Some(exchange),
            content: Content::Stream(stream),
        }
    }
}

impl Stream {
    /// The next frame, `None` at the end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, BrokeOff>>> {
        loop {
            if let Poll::Ready(frame) = self.frames.poll_recv(cx) {
                return Poll::Ready(match frame {
                    Some(frame) => Some(Ok(frame)),
                    None => std::mem::replace(&mut self.outcome, Ok(())).err().map(Err),
                });
            }
            let Some(teller) = &mut self.teller else {
                return Poll::Pending;
            };
            match teller.as_mut().poll(cx) {
                // Its end drops its outbox, so that the channel ends after what is still in it.
                Poll::Ready(outcome) => {
                    self.outcome = outcome;
                    self.teller = None;
                }
                // It may have sent a frame before it had to wait.
                Poll::Pending => return self.frames.poll_recv(cx).map(|frame| frame.map(Ok)),
            }
        }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<HttpFrame<Bytes>, BrokeOff>>> {
        let Self {
            link,
            exchange,
            content,
        } = &mut *self;
        let exchange = exchange.as_ref();
        let stream = match content {
            Content::Whole(frame) => {
                return Poll::Ready(frame.take().map(|frame| {
                    let data = Framing::Raw.mark(link, exchange, frame);
                    link.mark(Mark::End(0), exchange);
                    Ok(data)
                }));
            }
            Content::Stream(stream) => stream,
        };
        stream.poll_next(cx).map(|next| match next {
            Some(Ok(frame)) => Some(Ok(stream.framing.mark(link, exchange, frame))),
            Some(Err(broke_off)) => Some(Err(broke_off)),
            None => {
                link.mark(Mark::End(stream.framing.end_len()), exchange);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(frame) => {
                SizeHint::with_exact(frame.as_ref().map_or(0, |frame| frame.bytes.len() as u64))
            }
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

impl Framing {
    /// Marks a frame and makes it hyper's.
    fn mark(self, link: &Link, exchange: Option<&Arc<Exchange>>, frame: Frame) -> HttpFrame<Bytes> {
        let (before, after) = self.around(frame.bytes.len());
        let rest = frame.bytes.len() - frame.telling + after;
        link.mark(Mark::Frame(before + frame.telling, frame.notes), exchange);
        link.mark(Mark::Frame(rest, Vec::new()), exchange);
        HttpFrame::data(frame.bytes)
    }

    /// Bytes on the wire before and after so many bytes of a frame.
    fn around(self, bytes: usize) -> (usize, usize) {
        match self {
            Self::Raw => (0, 0),
            // The size in hexadecimal, CR LF; CR LF.
            Self::Chunked => (format!("{bytes:X}").len() + 2, 2),
        }
    }

    /// Length on the wire of the body's end.
    fn end_len(self) -> usize {
        match self {
            Self::Raw => 0,
            Self::Chunked => b"0\r\n\r\n".len(),
        }
    }
}
