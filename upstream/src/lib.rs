//! The ruler: one request out, one stamped response in.
//!
//! Production traffic, shadow and replay all measure through [`Upstream`], so that their records are like for like. An
//! exchange is an [`Engine`] future (connection and pump), to be polled by its owner's own task, and an [`Answer`], the
//! reading end of the queue between them. Dropping either ends the exchange with the engine at once.
//!
//! It must not know who listens, what is exported, or what is kept.

mod calls;
mod clock;
mod connect;
mod edge;
mod failure;
mod frames;
mod http2;
mod injection;
mod link;
mod live;
mod observer;
mod parts;
mod patience;
mod pool;
mod pump;
mod queue;
mod requests;
mod stamped;
mod tls;
mod upload;
mod watch;

pub use calls::{ObservedCalls, Opener};
pub use clock::Clock;
pub use connect::{Connecting, Connector, TcpConnector, UnixConnector, prepare};
pub use edge::{Edge, EdgeStamps, Transport};
pub use failure::Failure;
pub use injection::UsageInjection;
pub use live::Live;
pub use observer::{Habits, Observed};
pub use parts::{PartSet, Parts};
pub use patience::PatienceLimits;
pub use pool::PoolLimits;
pub use queue::{Budget, Client, QueueLimits, QueueView, RelayBody, Standing};
pub use stamped::{Socket, SocketStamps, Stamped};
pub use tls::Tls;
pub use upload::{BodyError, RequestBody};

use calls::CallObserver;
use http::{Request, Response, Version, response};
use measure::Nanos;
use observer::Observer;
use patience::Patience;
use pool::Pool;
use pump::Pump;
use queue::{QueueReader, queue};
use requests::Requests;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use upload::{Upload, UploadState};
use watch::Watch;

/// Limits of every exchange with one engine.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How connections are made and kept.
    pub pool: PoolLimits,
    /// How long the engine may be silent.
    pub patience: PatienceLimits,
    /// How much may wait for the client.
    pub queue: QueueLimits,
    /// Largest request body, in bytes.
    pub body_bytes: u64,
}

/// One engine, measured.
pub struct Upstream {
    pool: Arc<Pool>,
    clock: Clock,
    limits: Limits,
    budget: Arc<Budget>,
    habits: Habits,
}

/// What of a request to the engine is measured.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made for each request, and moved at once"
)]
pub enum Observation {
    /// Nothing: it passes through.
    Nothing,
    /// It is one exchange.
    One(Observed),
    /// It is a call that carries many.
    Calls(ObservedCalls),
}

impl From<Option<Observed>> for Observation {
    fn from(observed: Option<Observed>) -> Self {
        observed.map_or(Self::Nothing, Self::One)
    }
}

/// The engine's side of an exchange: connection and pump. It does nothing unless it is polled; dropping it closes the
/// connection.
pub type Engine = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The engine's answer, to be awaited by the client's side.
#[must_use = "an answer that is dropped aborts its exchange"]
pub struct Answer(Option<QueueReader>);

impl Upstream {
    /// The engine behind `connector`. `budget` is shared by all queues of the process.
    pub fn new(
        connector: Arc<dyn Connector>,
        clock: Clock,
        limits: Limits,
        budget: Arc<Budget>,
    ) -> Self {
        let pool = Arc::new(Pool::new(connector, clock, limits.pool));
        Self {
            pool,
            clock,
            limits,
            budget,
            habits: Habits::default(),
        }
    }

    /// The same engine, of which this is known.
    #[must_use]
    pub fn with_habits(mut self, habits: Habits) -> Self {
        self.habits = habits;
        self
    }

    /// The engine's authority, `host:port`.
    pub fn authority(&self) -> &str {
        self.pool.authority()
    }

    /// The engine's place, for messages.
    pub fn place(&self) -> &str {
        self.pool.place()
    }

    /// The scheme of requests to it: `https` where TLS is spoken.
    pub fn scheme(&self) -> &'static str {
        if self.pool.speaks_tls() {
            "https"
        } else {
            "http"
        }
    }

    /// A new connection that is kept by nobody, for what is no exchange of requests and answers.
    ///
    /// # Errors
    /// If it can't be made, or not in time.
    pub async fn socket(&self) -> Result<Box<dyn Socket>, Failure> {
        self.pool.socket().await
    }

    /// Closes connections that have been idle for too long, as of `now`.
    pub fn evict(&self, now: Nanos) {
        self.pool.evict(now);
    }

    /// Begins an exchange: `request` must be as the engine is to see it (no hop-by-hop fields; in origin form, or, if its
    /// version is HTTP/2, in absolute form), and its version says what is spoken to the engine. What is not `observed` has no
    /// limits on the engine's silence either. `client` is told when bytes leave for it.
    pub fn begin(
        &self,
        request: Request<RequestBody>,
        observed: impl Into<Observation>,
        client: Arc<dyn Client>,
    ) -> (Engine, Answer) {
        let (writer, reader) = queue(self.limits.queue, &self.budget, Arc::clone(&client));
        let (upload, observer) = self.watch(observed.into(), client);
        let request = request.map(|body| Upload::new(body, upload.clone(), self.limits.body_bytes));
        let patience = if observer.is_some() {
            self.limits.patience
        } else {
            PatienceLimits::default()
        };
        let pump = Pump {
            pool: Arc::clone(&self.pool),
            clock: self.clock,
            patience: Patience::new(patience),
            upload,
            body_limit: self.limits.body_bytes,
            observer,
            usage: self.habits.usage.clone(),
            asking: None,
            strip: None,
            queue: writer,
        };
        (Box::pin(pump.run(request)), Answer(Some(reader)))
    }

    fn watch(
        &self,
        observed: Observation,
        client: Arc<dyn Client>,
    ) -> (UploadState, Option<Box<dyn Watch>>) {
        let (clock, habits) = (self.clock, self.habits.clone());
        match observed {
            Observation::Nothing => (UploadState::new(None), None),
            Observation::One(observed) => {
                let upload = UploadState::new(Some(observed.live.endpoint));
                let observer = Observer::new(observed, upload.clone(), clock, client);
                (upload, Some(Box::new(observer.with_habits(habits))))
            }
            Observation::Calls(calls) => {
                let upload = UploadState::of_requests(Requests::new(&calls));
                let observer = CallObserver::new(calls, upload.clone(), clock, client, habits);
                (upload, Some(Box::new(observer)))
            }
        }
    }
}

impl Future for Answer {
    type Output = Result<Response<RelayBody>, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(reader) = &mut this.0 else {
            return Poll::Pending;
        };
        match reader.poll_head(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
            Poll::Ready(Ok(head)) => match this.0.take() {
                Some(reader) => {
                    let body = reader.into_body(content_length(&head));
                    // On HTTP/2 a head can be the end, and gRPC makes a difference of it. On HTTP/1.1 the framing that the
                    // head promises has to follow it.
                    let body = match head.version {
                        Version::HTTP_2 => body.end_if_over(),
                        _ => body,
                    };
                    Poll::Ready(Ok(Response::from_parts(head, body)))
                }
                None => Poll::Pending,
            },
        }
    }
}

/// The length that the head promises, if it does, and if that is the end: on HTTP/2 trailers may follow.
fn content_length(head: &response::Parts) -> Option<u64> {
    if head.version == Version::HTTP_2 {
        return None;
    }
    head.headers
        .get(http::header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}
