//! A request's body that says when it is taken to be written.
//!
//! An impatient client counts from there: one that left before its request was on its way would be a request that nobody
//! else can know of.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::oneshot;

/// The body.
#[derive(Debug)]
pub(crate) struct Parcel {
    body: Full<Bytes>,
    taken: Option<oneshot::Sender<()>>,
}

impl Parcel {
    /// A body, and what resolves when the connection takes it: it is written before the connection does anything else.
    pub(crate) fn new(body: Vec<u8>) -> (Self, oneshot::Receiver<()>) {
        let (taken, on_its_way) = oneshot::channel();
        let parcel = Self {
            body: Full::new(body.into()),
            taken: Some(taken),
        };
        (parcel, on_its_way)
    }
}

impl Body for Parcel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(taken) = self.taken.take() {
            // A patient client does not listen.
            let _ = taken.send(());
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn it_is_on_its_way_when_it_is_taken() {
        let (mut parcel, mut on_its_way) = Parcel::new(b"body".to_vec());
        assert_eq!(parcel.size_hint().exact(), Some(4));
        assert!(!parcel.is_end_stream());
        assert!(on_its_way.try_recv().is_err());
        let taken = Pin::new(&mut parcel).poll_frame(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(taken, Poll::Ready(Some(Ok(_)))));
        assert_eq!(on_its_way.try_recv(), Ok(()));
        assert!(parcel.is_end_stream());
    }
}
