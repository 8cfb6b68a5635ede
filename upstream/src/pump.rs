//! One exchange with the engine, from request to end.
//!
//! It runs as a part of its owner's task. It stops for nothing but the engine, a full queue, and a client that has gone.

use crate::injection::Asking;
use crate::link::{Link, Protocol, Sent};
use crate::patience::Patience;
use crate::pool::Pool;
use crate::queue::QueueWriter;
use crate::upload::{Upload, UploadEnd, UploadState};
use crate::watch::Watch;
use crate::{Clock, Failure, UsageInjection, stamped};
use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use measure::{End, Nanos};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use wire::UsageStrip;

/// Frames handed over before the client's side gets its turn.
const FRAMES_A_TURN: usize = 64;

pub(crate) struct Pump {
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Clock,
    pub(crate) patience: Patience,
    pub(crate) upload: UploadState,
    pub(crate) body_limit: u64,
    pub(crate) observer: Option<Box<dyn Watch>>,
    pub(crate) usage: Option<Arc<UsageInjection>>,
    /// The request asks for usage on the client's behalf.
    pub(crate) asking: Option<Asking>,
    /// The answer is to lose the usage that was asked for.
    pub(crate) strip: Option<UsageStrip>,
    pub(crate) queue: QueueWriter,
}

/// What the next turn of an open answer brings.
enum Next {
    Frame(Bytes),
    Trailers(HeaderMap),
    End,
    Failed(Failure),
    TimedOut(Failure),
    ReaderGone,
}

impl Next {
    fn of(frame: Frame<Bytes>) -> Self {
        match frame.into_data().map_err(Frame::into_trailers) {
            Ok(bytes) => Self::Frame(bytes),
            Err(Ok(fields)) => Self::Trailers(fields),
            // There is no third kind of frame; an empty one changes nothing.
            Err(Err(_)) => Self::Frame(Bytes::new()),
        }
    }
}

impl Pump {
    /// Sends `request`, pumps its answer, and gives the connection back.
    pub(crate) async fn run(mut self, request: Request<Upload>) {
        let begun = match self.asking(request).await {
            Ok(request) => self.begin(request).await,
            Err(failure) => Err(failure),
        };
        match begun {
            Ok((link, body)) => self.pump(link, body).await,
            Err(failure) => self.fail(failure),
        }
    }

    async fn begin(&mut self, mut request: Request<Upload>) -> Result<(Link, Incoming), Failure> {
        let asked = stamped::stamp_now(&self.clock);
        let protocol = Protocol::of(request.version());
        let mut link = self.pool.checkout(asked, protocol).await?;
        loop {
            link.stamps.begin();
            if let Some(observer) = &mut self.observer {
                let took = (!link.reused).then(|| link.stamps.opened().since(asked));
                observer.on_connection(Arc::clone(&link.stamps), took);
            }
            match self.send(&mut link, request).await? {
                Ok(response) => {
                    if let Some(unasked) = self.unasked(response.status()) {
                        request = unasked;
                        link = self.pool.connect(protocol).await?;
                        continue;
                    }
                    let (mut head, body) = response.into_parts();
                    if let Some(observer) = &mut self.observer {
                        observer.on_head(link.stamps.last_read(), &head);
                    }
                    link.carries_stream = is_event_stream(&head.headers);
                    self.strip_usage(&mut head, link.carries_stream);
                    self.queue.head(Ok(head));
                    return Ok((link, body));
                }
                Err(mut error) => match error.take_message() {
                    // The connection was found closed before a byte of the request was written: nothing was sent once.
                    Some(unsent) if link.reused => {
                        request = unsent;
                        link = self.pool.connect(protocol).await?;
                    }
                    _ => return Err(self.request_failure(error.into_error())),
                },
            }
        }
    }

    async fn send(&mut self, link: &mut Link, request: Request<Upload>) -> Result<Sent, Failure> {
        let mut answer = pin!(link.send(request));
        let Self {
            queue,
            patience,
            observer,
            clock,
            ..
        } = self;
        link.with(|cx| {
            if let Poll::Ready(sent) = answer.as_mut().poll(cx) {
                return Poll::Ready(Ok(sent));
            }
            if queue.poll_gone(cx).is_ready() {
                return Poll::Ready(Err(Failure::Abandoned));
            }
            poll_patience(observer.as_deref_mut(), patience, *clock, cx).map(Err)
        })
        .await
    }

    fn request_failure(&self, error: hyper::Error) -> Failure {
        self.upload_failure()
            .unwrap_or_else(|| Failure::Reset(Arc::new(error)))
    }

    /// What was wrong with the upload, if that broke the exchange.
    fn upload_failure(&self) -> Option<Failure> {
        match self.upload.end() {
            UploadEnd::TooLarge => Some(Failure::UploadTooLarge {
                limit: self.body_limit,
            }),
            UploadEnd::ClientBroke => Some(Failure::UploadBroke),
            UploadEnd::Open | UploadEnd::Whole => None,
        }
    }

    async fn pump(mut self, mut link: Link, mut body: Incoming) {
        let mut frames = 0;
        let mut trailers = None;
        while !body.is_end_stream() {
            match self.next(&mut link, &mut body).await {
                Next::Frame(bytes) => self.on_frame(&link, &bytes),
                Next::Trailers(fields) => {
                    if let Some(observer) = &mut self.observer {
                        observer.on_trailers(&fields);
                    }
                    trailers = Some(fields);
                }
                Next::End => break,
                // The upload broke under an open answer, and took the connection with it.
                Next::Failed(failure) => match self.upload_failure() {
                    Some(failure) => return self.fail_now(failure),
                    None => return self.fail_at(link.stamps.last_read(), failure),
                },
                Next::TimedOut(failure) => return self.fail_now(failure),
                Next::ReaderGone => return,
            }
            frames += 1;
            if self.queue.is_full() {
                self.wait_for_room(&mut link).await;
            } else if frames % FRAMES_A_TURN == 0 {
                let_the_client_turn().await;
            }
        }
        if let Some(observer) = &mut self.observer {
            observer.on_end(link.stamps.last_read(), End::Clean);
        }
        self.release_stripped(link.stamps.last_read());
        self.queue.end(trailers);
        // An engine may answer before it has the whole request; on HTTP/2 it then needs to be told that no more comes.
        if link.protocol() == Protocol::Http1 || self.upload.is_whole() {
            self.pool.give_back(link).await;
        }
    }

    async fn next(&mut self, link: &mut Link, body: &mut Incoming) -> Next {
        let Self {
            queue,
            patience,
            observer,
            clock,
            ..
        } = self;
        link.with(|cx| {
            match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(Next::End),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Next::Failed(Failure::of_body(error)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    return Poll::Ready(Next::of(frame));
                }
                Poll::Pending => {}
            }
            if queue.poll_gone(cx).is_ready() {
                return Poll::Ready(Next::ReaderGone);
            }
            poll_patience(observer.as_deref_mut(), patience, *clock, cx).map(Next::TimedOut)
        })
        .await
    }

    fn on_frame(&mut self, link: &Link, bytes: &Bytes) {
        let at = link.stamps.last_read();
        self.hand_on(bytes, at);
        if let Some(observer) = &mut self.observer {
            observer.on_frame(at, bytes);
        }
        self.patience.on_read(self.clock.instant(at));
    }

    fn hand_on(&mut self, bytes: &Bytes, at: Nanos) {
        let Some(strip) = &mut self.strip else {
            return self.queue.push(bytes.clone(), at);
        };
        let mut left = Vec::with_capacity(bytes.len());
        strip.push(bytes, &mut left);
        if !left.is_empty() {
            self.queue.push(left.into(), at);
        }
    }

    /// What was held back to see whether it is usage is the client's after all.
    fn release_stripped(&mut self, at: Nanos) {
        if let Some(mut strip) = self.strip.take() {
            let mut left = Vec::new();
            strip.finish(&mut left);
            if !left.is_empty() {
                self.queue.push(left.into(), at);
            }
        }
    }

    async fn wait_for_room(&mut self, link: &mut Link) {
        if let Some(observer) = &mut self.observer {
            observer.on_client_limited();
        }
        let queue = &self.queue;
        link.with(|cx| queue.poll_room(cx)).await;
    }

    /// Nothing of an answer came.
    fn fail(&mut self, failure: Failure) {
        if let Some(observer) = &mut self.observer {
            observer.on_end_now(failure.end());
        }
        self.queue.head(Err(failure.clone()));
        self.queue.broken(failure);
    }

    fn fail_at(&mut self, at: Nanos, failure: Failure) {
        self.release_stripped(at);
        if let Some(observer) = &mut self.observer {
            observer.on_end(at, failure.end());
        }
        self.queue.broken(failure);
    }

    /// By something that no read brought.
    fn fail_now(&mut self, failure: Failure) {
        self.release_stripped(stamped::stamp_now(&self.clock));
        if let Some(observer) = &mut self.observer {
            observer.on_end_now(failure.end());
        }
        self.queue.broken(failure);
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        if let Some(observer) = &mut self.observer
            && self.queue.has_pieces()
        {
            observer.on_undelivered();
        }
    }
}

/// Ready when the engine took too long for what is being waited for.
fn poll_patience(
    observer: Option<&mut (dyn Watch + 'static)>,
    patience: &mut Patience,
    clock: Clock,
    cx: &mut Context<'_>,
) -> Poll<Failure> {
    let Some(observer) = observer else {
        return Poll::Pending;
    };
    observer.on_turn();
    let waits = observer.waits();
    if let Some(since) = waits.since {
        patience.wait_from(clock.instant(since));
    }
    if waits.first_token
        && let Poll::Ready(failure) = patience.poll_first(cx)
    {
        return Poll::Ready(failure);
    }
    if waits.more {
        return patience.poll_silence(cx);
    }
    Poll::Pending
}

/// Gives the worker's turn away once, being ready again at once.
async fn let_the_client_turn() {
    let mut turned = false;
    poll_fn(|cx| {
        if turned {
            return Poll::Ready(());
        }
        turned = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn is_event_stream(fields: &HeaderMap) -> bool {
    let value = fields
        .get(CONTENT_TYPE)
        .map_or(&b""[..], HeaderValue::as_bytes);
    let name = value.split(|byte| *byte == b';').next().unwrap_or_default();
    name.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}
