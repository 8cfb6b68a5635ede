//! One request to a target, measured by the ruler that production is measured by.
//!
//! The arrival of an exchange is the moment at which it is sent. The answer is taken as it comes and thrown away; a redirect
//! is an answer like any other, and nothing is sent where it points to.

use http::header::{CONTENT_TYPE, HOST, HeaderValue};
use http::{HeaderMap, HeaderName, Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use measure::{Exchange, Identity, InFlight, Nanos, Progress, Record, Recorder, Role};
use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use upstream::{Answer, Budget, Clock, Connector, Limits, Live, Observed, RequestBody, Upstream};
use upstream::{PatienceLimits, PoolLimits, QueueLimits};
use wire::{Endpoint, EngineKind};

/// Marks what no user sent, so that whoever meets it can tell: its value is the run's name.
pub const MARK: HeaderName = HeaderName::from_static("x-loadproof-replay");

/// The queue of an exchange: what reads it never waits, so that it is never full.
const QUEUE: QueueLimits = QueueLimits {
    own: 256 << 10,
    most: 8 << 20,
};

/// What all queues share beyond their own.
const QUEUES: usize = 256 << 20;

/// A request as it is to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The route.
    pub endpoint: Endpoint,
    /// The target's path for it.
    pub path: String,
    /// The body, which is JSON.
    pub body: Vec<u8>,
}

/// How a target is reached.
#[derive(Debug, Clone)]
pub struct Reaching {
    /// Fields of every request: the target's own key, for one.
    pub headers: HeaderMap,
    /// What the engine is, as far as known.
    pub engine: Option<EngineKind>,
    /// How long it may be silent.
    pub patience: PatienceLimits,
    /// How connections are made and kept.
    pub pool: PoolLimits,
}

/// Sends requests to one target.
pub struct Sender {
    upstream: Upstream,
    clock: Clock,
    in_flight: Arc<InFlight>,
    reaching: Reaching,
    role: Role,
    next_id: AtomicU64,
    progress: Arc<Tokens>,
}

/// Tokens that came, of all exchanges.
#[derive(Debug, Default)]
pub struct Tokens(AtomicU64);

/// Where the record of one exchange is put.
#[derive(Default)]
struct Slot {
    record: Mutex<Option<Record>>,
    tokens: Arc<Tokens>,
}

impl Tokens {
    /// How many so far.
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Sender {
    /// To what `connector` reaches; its exchanges are of `role`.
    pub fn new(
        connector: Arc<dyn Connector>,
        clock: Clock,
        role: Role,
        reaching: Reaching,
    ) -> Self {
        let limits = Limits {
            pool: reaching.pool,
            patience: reaching.patience,
            queue: QUEUE,
            body_bytes: u64::MAX,
        };
        Self {
            upstream: Upstream::new(connector, clock, limits, Budget::new(QUEUES)),
            clock,
            in_flight: Arc::new(InFlight::new()),
            reaching,
            role,
            next_id: AtomicU64::new(1),
            progress: Arc::default(),
        }
    }

    /// The clock of its stamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// What came so far, of all exchanges.
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.progress)
    }

    /// Sends a request that arrived at `arrival`, and takes its whole answer. Where `give_up` is ready before, the exchange
    /// ends as one whose client left.
    ///
    /// `None` if nothing was measured, which can't be but for a fault of ours.
    pub async fn send(
        &self,
        outgoing: Outgoing,
        arrival: Nanos,
        give_up: impl Future<Output = ()>,
    ) -> Option<Record> {
        let slot = Arc::new(Slot {
            record: Mutex::new(None),
            tokens: self.tokens(),
        });
        let observed = self.observed(outgoing.endpoint, arrival, &slot);
        let request = self.request(outgoing);
        {
            let (engine, answer) = self.upstream.begin(request, Some(observed), Arc::new(()));
            tokio::select! {
                _ = async { tokio::join!(engine, drain(answer)) } => {}
                () = give_up => {}
            }
        }
        slot.record.lock().take()
    }

    fn observed(&self, endpoint: Endpoint, arrival: Nanos, slot: &Arc<Slot>) -> Observed {
        let identity = Identity {
            id: self.next_id.fetch_add(1, Relaxed),
            role: self.role,
            endpoint,
        };
        let (id, in_flight) = (identity.id, Arc::clone(&self.in_flight));
        let exchange = Exchange::begin(identity, arrival, in_flight);
        let live = Live::new(id, endpoint, arrival, exchange.at_arrival());
        Observed {
            exchange,
            recorder: Arc::clone(slot) as Arc<dyn Recorder>,
            live: Arc::new(live),
            engine: self.reaching.engine,
        }
    }

    fn request(&self, outgoing: Outgoing) -> Request<RequestBody> {
        let body = Full::new(outgoing.body.into());
        let mut request = Request::new(RequestBody::new(body.map_err(|never| match never {})));
        *request.method_mut() = Method::POST;
        // A path that is none asks for the root, and the answer says so.
        *request.uri_mut() = outgoing.path.parse::<Uri>().unwrap_or_default();
        let headers = request.headers_mut();
        headers.extend(self.reaching.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(host) = HeaderValue::from_str(self.upstream.authority()) {
            headers.insert(HOST, host);
        }
        request
    }
}

/// Takes an answer to its end.
async fn drain(answer: Answer) {
    let Ok(response) = answer.await else {
        return;
    };
    let mut body = response.into_body();
    while let Some(Ok(_)) = body.frame().await {}
}

impl Recorder for Slot {
    fn progress(&self, progress: &Progress<'_>) {
        self.tokens.0.fetch_add(progress.tokens(), Relaxed);
    }

    fn record(&self, record: Record) {
        self.tokens.0.fetch_add(record.uncounted_tokens(), Relaxed);
        *self.record.lock() = Some(record);
    }

    fn connected(&self, _took: Nanos) {}

    fn panicked(&self) {}
}
