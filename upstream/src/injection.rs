//! Usage injection: streams are made to ask for usage, and the client does not see it. Off unless the operator wants it.
//!
//! What is added and taken out again, and for which engines, `wire` knows. Here is when: only on a route whose answers were
//! seen to lack usage. The first stream that says nothing of usage goes as it is; if its answer states usage anyway,
//! nothing is ever added, since the clients are used to it.
//!
//! An engine that refuses such a request (400 or 422) gets it once more, as the client sent it: it has not begun to
//! generate, and the client must not pay for our wish. If it takes it then, the route is left alone from there on.
//!
//! Limit: a body above [`INJECT_BODY_BYTES`] passes as it is, which is counted, and so does one that is compressed or waits for a 100.

use crate::Failure;
use crate::pump::Pump;
use crate::upload::Upload;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap,
    HeaderValue, TRANSFER_ENCODING,
};
use http::{Request, StatusCode, response};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::task::Poll;
use wire::{
    Answer, AskedUsage, CountSource, Endpoint, EngineKind, FinishState, RequestFacts, RequestScan,
    UsageStrip, ask_for_usage,
};

/// Largest request body that is held to be looked through and added to, in bytes.
const INJECT_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Whether an engine is to be asked for usage, by what is known of it.
#[derive(Debug, Default)]
pub struct UsageInjection(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    kind: Option<EngineKind>,
    completions: Route,
    chat: Route,
}

/// What is known of a route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Route {
    /// No answer to a stream that said nothing of usage has been seen.
    #[default]
    Unseen,
    /// Its answers lack usage.
    Lacks,
    /// Its answers state usage unasked, or it refused to be asked.
    Alone,
}

/// How one exchange asks.
pub(crate) struct Asking {
    strip: UsageStrip,
    /// As the client sent it, until it is needed.
    original: Option<Request<Bytes>>,
}

// ---- UsageInjection

impl UsageInjection {
    /// The engine is of this kind, as far as known; what was learned of another is forgotten.
    pub fn set_engine(&self, kind: Option<EngineKind>) {
        let mut known = self.0.lock();
        if known.kind != kind {
            *known = Known {
                kind,
                ..Known::default()
            };
        }
    }

    /// The engine was restarted or changed: what was learned of its routes may no longer hold.
    pub fn forget_routes(&self) {
        let mut known = self.0.lock();
        *known = Known {
            kind: known.kind,
            ..Known::default()
        };
    }

    /// The engine's kind, if this route is to be asked.
    fn wanted(&self, endpoint: Endpoint) -> Option<EngineKind> {
        let mut known = self.0.lock();
        let lacks = known
            .route(endpoint)
            .is_some_and(|route| *route == Route::Lacks);
        known.kind.filter(|_| lacks)
    }

    /// An exchange whose request was sent as it came has ended.
    pub(crate) fn learn(&self, endpoint: Endpoint, facts: &RequestFacts, answer: &Answer) {
        let unsaid = facts.include_usage.is_none() && facts.continuous_usage.is_none();
        let whole = answer.streamed && answer.state == FinishState::Complete;
        if !(facts.stream == Some(true) && facts.whole && unsaid && whole) {
            return;
        }
        if let Some(route) = self.0.lock().route(endpoint)
            && *route == Route::Unseen
        {
            *route = match answer.output_source {
                CountSource::Usage => Route::Alone,
                _ => Route::Lacks,
            };
        }
    }

    fn leave_alone(&self, endpoint: Endpoint) {
        if let Some(route) = self.0.lock().route(endpoint) {
            *route = Route::Alone;
        }
        tracing::warn!(
            endpoint = endpoint.as_str(),
            "the engine refuses requests that ask for usage: no more is asked there (upstream.usage)"
        );
    }
}

impl Known {
    fn route(&mut self, endpoint: Endpoint) -> Option<&mut Route> {
        match endpoint {
            Endpoint::Completions => Some(&mut self.completions),
            Endpoint::ChatCompletions => Some(&mut self.chat),
            _ => None,
        }
    }
}

// ---- Pump: the request

impl Pump {
    /// The request as it is to be sent: made to ask for usage, where that is wanted.
    pub(crate) async fn asking(
        &mut self,
        mut request: Request<Upload>,
    ) -> Result<Request<Upload>, Failure> {
        let Some((kind, endpoint)) = self.wants_usage(request.headers()) else {
            return Ok(request);
        };
        let Some(body) = self.collect(request.body_mut()).await? else {
            if let Some(observer) = &mut self.observer {
                observer.on_usage_not_asked();
            }
            return Ok(request);
        };
        let mut scan = RequestScan::new(endpoint);
        scan.push(&body);
        let facts = scan.finish();
        let Some(asked) = ask_for_usage(&body, kind, endpoint, &facts) else {
            request.body_mut().put_back(body);
            return Ok(request);
        };
        let AskedUsage { body: with, strip } = asked;
        self.asking = Some(Asking {
            strip,
            original: Some(copy(&request, body)),
        });
        request.body_mut().replace(with.into(), facts);
        frame(&mut request);
        // What is compressed could not be taken out again. No engine compresses event streams; something above it may.
        let identity = HeaderValue::from_static("identity");
        request.headers_mut().insert(ACCEPT_ENCODING, identity);
        Ok(request)
    }

    fn wants_usage(&self, fields: &HeaderMap) -> Option<(EngineKind, Endpoint)> {
        let endpoint = self.observer.as_ref()?.endpoint();
        let kind = self.usage.as_ref()?.wanted(endpoint)?;
        let is_json = fields
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json"));
        let is_plain = !fields.contains_key(CONTENT_ENCODING) && !fields.contains_key(EXPECT);
        (is_json && is_plain).then_some((kind, endpoint))
    }

    /// The whole body; `None` if it is too long, and then it is as if it had not been touched.
    async fn collect(&mut self, upload: &mut Upload) -> Result<Option<Bytes>, Failure> {
        let queue = &self.queue;
        let collected = poll_fn(|cx| {
            if let Poll::Ready(collected) = upload.poll_collect(INJECT_BODY_BYTES, cx) {
                return Poll::Ready(collected.map_err(|_broke| Failure::UploadBroke));
            }
            queue.poll_gone(cx).map(|()| Err(Failure::Abandoned))
        });
        collected.await
    }

    /// If the engine refused to be asked: the request as the client sent it. Once.
    pub(crate) fn unasked(&mut self, status: StatusCode) -> Option<Request<Upload>> {
        let refuses = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
        );
        let Asking { strip, original } = self.asking.take()?;
        match original {
            Some(original) => {
                self.asking = Some(Asking {
                    strip,
                    original: None,
                });
                refuses.then(|| original.map(|body| self.upload.again(body)))
            }
            // As the client had it, it is refused as well: the fault is the client's.
            None if refuses => None,
            None => {
                if let (Some(usage), Some(observer)) = (&self.usage, &self.observer) {
                    usage.leave_alone(observer.endpoint());
                }
                None
            }
        }
    }

    /// The answer's head came: from here on usage is taken out, if it was asked for and can be.
    pub(crate) fn strip_usage(&mut self, head: &mut response::Parts, is_stream: bool) {
        let Some(asking) = self.asking.take() else {
            return;
        };
        if let Some(observer) = &mut self.observer {
            observer.on_usage_injected();
        }
        let encoded = head.headers.get(CONTENT_ENCODING);
        let is_plain =
            encoded.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
        if head.status == StatusCode::OK && is_stream && is_plain {
            head.headers.remove(CONTENT_LENGTH);
            self.strip = Some(asking.strip);
        }
    }
}

/// The same request with a body that is kept.
fn copy(request: &Request<Upload>, body: Bytes) -> Request<Bytes> {
    let mut copy = Request::new(body);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    *copy.extensions_mut() = request.extensions().clone();
    copy
}

/// States the length that the body has now.
fn frame(request: &mut Request<Upload>) {
    let length = http_body::Body::size_hint(request.body()).exact();
    let fields = request.headers_mut();
    fields.remove(TRANSFER_ENCODING);
    if let Some(length) = length {
        fields.insert(CONTENT_LENGTH, length.into());
    }
}
