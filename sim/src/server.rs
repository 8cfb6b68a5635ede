//! A server that speaks as the engine it plays, around the simulated one.
//!
//! HTTP/1.1 by hyper, over any transport. Known differences to the engines' bytes: `date` is the last field of a head, and
//! chunk sizes are written in upper case, as only TGI's are. Everything beyond the protocol is asked for by headers: see the modules
//! `request`, `fault` and `script`.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use wire::EngineKind;

use crate::answer::Voice;
use crate::clock::Clock;
use crate::driver::EngineQueue;
use crate::engine::{Engine, Load};
use crate::exchange::Book;
use crate::link::Link;
use crate::pace::{Pace, Pacing};
use crate::personality::Personality;
use crate::profile::Profile;
use crate::routes::Routes;
use crate::socket::{Noted, OnReset, just_drop, reset_tcp};
use crate::truth::{Live, Truth};

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which engine it plays.
    pub personality: Personality,
    /// The simulated deployment.
    pub profile: Profile,
    /// What its noise is drawn from.
    pub seed: u64,
    /// The clock of its truth.
    pub clock: Clock,
    /// How it waits.
    pub pacing: Pacing,
    /// The served model's name.
    pub model: String,
    /// `created` of all answers, in seconds since 1970. Constant, so that answers are the same in every run.
    pub created: u64,
    /// Whether usage objects tell how many prompt tokens came from the prefix cache where an engine leaves that to its
    /// operator (vLLM's `--enable-prompt-tokens-details`, SGLang's `--enable-cache-report`).
    pub prompt_tokens_details: bool,
    /// Records that the truth log keeps until they are taken out.
    pub truth_records: usize,
}

/// A running engine and what is needed to serve it. Cheap to clone; the engine stops with the last clone and the last
/// connection.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    routes: Arc<Routes>,
    book: Arc<Book>,
    /// Holds the task that runs the engine.
    _driver: JoinSet<()>,
}

impl Options {
    /// The usual options: vLLM.
    pub fn new(profile: Profile, clock: Clock) -> Self {
        Self {
            personality: Personality::of(EngineKind::Vllm),
            profile,
            seed: 0,
            clock,
            pacing: Pacing::default(),
            model: "sim-8b".to_owned(),
            created: 1_796_040_000,
            prompt_tokens_details: true,
            truth_records: 100_000,
        }
    }
}

impl Server {
    /// Starts the engine. Has to be called inside a tokio runtime.
    pub fn start(options: Options) -> Self {
        let Options { clock, pacing, .. } = &options;
        let engine = Engine::new(options.profile.clone(), options.seed);
        let pace = Pace::new(clock.clone(), *pacing);
        let (queue, driver) = EngineQueue::new(engine, clock.clone(), pace);
        let book = Arc::new(Book::new(clock.clone(), options.truth_records));
        let mut tasks = JoinSet::new();
        tasks.spawn(driver.run());
        let voice = Voice {
            personality: options.personality,
            fingerprint: options.personality.fingerprint(options.profile.name),
            model: options.model,
            created: options.created,
            prompt_tokens_details: options.prompt_tokens_details,
        };
        let routes = Routes::new(
            voice,
            options.profile,
            queue,
            (Arc::clone(&book), options.pacing),
        );
        let shared = Shared {
            routes: Arc::new(routes),
            book,
            _driver: tasks,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// What was emitted so far.
    pub fn truth(&self) -> &Truth {
        &self.shared.book.truth
    }

    /// Counts at this moment.
    pub fn live(&self) -> Live {
        self.shared.book.live()
    }

    /// What the engine holds at this moment.
    pub fn load(&self) -> Load {
        self.shared.routes.load()
    }

    /// Accepts connections until `shutdown` resolves. Then those that are open are closed at once, and what they were
    /// busy with ends as [`Stopped`](crate::Ended::Stopped).
    ///
    /// # Errors
    /// When no connection can be accepted.
    pub async fn serve(
        &self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let mut shutdown = pin!(shutdown);
        let mut connections = JoinSet::new();
        let outcome = loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break Ok(()),
                Some(ended) = connections.join_next(), if !connections.is_empty() => raise(ended),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        // A token must not wait for the one before it to be acknowledged.
                        let _ = stream.set_nodelay(true);
                        connections.spawn(self.clone().connection(stream, reset_tcp));
                    }
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => break Err(error),
                },
            }
        };
        self.shared.book.stopping.store(true, Ordering::Relaxed);
        connections.shutdown().await;
        self.shared.book.stopping.store(false, Ordering::Relaxed);
        outcome
    }

    /// Serves one connection until it ends. Resets are mere drops here: see [`Server::serve`] for real ones.
    pub fn serve_connection<IO>(&self, io: IO) -> impl Future<Output = ()> + Send + use<IO>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.clone().connection(io, just_drop)
    }

    async fn connection<IO>(self, io: IO, on_reset: OnReset<IO>)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let book = &self.shared.book;
        let link = Arc::new(Link::new(book.connections.fetch_add(1, Ordering::Relaxed)));
        let io = Noted::new(io, Arc::clone(&link), Arc::clone(book), on_reset);
        let title_case = self.shared.routes.voice.personality.title_case();
        let handle = service_fn(move |request| {
            let (routes, link) = (Arc::clone(&self.shared.routes), Arc::clone(&link));
            async move { routes.answer(&link, request).await }
        });
        // How a connection ends is in the records of its exchanges.
        let _ = http1::Builder::new()
            .title_case_headers(title_case)
            .serve_connection(TokioIo::new(io), handle)
            .await;
    }
}

/// A panic of the simulator is the caller's to see.
fn raise(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
