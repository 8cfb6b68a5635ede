//! From a client's request to the answer that it gets: the engine's, or a refusal of ours.

use crate::accepted::{ClientSide, Tally};
use crate::answer::{AnswerBody, Answering};
use crate::caller::Caller;
use crate::calls;
use crate::connection::BodyPace;
use crate::driven;
use crate::expectation;
use crate::grpc;
use crate::guard::Fault;
use crate::hop;
use crate::interim;
use crate::ledger::Ledger;
use crate::paced_body::PacedBody;
use crate::refusal::Refusal;
use crate::routes::Routes;
use crate::stalled::{TakingPace, stalled};
use config::{Checked, EngineProtocol};
use h2::Reason;
use http::{Method, Request, Response, StatusCode, Version, header, request};
use http_body::Body;
use http_body_util::{BodyExt, Either};
use hyper::body::Incoming;
use measure::{End, Exchange, Identity, InFlight, Role};
use probe::Told;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio_util::sync::CancellationToken;
use upstream::{Client, Failure, Live, Observation, Observed, RelayBody, RequestBody, Upstream};
use wire::{Endpoint, EngineKind, Passing};

/// What all connections share to serve requests.
pub(crate) struct Relay {
    pub(crate) upstream: Upstream,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) in_flight: Arc<InFlight>,
    told: Arc<Told>,
    /// By the operator's word.
    kind: Option<EngineKind>,
    pub(crate) body_limit: u64,
    body_pace: BodyPace,
    taking: TakingPace,
    /// `limits.http2_new_streams`
    new_streams: u32,
    protocol: EngineProtocol,
    routes: Routes,
    /// Shared by all ranks.
    next_id: Arc<AtomicU64>,
}

/// What of a request is measured.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each request, and moved at once"
)]
enum Measured {
    Nothing,
    One(Exchange),
    /// A call of gRPC with many exchanges in it.
    Calls(Endpoint),
}

impl Relay {
    pub(crate) fn new(
        upstream: Upstream,
        ledger: Arc<Ledger>,
        in_flight: Arc<InFlight>,
        told: Arc<Told>,
        config: &Checked,
    ) -> Self {
        Self {
            upstream,
            ledger,
            in_flight,
            told,
            kind: config.engine.kind.and_then(EngineKind::of),
            body_limit: config.limits.body_bytes,
            body_pace: BodyPace {
                pause: config.limits.body_pause,
                least: config.limits.body_rate,
            },
            taking: TakingPace {
                every: config.limits.client_write,
                least: config.limits.client_rate,
            },
            new_streams: config.limits.http2_new_streams,
            protocol: config.upstream.protocol,
            routes: Routes::new(&config.routes),
            next_id: Arc::default(),
        }
    }

    /// The ids of exchanges come from `ids`.
    pub(crate) fn with_ids(mut self, ids: Arc<AtomicU64>) -> Self {
        self.next_id = ids;
        self
    }

    async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        side: Arc<ClientSide>,
    ) -> Response<AnswerBody> {
        let answering = Answering::new(Arc::clone(&side));
        let client = Arc::new(Caller::new(side));
        let measured = self.begin(&request, &client);
        let is_call = grpc::is_call(request.version(), request.headers());
        let response = match self.relay(request, measured, Arc::clone(&client)).await {
            Ok(response) => response.map(Either::Left),
            Err(refusal) => {
                // What its bytes were refused for was counted where they were read.
                if client.broken().is_none() {
                    self.ledger.refused(refusal.code);
                }
                tracing::debug!(code = refusal.code, message = refusal.message, "refused");
                let answer = if is_call {
                    grpc::refuse(&refusal)
                } else {
                    refusal.respond()
                };
                answer.map(Either::Right)
            }
        };
        response.map(|body| answering.with(body))
    }

    /// What is measured of a request, if its route generates.
    fn begin(&self, request: &Request<Incoming>, client: &Caller) -> Measured {
        match self.generates(request) {
            None => {
                self.ledger.passed(Passing::of(request.uri().path()));
                Measured::Nothing
            }
            Some(endpoint @ Endpoint::TritonGrpc) => Measured::Calls(endpoint),
            Some(endpoint) => Measured::One(self.arrived(endpoint, client)),
        }
    }

    /// An exchange whose request has just arrived.
    pub(crate) fn arrived(&self, endpoint: Endpoint, client: &Caller) -> Exchange {
        let id = self.next_id.fetch_add(1, Relaxed);
        let identity = Identity {
            id,
            role: Role::Production,
            endpoint,
        };
        let arrival = client.last_read();
        let mut exchange = Exchange::begin(identity, arrival, Arc::clone(&self.in_flight));
        exchange.on_engine_load(self.told.load(arrival));
        exchange
    }

    /// The generating route that a request asks for. A method of gRPC generates where a call is made and passed on as one.
    fn generates(&self, request: &Request<Incoming>) -> Option<Endpoint> {
        let is_call = self.protocol != EngineProtocol::Http1
            && grpc::is_call(request.version(), request.headers());
        self.routes
            .of(request.method().as_str(), request.uri().path())
            .filter(|endpoint| endpoint.is_grpc() == is_call)
    }

    async fn relay(
        self: &Arc<Self>,
        request: Request<Incoming>,
        measured: Measured,
        client: Arc<Caller>,
    ) -> Result<Response<RelayBody>, Refusal> {
        if let Err(refusal) = self.admit(&request) {
            if let Measured::One(exchange) = measured {
                self.ledger
                    .end_refused(exchange, client.last_read(), End::RejectedLimit);
            }
            return Err(refusal);
        }
        let asked = request.method().clone();
        let by_http2 = request.version() == Version::HTTP_2;
        let request = self.forwarded(request, &client);
        let observed = match measured {
            Measured::Nothing => Observation::Nothing,
            Measured::One(exchange) => Observation::One(self.observe(exchange)),
            Measured::Calls(endpoint) => {
                Observation::Calls(calls::observed(self, &client, endpoint))
            }
        };
        let to_client: Arc<dyn Client> = client.clone();
        let (engine, answer) = self.upstream.begin(request, observed, to_client);
        if driven::adopt(engine).is_err() {
            // Only a service that runs outside `Driven` could get here; the engine's side is dropped and its record says so.
            tracing::error!("a request was served outside the task that drives its exchange");
        }
        let mut answer = pin!(answer);
        let answer = poll_fn(|cx| {
            client.interim().wake_on_next(cx);
            answer.as_mut().poll(cx)
        });
        let (mut head, body) = answer
            .await
            .map_err(|failure| refusal(&failure, client.broken()))?
            .into_parts();
        if by_http2 {
            driven::end_with(stalled(body.view(), self.taking, client));
        }
        hop::to_client(&mut head, &asked);
        Ok(Response::from_parts(head, body))
    }

    /// The request as the engine is to get it. What it says ahead of its answer is listened for.
    fn forwarded(&self, request: Request<Incoming>, caller: &Arc<Caller>) -> Request<RequestBody> {
        let by_http1 = request.version() == Version::HTTP_11;
        let said = CancellationToken::new();
        let mut request = self.with_body(request, caller, &said);
        if by_http1 {
            let caller = Arc::clone(caller);
            hyper::ext::on_informational(&mut request, move |word| {
                if word.status() == StatusCode::CONTINUE {
                    said.cancel();
                } else if interim::passes(word.status()) {
                    caller.interim().push(word.status(), word.headers());
                }
            });
        }
        request
    }

    /// The request with the body that the engine is to get, and when: after its word, where that is `said`.
    fn with_body(
        &self,
        request: Request<Incoming>,
        caller: &Arc<Caller>,
        said: &CancellationToken,
    ) -> Request<RequestBody> {
        let waits = expectation::stands(request.version(), request.headers());
        // A call of gRPC may have nothing to say for as long as it listens.
        let may_be_silent = grpc::is_call(request.version(), request.headers());
        let (mut head, body) = request.into_parts();
        self.address(&mut head);
        if body.is_end_stream() {
            return Request::from_parts(head, RequestBody::new(body.map_err(Into::into)));
        }
        if head.version != Version::HTTP_2 {
            hop::frame(&mut head.headers);
        }
        if may_be_silent {
            return Request::from_parts(head, RequestBody::new(body.map_err(Into::into)));
        }
        let body = PacedBody::new(body, self.body_pace, Arc::clone(caller));
        let body = if waits && head.version != Version::HTTP_2 {
            expectation::held(body, said)
        } else {
            RequestBody::new(body)
        };
        Request::from_parts(head, body)
    }

    /// Makes `head` one that the engine is to see, of the version that it is spoken to by.
    fn address(&self, head: &mut request::Parts) {
        let engine = self.upstream.authority();
        let by_http2 = match self.protocol {
            EngineProtocol::Auto => grpc::is_call(head.version, &head.headers),
            EngineProtocol::Http1 => false,
            EngineProtocol::Http2 => true,
        };
        if by_http2 {
            hop::to_engine_by_http2(head, self.upstream.scheme(), engine);
        } else {
            hop::to_engine(head, engine);
        }
    }

    /// What can be refused by the head alone.
    fn admit(&self, request: &Request<Incoming>) -> Result<(), Refusal> {
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            return Err(Refusal::of(Fault::MethodRefused));
        }
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length: Option<u64> = length.and_then(|value| value.to_str().ok()?.parse().ok());
        match length {
            Some(length) if length > self.body_limit => {
                Err(Refusal::body_too_large(self.body_limit))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn observe(&self, exchange: Exchange) -> Observed {
        let identity = exchange.identity();
        let live = Live::new(
            identity.id,
            identity.endpoint,
            exchange.arrival(),
            exchange.at_arrival(),
        );
        let live = Arc::new(live);
        self.ledger.opened(&live);
        Observed {
            exchange,
            recorder: self.ledger.clone(),
            live,
            engine: self.kind.or_else(|| self.told.facts()?.engine),
        }
    }
}

/// Why no answer of the engine's came: a body that broke by its own fault says more than that it broke.
fn refusal(failure: &Failure, fault: Option<Fault>) -> Refusal {
    match (failure, fault) {
        (Failure::UploadBroke, Some(fault)) => Refusal::of(fault),
        _ => Refusal::failed(failure),
    }
}

/// What only HTTP/2 leaves for us to refuse: the library behind checks everything else of a head.
fn check_http2(request: &Request<Incoming>) -> Result<(), Fault> {
    let fields = request.headers();
    if fields.get_all(header::CONTENT_LENGTH).iter().count() > 1 {
        return Err(Fault::Length);
    }
    let mut hosts = fields.get_all(header::HOST).iter();
    let Some(host) = hosts.next() else {
        return Ok(());
    };
    let authority = request.uri().authority().map(|name| name.as_str());
    let is_same =
        authority.is_none_or(|name| host.as_bytes().eq_ignore_ascii_case(name.as_bytes()));
    match (hosts.next(), is_same) {
        (Some(_), _) => Err(Fault::HostCount),
        (None, false) => Err(Fault::Authority),
        (None, true) => Ok(()),
    }
}

/// The relay, for the requests of one client's connection.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) relay: Arc<Relay>,
    pub(crate) client: Arc<ClientSide>,
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = Response<AnswerBody>;
    /// Resets the stream, with its reason.
    type Error = h2::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, h2::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let Self { relay, client } = self.clone();
        if request.version() != Version::HTTP_2 {
            return Box::pin(async move { Ok(relay.answer(request, client).await) });
        }
        let refused = if !client.on_new_stream() {
            Some((Fault::NewStreams(relay.new_streams), Reason::REFUSED_STREAM))
        } else if let Err(fault) = check_http2(&request) {
            Some((fault, Reason::PROTOCOL_ERROR))
        } else {
            None
        };
        Box::pin(async move {
            if let Some((fault, reason)) = refused {
                client.on_refused(fault);
                return Err(reason.into());
            }
            Ok(relay.answer(request, client).await)
        })
    }
}
