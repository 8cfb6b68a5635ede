//! Connections to the engine: one at a time for an exchange, kept a little while between them.
//!
//! A kept connection is polled by nobody. Before it is used again it is polled once, so that a close that has arrived is
//! seen; a close still on its way is not, and then the request fails (it may have been begun, so it is not sent twice).
//! Idle connections are kept for less time than engines keep theirs.

use crate::parts::Parts;
use crate::upload::Upload;
use crate::{Clock, Connector, Failure, Socket, SocketStamps, Stamped};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use measure::Nanos;
use parking_lot::Mutex;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

type Sender = SendRequest<Upload>;
type EngineConnection = Connection<TokioIo<Stamped<Box<dyn Socket>>>, Upload>;

const CONNECTION: usize = 0;
const PUMP: usize = 1;

/// Most bytes that the connection reads ahead, in bytes.
const READ_BUFFER: usize = 64 * 1024;

/// One connection to the engine, polled by whoever uses it.
pub(crate) struct Link {
    connection: Option<Pin<Box<EngineConnection>>>,
    pub(crate) sender: Sender,
    pub(crate) stamps: Arc<SocketStamps>,
    pub(crate) reused: bool,
    /// The answer is an event stream: not kept after it, see [`Pool::give_back`].
    pub(crate) carries_stream: bool,
    parts: Parts<2>,
}

impl Link {
    async fn open(connector: &dyn Connector, clock: Clock) -> io::Result<Self> {
        let socket = Stamped::new(connector.connect().await?, clock);
        let stamps = socket.stamps();
        let (sender, connection) = Builder::new()
            .preserve_header_case(true)
            .max_buf_size(READ_BUFFER)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(io::Error::other)?;
        Ok(Self {
            connection: Some(Box::pin(connection)),
            sender,
            stamps,
            reused: false,
            carries_stream: false,
            parts: Parts::new(),
        })
    }

    /// Runs `pump` (given the sender) with the connection turning beside it, each woken by its own waker: the connection
    /// first, so that what it has read is there when `pump` looks; until neither has more.
    pub(crate) async fn with<T>(
        &mut self,
        mut pump: impl FnMut(&mut Sender, &mut Context<'_>) -> Poll<T>,
    ) -> T {
        let Self {
            connection,
            parts,
            sender,
            ..
        } = self;
        parts.mark(PUMP);
        poll_fn(|cx| {
            parts.poll(cx, |woken| {
                if woken.has(CONNECTION) {
                    turn(connection, parts);
                }
                // The connection may have woken the pump in this very turn; polling a pump that has nothing is cheap.
                pump(sender, &mut Context::from_waker(parts.waker(PUMP)))
            })
        })
        .await
    }

    /// Polls the connection once, so that a close that has arrived is seen.
    async fn look(&mut self) {
        self.parts.mark(CONNECTION);
        self.with(|_, _| Poll::Ready(())).await;
    }

    /// Whether it can carry another exchange.
    fn is_usable(&self) -> bool {
        self.connection.is_some() && self.sender.is_ready()
    }
}

fn turn(connection: &mut Option<Pin<Box<EngineConnection>>>, parts: &Parts<2>) {
    let Some(running) = connection else { return };
    if running
        .as_mut()
        .poll(&mut Context::from_waker(parts.waker(CONNECTION)))
        .is_ready()
    {
        // Its error reaches the pump through the request or the body, with more to tell than here.
        *connection = None;
    }
}

struct Idle {
    link: Link,
    since: Nanos,
}

/// How connections are made and kept.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// `upstream.connect_timeout`
    pub connect_timeout: Duration,
    /// `upstream.idle_timeout`
    pub idle_timeout: Duration,
    /// `upstream.max_idle`
    pub max_idle: usize,
}

pub(crate) struct Pool {
    connector: Arc<dyn Connector>,
    clock: Clock,
    limits: PoolLimits,
    idle: Mutex<Vec<Idle>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<dyn Connector>, clock: Clock, limits: PoolLimits) -> Self {
        Self {
            connector,
            clock,
            limits,
            idle: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn authority(&self) -> &str {
        self.connector.authority()
    }

    /// The connection used last that still works, or a new one. `now` decides which are too old.
    pub(crate) async fn checkout(&self, now: Nanos) -> Result<Link, Failure> {
        self.evict(now);
        loop {
            let Some(Idle { mut link, .. }) = self.idle.lock().pop() else {
                break;
            };
            link.look().await;
            if link.is_usable() {
                link.reused = true;
                return Ok(link);
            }
        }
        self.connect().await
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Result<Link, Failure> {
        let limit = self.limits.connect_timeout;
        let authority = || self.connector.authority().to_owned();
        match tokio::time::timeout(limit, Link::open(&*self.connector, self.clock)).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(source)) => Err(Failure::Connect {
                authority: authority(),
                source: Arc::new(source),
            }),
            Err(_) => Err(Failure::ConnectTimeout {
                authority: authority(),
                limit,
            }),
        }
    }

    /// Takes a connection back once it is ready for another exchange; drops it if it will not be.
    ///
    /// After an event stream it is dropped: llama.cpp's server closes the connection some milliseconds after the stream's
    /// end, although its head said `keep-alive`. A request sent in between would fail, and a POST is not sent twice.
    /// Connecting anew takes a fraction of a millisecond, and is no part of TTFT.
    pub(crate) async fn give_back(&self, mut link: Link) {
        if link.carries_stream {
            return;
        }
        link.parts.mark(CONNECTION);
        let ready = link.with(|sender, cx| sender.poll_ready(cx)).await;
        if ready.is_err() || !link.is_usable() {
            return;
        }
        let since = link.stamps.last_read();
        let mut idle = self.idle.lock();
        if idle.len() < self.limits.max_idle {
            idle.push(Idle { link, since });
        }
    }

    /// Closes what has been idle for too long.
    pub(crate) fn evict(&self, now: Nanos) {
        let limit = Nanos(u64::try_from(self.limits.idle_timeout.as_nanos()).unwrap_or(u64::MAX));
        self.idle
            .lock()
            .retain(|idle| now.since(idle.since) < limit);
    }
}
