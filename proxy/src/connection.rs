//! One client's connection, from the first byte to the last.

use crate::accepted::{Accepted, ClientSide};
use crate::deadline::{Deadline, Wait};
use crate::driven::{Driven, Side};
use crate::intake::Protocol;
use crate::relay::{Relay, Service};
use crate::tasks::Tasks;
use crate::upgrade;
use config::{HalfClose, Upgrades};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Buffer of a connection of HTTP/1, in bytes: hyper's default of 400 KiB would be what a stuck client holds.
const BUFFER: usize = 32 * 1024;

/// What the server keeps of the answer of one stream of HTTP/2, in bytes.
const SEND_BUFFER: usize = 64 * 1024;

/// Fields of one head of HTTP/2, as its own measure counts them, in bytes.
const HEAD_BYTES: u32 = 64 * 1024;

/// Streams of one connection at once.
const STREAMS: u32 = 100;

/// What a client may send on one stream before it is read, in bytes.
const STREAM_WINDOW: u32 = 64 * 1024;

/// What a client may send on all streams of a connection before it is read, in bytes.
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Streams of one connection that its client makes us reset.
const RESETS_OF_OURS: usize = 32;

/// Streams of one connection that its client takes back before they are begun.
const RESETS_OF_THEIRS: usize = 20;

/// Bounds on one client's connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) head_bytes: usize,
    pub(crate) head_fields: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) client_idle: Duration,
    /// A client that has ended its side is served.
    pub(crate) half_close: HalfClose,
    /// What it may switch to.
    pub(crate) allow_upgrade: Upgrades,
    pub(crate) client_write: Duration,
    /// Bytes a second over a minute that a client must take while some wait; 0 is any.
    pub(crate) client_rate: u64,
    /// Frames of HTTP/2 a second that carry nothing.
    pub(crate) control_frames: u32,
    /// Requests a second on a connection of HTTP/2.
    pub(crate) new_streams: u32,
}

/// How a request's body must keep coming.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyPace {
    /// Longest time without a byte.
    pub(crate) pause: Duration,
    /// Bytes a second over a minute; 0 is any.
    pub(crate) least: u64,
}

/// Serves a connection until its end.
pub(crate) async fn serve(
    mut socket: Accepted,
    relay: Arc<Relay>,
    tasks: Tasks,
    limits: ConnectionLimits,
) {
    let sniffed = socket.protocol();
    let protocol = match tasks.closing().run_until_cancelled(sniffed).await {
        Some(Ok(protocol)) => protocol,
        Some(Err(error)) => {
            return tracing::debug!(%error, "a client left before its first request");
        }
        None => return,
    };
    let client = socket.side();
    let service = Service {
        relay: Arc::clone(&relay),
        client: Arc::clone(&client),
    };
    match protocol {
        Protocol::Http1 => {
            Driven::new(http1(socket, service, limits), &tasks).await;
            if let Some(switch) = client.take_switch() {
                client.on_asked();
                // Apart from the connection's own, whose every client would pay for its size.
                let passing = Box::pin(upgrade::serve(switch, &relay));
                tasks.hard_stop().run_until_cancelled(passing).await;
                client.on_answered();
            }
        }
        Protocol::Http2 => {
            Driven::new(http2(socket, service, &tasks, limits), &tasks).await;
            let last_word = client.say_last_word();
            tasks.hard_stop().run_until_cancelled(last_word).await;
        }
    }
}

struct Http1(Pin<Box<http1::Connection<TokioIo<Accepted>, Service>>>);

fn http1(socket: Accepted, service: Service, limits: ConnectionLimits) -> Http1 {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .half_close(limits.half_close == HalfClose::Serve)
        // A second line behind the guard, which has whole heads only to give. This runs from the moment that a head is
        // waited for.
        .header_read_timeout(limits.client_idle + limits.head_timeout)
        .max_headers(limits.head_fields)
        .max_header_size(limits.head_bytes)
        // A whole head fits in, and the byte by which one would be too long.
        .max_buf_size(BUFFER.max(limits.head_bytes.saturating_add(1)))
        .preserve_header_case(true)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(socket), service);
    Http1(Box::pin(connection))
}

impl Future for Http1 {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx).map(log_end)
    }
}

impl Side for Http1 {
    fn close(mut self: Pin<&mut Self>) {
        self.0.as_mut().graceful_shutdown();
    }
}

struct Http2 {
    connection: Pin<Box<http2::Connection<TokioIo<Accepted>, Service, Streams>>>,
    client: Arc<ClientSide>,
    limits: ConnectionLimits,
    idle: Deadline,
    closing: bool,
}

fn http2(socket: Accepted, service: Service, tasks: &Tasks, limits: ConnectionLimits) -> Http2 {
    let client = Arc::clone(&service.client);
    let connection = http2::Builder::new(Streams(tasks.clone()))
        .timer(TokioTimer::new())
        // All of them stated: what the libraries leave open by default has changed before.
        .max_header_list_size(HEAD_BYTES)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .max_local_error_reset_streams(RESETS_OF_OURS)
        .max_pending_accept_reset_streams(RESETS_OF_THEIRS)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(socket), service);
    Http2 {
        connection: Box::pin(connection),
        client,
        limits,
        idle: Deadline::default(),
        closing: false,
    }
}

impl Http2 {
    /// Ready when nothing was asked for too long, and the client has been told and given a while to go. An answer that it
    /// does not take holds nobody: what the server has taken of it goes with the connection.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.client.is_owed() {
            self.idle.lift();
            return Poll::Pending;
        }
        if !self.closing {
            ready!(self.idle.poll(Wait::Idle, self.limits.client_idle, cx));
            self.closing = true;
            self.connection.as_mut().graceful_shutdown();
            let ended = self.connection.as_mut().poll(cx).map(log_end);
            if ended.is_ready() {
                return ended;
            }
        }
        self.idle.poll(Wait::Head, self.limits.head_timeout, cx)
    }
}

impl Future for Http2 {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let ended = self.connection.as_mut().poll(cx).map(log_end);
        if ended.is_ready() {
            return ended;
        }
        self.poll_idle(cx)
    }
}

impl Side for Http2 {
    fn close(mut self: Pin<&mut Self>) {
        self.connection.as_mut().graceful_shutdown();
    }
}

fn log_end(result: hyper::Result<()>) {
    if let Err(error) = result {
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "a client's connection ended"
        );
    }
}

/// Starts each stream of an HTTP/2 connection as a task that also drives its exchange.
#[derive(Clone)]
struct Streams(Tasks);

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        self.0.spawn(Driven::new(Stream(Box::pin(stream)), &self.0));
    }
}

struct Stream<F>(Pin<Box<F>>);

impl<F: Future<Output = ()>> Future for Stream<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl<F: Future<Output = ()> + Send> Side for Stream<F> {
    /// The connection it belongs to takes no new streams; this one goes on.
    fn close(self: Pin<&mut Self>) {}
}
