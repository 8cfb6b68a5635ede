//! The request's body on its way to the engine: passed on as it comes, scanned for facts in passing.

use crate::Observed;
use crate::requests::Requests;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty};
use parking_lot::Mutex;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use wire::{CallRequest, Endpoint, RequestFacts, RequestScan};

/// Why a body broke.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// The body of a request, whoever made it.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// How far the upload came, shared between the body (which the connection polls) and the pump.
#[derive(Clone)]
pub(crate) struct UploadState(Arc<Mutex<State>>);

struct State {
    scan: Option<RequestScan>,
    /// The requests that it carries, if it can carry many.
    requests: Option<Requests>,
    /// Facts that were taken before the body was changed.
    facts: Option<RequestFacts>,
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
            requests: None,
            facts: None,
            bytes: 0,
            end: UploadEnd::Open,
        })))
    }

    /// Of a call whose every message is a request of its own.
    pub(crate) fn of_requests(requests: Requests) -> Self {
        let state = Self::new(None);
        state.0.lock().requests = Some(requests);
        state
    }

    /// Requests that have begun since the last call.
    pub(crate) fn take_requests(&self) -> Vec<(CallRequest, Observed)> {
        let mut state = self.0.lock();
        state
            .requests
            .as_mut()
            .map_or_else(Vec::new, Requests::take)
    }

    /// One of its requests has its answer.
    pub(crate) fn on_answered(&self) {
        if let Some(requests) = &mut self.0.lock().requests {
            requests.on_answered();
        }
    }

    /// No request begins any more.
    pub(crate) fn close_requests(&self) {
        self.0.lock().requests = None;
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
        let scanned = state.scan.take().map(RequestScan::finish);
        let facts = state.facts.take().or(scanned)?;
        Some((facts, state.bytes))
    }

    /// The upload begins anew, with these bytes; what was scanned of it stands.
    pub(crate) fn again(&self, body: Bytes) -> Upload {
        let mut state = self.0.lock();
        state.end = UploadEnd::Open;
        state.bytes = 0;
        Upload {
            front: Some(body),
            body: nothing(),
            state: self.clone(),
            limit: u64::MAX,
        }
    }
}

/// A request body that counts and scans what passes.
pub(crate) struct Upload {
    /// What comes before the rest of the body: it was taken from there already.
    front: Option<Bytes>,
    body: RequestBody,
    state: UploadState,
    limit: u64,
}

impl Upload {
    pub(crate) fn new(body: RequestBody, state: UploadState, limit: u64) -> Self {
        if body.is_end_stream() {
            state.0.lock().end = UploadEnd::Whole;
        }
        Self {
            front: None,
            body,
            state,
            limit,
        }
    }

    /// Takes the whole body; `None` if it is longer than `most` bytes, and then it is as if nothing was taken.
    pub(crate) fn poll_collect(
        &mut self,
        most: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, BodyError>> {
        let mut taken = self.front.take().map_or_else(BytesMut::new, BytesMut::from);
        loop {
            let polled = if taken.len() > most {
                Poll::Ready(Ok(None))
            } else {
                match Pin::new(&mut self.body).poll_frame(cx) {
                    Poll::Ready(None) => return Poll::Ready(Ok(Some(taken.freeze()))),
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(data) = frame.into_data() {
                            taken.extend_from_slice(&data);
                        }
                        continue;
                    }
                    Poll::Ready(Some(Err(broke))) => Poll::Ready(Err(broke)),
                    Poll::Pending => Poll::Pending,
                }
            };
            self.front = Some(taken.freeze());
            return polled;
        }
    }

    /// Puts back a whole body that was taken.
    pub(crate) fn put_back(&mut self, body: Bytes) {
        self.body = nothing();
        self.front = Some(body);
    }

    /// Sends these bytes in place of those that were taken, of which `facts` are known.
    pub(crate) fn replace(&mut self, body: Bytes, facts: RequestFacts) {
        let mut state = self.state.0.lock();
        state.scan = None;
        state.facts = Some(facts);
        drop(state);
        self.put_back(body);
    }
}

fn nothing() -> RequestBody {
    RequestBody::new(Empty::new().map_err(|never| match never {}))
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
        let frame = match this.front.take() {
            Some(front) => Some(Ok(Frame::data(front))),
            None => ready!(Pin::new(&mut this.body).poll_frame(cx)),
        };
        let mut state = this.state.0.lock();
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    state.bytes = state.bytes.saturating_add(data.len() as u64);
                    if let Some(scan) = &mut state.scan {
                        scan.push(data);
                    }
                    if let Some(requests) = &mut state.requests {
                        requests.push(data);
                    }
                }
                // A call can go on for ever: of such a one each request has the limit.
                let bytes = state.bytes;
                let limited = state
                    .requests
                    .as_ref()
                    .map_or(bytes, |requests| requests.largest(bytes));
                if limited > this.limit {
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
        self.front.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let front = self.front.as_ref().map_or(0, Bytes::len) as u64;
        let rest = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(front));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(front));
        }
        hint
    }
}
