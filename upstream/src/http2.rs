//! A connection of HTTP/2 to the engine, driven by whoever uses it.
//!
//! hyper wants to start tasks for a connection's own work: reading and writing, one request's body, its answer's head. Here
//! they are futures that the exchange polls itself, so that they have its task and end with it.

use crate::link::EngineIo;
use crate::upload::Upload;
use hyper::client::conn::http2::{Builder, Connection, SendRequest};
use hyper::rt::Executor;
use parking_lot::Mutex;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Context;

/// What the engine may send ahead of the pump, in bytes: what the exchange's queue may hold beside itself.
const WINDOW: u32 = 256 * 1024;

/// Largest head or trailers of an answer, in bytes.
const HEAD_BYTES: u32 = 64 * 1024;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The connection, and the work that it has begun.
pub(crate) struct Http2 {
    /// Takes the requests; `None` once it takes no more.
    client: Option<Pin<Box<Connection<EngineIo, Upload, Begun>>>>,
    /// Reading and writing first, as it was begun first.
    work: Vec<Work>,
    begun: Arc<Mutex<Vec<Work>>>,
}

/// Collects what would have been tasks. It doesn't own them: they hold copies of it.
#[derive(Clone)]
struct Begun(Weak<Mutex<Vec<Work>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Begun {
    fn execute(&self, work: F) {
        // Without a connection there is nobody to drive it.
        if let Some(begun) = self.0.upgrade() {
            begun.lock().push(Box::pin(work));
        }
    }
}

impl Http2 {
    pub(crate) async fn open(io: EngineIo) -> io::Result<(SendRequest<Upload>, Self)> {
        let begun = Arc::new(Mutex::new(Vec::new()));
        let (sender, client) = Builder::new(Begun(Arc::downgrade(&begun)))
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(HEAD_BYTES)
            .handshake(io)
            .await
            .map_err(io::Error::other)?;
        let connection = Self {
            client: Some(Box::pin(client)),
            work: Vec::new(),
            begun,
        };
        Ok((sender, connection))
    }

    /// Whether it takes requests.
    pub(crate) fn is_open(&self) -> bool {
        self.client.is_some()
    }

    /// Polls all of it once. What a read brings for the others of them reaches them in the same turn, since in the next one
    /// there is another read.
    pub(crate) fn turn(&mut self, cx: &mut Context<'_>) {
        if let Some(client) = &mut self.client
            && client.as_mut().poll(cx).is_ready()
        {
            // Its error reaches the pump through the request or the body, with more to tell than here.
            self.client = None;
        }
        self.work.append(&mut self.begun.lock());
        let mut index = self.work.len();
        while index > 0 {
            index -= 1;
            self.poll_work(index, cx);
        }
        index = 1;
        while index < self.work.len() {
            index += usize::from(self.poll_work(index, cx));
        }
    }

    /// Polls one piece of work; returns whether it goes on.
    fn poll_work(&mut self, index: usize, cx: &mut Context<'_>) -> bool {
        let goes_on = self.work[index].as_mut().poll(cx).is_pending();
        if !goes_on {
            drop(self.work.remove(index));
        }
        goes_on
    }
}
