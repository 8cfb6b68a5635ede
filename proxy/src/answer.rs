//! The body of an answer, which tells the client's side when the server has let go of it.

use crate::accepted::ClientSide;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use upstream::{Failure, RelayBody};

/// An answer that is on its way, from the request to the body's end. Dropping it is its end.
pub(crate) struct Answering(Arc<ClientSide>);

impl Answering {
    pub(crate) fn new(client: Arc<ClientSide>) -> Self {
        client.on_asked();
        Self(client)
    }

    /// The answer's body is known.
    pub(crate) fn with(self, body: Either<RelayBody, Full<Bytes>>) -> AnswerBody {
        AnswerBody {
            body,
            _answering: self,
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.on_answered();
    }
}

/// The engine's body, or ours.
pub(crate) struct AnswerBody {
    body: Either<RelayBody, Full<Bytes>>,
    _answering: Answering,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match &mut self.get_mut().body {
            Either::Left(body) => Pin::new(body).poll_frame(cx),
            Either::Right(body) => Pin::new(body)
                .poll_frame(cx)
                .map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Either::Left(body) => body.is_end_stream(),
            Either::Right(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Either::Left(body) => body.size_hint(),
            Either::Right(body) => body.size_hint(),
        }
    }
}
