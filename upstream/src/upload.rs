//! The request's body on its way to the engine: passed on as it comes, scanned for facts in passing.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use parking_lot::Mutex;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wire::{Endpoint, RequestFacts, RequestScan};

/// Why a body broke.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The body of a request, whoever made it.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// How far the upload came, shared between the body (which the connection polls) and the pump.
#[derive(Debug, Clone)]
pub(crate) struct UploadState(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    scan: Option<RequestScan>,
    bytes: u64,
    end: UploadEnd,
}

/// How the upload stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UploadEnd {
    /// Bytes may still come.
    Open,
    /// All of it was handed to the connection.
    Whole,
    /// The client's side broke.
    ClientBroke,
    /// It grew over the limit on bodies.
    TooLarge,
}

impl UploadState {
    pub(crate) fn new(endpoint: Option<Endpoint>) -> Self {
        let scan = endpoint.map(RequestScan::new);
        Self(Arc::new(Mutex::new(State {
            scan,
            bytes: 0,
            end: UploadEnd::Open,
        })))
    }

    pub(crate) fn end(&self) -> UploadEnd {
        self.0.lock().end
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.end() == UploadEnd::Whole
    }

    /// Facts of what was uploaded until now, and its bytes: the first time only.
    pub(crate) fn take_facts(&self) -> Option<(RequestFacts, u64)> {
        let mut state = self.0.lock();
        let facts = state.scan.take()?.finish();
        Some((facts, state.bytes))
    }
}

/// A request body that counts and scans what passes.
pub(crate) struct Upload {
    body: RequestBody,
    state: UploadState,
    limit: u64,
}

impl Upload {
    pub(crate) fn new(body: RequestBody, state: UploadState, limit: u64) -> Self {
        if body.is_end_stream() {
            state.0.lock().end = UploadEnd::Whole;
        }
        Self { body, state, limit }
    }
}

/// The body grew over the limit.
#[derive(Debug, thiserror::Error)]
#[error("the request body is larger than {limit} bytes")]
pub(crate) struct TooLarge {
    limit: u64,
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.body).poll_frame(cx));
        let mut state = this.state.0.lock();
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    state.bytes = state.bytes.saturating_add(data.len() as u64);
                    if let Some(scan) = &mut state.scan {
                        scan.push(data);
                    }
                }
                if state.bytes > this.limit {
                    state.end = UploadEnd::TooLarge;
                    return Poll::Ready(Some(Err(Box::new(TooLarge { limit: this.limit }))));
                }
                if this.body.is_end_stream() {
                    state.end = UploadEnd::Whole;
                }
            }
            Some(Err(_)) => state.end = UploadEnd::ClientBroke,
            None => state.end = UploadEnd::Whole,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
