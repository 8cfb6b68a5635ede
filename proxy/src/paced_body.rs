//! A request's body that must keep coming: with no pause above its limit, and no slower than its rate.
//!
//! The clock runs only while somebody asks for the body and none is there, so that an engine which takes its time costs the
//! client nothing. A body that is too slow breaks, and its request is over.

use crate::caller::Caller;
use crate::connection::BodyPace;
use crate::guard::Fault;
use crate::pace::Pace;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Sleep, sleep};
use upstream::BodyError;

/// The body of one request.
pub(crate) struct PacedBody {
    body: Incoming,
    limits: BodyPace,
    pace: Pace,
    pause: Option<Pin<Box<Sleep>>>,
    caller: Arc<Caller>,
}

impl PacedBody {
    pub(crate) fn new(body: Incoming, limits: BodyPace, caller: Arc<Caller>) -> Self {
        Self {
            body,
            limits,
            pace: Pace::at_least(limits.least),
            pause: None,
            caller,
        }
    }

    /// Ready when the pause has become too long.
    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limit = self.limits.pause;
        let pause = match &mut self.pause {
            Some(pause) => {
                if !self.pace.waits() {
                    pause.as_mut().reset(sleep(limit).deadline());
                }
                pause
            }
            none => none.insert(Box::pin(sleep(limit))),
        };
        if !self.pace.waits() {
            self.pace.on_wait(self.caller.waits_at());
        }
        pause.as_mut().poll(cx)
    }

    fn break_off(&self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.caller.on_broken(fault);
        Poll::Ready(Some(Err(Box::new(fault))))
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            return match this.poll_pause(cx) {
                Poll::Ready(()) => this.break_off(Fault::BodyPause(this.limits.pause)),
                Poll::Pending => Poll::Pending,
            };
        };
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) | None => {
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
        };
        if this.pace.on_moved(bytes, || this.caller.waits_at()) {
            Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
        } else {
            this.break_off(Fault::BodyRate(this.limits.least))
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
