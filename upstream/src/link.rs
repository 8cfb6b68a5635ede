//! One connection to the engine, polled by whoever uses it.
//!
//! It carries one exchange at a time, on HTTP/2 too: so its socket's stamps are that exchange's, dropping it is the end of
//! that exchange and of nothing else, and no exchange waits behind another one's bytes. What is saved by sharing is a
//! connect now and then, between two processes on one machine.

use crate::http2::Http2;
use crate::parts::Parts;
use crate::upload::Upload;
use crate::{Clock, Connector, Socket, SocketStamps, Stamped, Transport};
use futures_util::future::Either;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What a connection runs on.
pub(crate) type EngineIo = TokioIo<Stamped<Box<dyn Socket>>>;

/// The answer's head, or the request back if none of it was written.
pub(crate) type Sent = Result<Response<Incoming>, TrySendError<Request<Upload>>>;

const CONNECTION: usize = 0;
const PUMP: usize = 1;

/// Most bytes that a connection of HTTP/1.1 reads ahead, in bytes.
const READ_BUFFER: usize = 32 * 1024;

/// What is spoken on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// With prior knowledge, or agreed on by TLS.
    Http2,
}

/// One connection to the engine.
pub(crate) struct Link {
    running: Running,
    sender: Sender,
    pub(crate) stamps: Arc<SocketStamps>,
    pub(crate) reused: bool,
    /// The answer is an event stream: not kept after it, see [`crate::pool::Pool::give_back`].
    pub(crate) carries_stream: bool,
    parts: Parts<2>,
}

/// The connection's own side, until it has ended.
enum Running {
    Http1(Option<Pin<Box<http1::Connection<EngineIo, Upload>>>>),
    Http2(Http2),
}

enum Sender {
    Http1(http1::SendRequest<Upload>),
    Http2(http2::SendRequest<Upload>),
}

impl Protocol {
    /// What a request of this version is sent by.
    pub(crate) fn of(version: Version) -> Self {
        if version == Version::HTTP_2 {
            Self::Http2
        } else {
            Self::Http1
        }
    }
}

/// A new connection, by TLS where that is spoken.
pub(crate) async fn transport(
    connector: &dyn Connector,
    clock: Clock,
    protocol: Protocol,
) -> io::Result<Transport> {
    let socket = connector.connect().await?;
    match connector.tls() {
        Some(tls) => tls.begin(socket, clock, protocol).await,
        None => Ok(socket.into()),
    }
}

impl Link {
    pub(crate) async fn open(
        connector: &dyn Connector,
        clock: Clock,
        protocol: Protocol,
    ) -> io::Result<Self> {
        let Transport { socket, edge } = transport(connector, clock, protocol).await?;
        let (stamps, running, sender) = match protocol {
            Protocol::Http1 => {
                let socket = Stamped::new(socket, clock).over(edge);
                let stamps = socket.stamps();
                let (sender, connection) = http1::Builder::new()
                    .preserve_header_case(true)
                    .max_buf_size(READ_BUFFER)
                    .handshake(TokioIo::new(socket))
                    .await
                    .map_err(io::Error::other)?;
                let running = Running::Http1(Some(Box::pin(connection)));
                (stamps, running, Sender::Http1(sender))
            }
            Protocol::Http2 => {
                let socket = Stamped::http2(socket, clock).over(edge);
                let stamps = socket.stamps();
                let (sender, connection) = Http2::open(TokioIo::new(socket)).await?;
                let running = Running::Http2(connection);
                (stamps, running, Sender::Http2(sender))
            }
        };
        Ok(Self {
            running,
            sender,
            stamps,
            reused: false,
            carries_stream: false,
            parts: Parts::new(),
        })
    }

    pub(crate) fn protocol(&self) -> Protocol {
        match self.running {
            Running::Http1(_) => Protocol::Http1,
            Running::Http2(_) => Protocol::Http2,
        }
    }

    /// Hands a request to the connection. The answer comes while the connection turns.
    pub(crate) fn send(&mut self, request: Request<Upload>) -> impl Future<Output = Sent> + use<> {
        match &mut self.sender {
            Sender::Http1(sender) => Either::Left(sender.try_send_request(request)),
            Sender::Http2(sender) => Either::Right(sender.try_send_request(request)),
        }
    }

    /// Runs `pump` with the connection turning beside it, each woken by its own waker, until neither has more.
    ///
    /// On HTTP/1.1 the connection goes first, and holds one frame at most, so that the last read is the read of the frame
    /// that `pump` finds. On HTTP/2 one read can bring many frames: there the connection reads once a turn, and only after
    /// `pump` has taken all that the read before had brought.
    pub(crate) async fn with<T>(&mut self, mut pump: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
        self.beside(|_, cx| pump(cx)).await
    }

    async fn beside<T>(
        &mut self,
        mut pump: impl FnMut(&mut Sender, &mut Context<'_>) -> Poll<T>,
    ) -> T {
        let Self {
            running,
            sender,
            parts,
            stamps,
            ..
        } = self;
        parts.mark(PUMP);
        poll_fn(|cx| {
            parts.poll(cx, |woken| {
                let cx = &mut Context::from_waker(parts.waker(PUMP));
                if let Running::Http2(_) = running {
                    let taken = pump(sender, cx);
                    if taken.is_ready() {
                        if woken.has(CONNECTION) {
                            parts.mark(CONNECTION);
                        }
                        return taken;
                    }
                }
                if woken.has(CONNECTION) {
                    stamps.allow_one_read();
                    running.turn(&mut Context::from_waker(parts.waker(CONNECTION)));
                }
                // The connection may have woken the pump in this very turn; polling a pump that has nothing is cheap.
                pump(sender, cx)
            })
        })
        .await
    }

    /// Polls the connection once, so that a close that has arrived is seen.
    pub(crate) fn look(&mut self) {
        self.stamps.allow_reads();
        let cx = &mut Context::from_waker(self.parts.waker(CONNECTION));
        self.running.turn(cx);
    }

    /// Waits until the connection is ready for another exchange, or never will be. Returns which.
    pub(crate) async fn settle(&mut self) -> bool {
        self.parts.mark(CONNECTION);
        self.beside(Sender::poll_ready).await;
        self.is_usable()
    }

    /// Whether it can carry another exchange.
    pub(crate) fn is_usable(&self) -> bool {
        match (&self.running, &self.sender) {
            (Running::Http1(connection), Sender::Http1(sender)) => {
                connection.is_some() && sender.is_ready()
            }
            (Running::Http2(connection), Sender::Http2(sender)) => {
                connection.is_open() && sender.is_ready()
            }
            _ => false,
        }
    }
}

impl Running {
    fn turn(&mut self, cx: &mut Context<'_>) {
        match self {
            Self::Http1(connection) => {
                if let Some(running) = connection
                    && running.as_mut().poll(cx).is_ready()
                {
                    // Its error reaches the pump through the request or the body, with more to tell than here.
                    *connection = None;
                }
            }
            Self::Http2(connection) => connection.turn(cx),
        }
    }
}

impl Sender {
    /// Ready when it can take another request, or never will.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Http1(sender) => sender.poll_ready(cx).map(drop),
            Self::Http2(sender) => sender.poll_ready(cx).map(drop),
        }
    }
}
