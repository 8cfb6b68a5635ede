//! A server on tokio's paused clock, and connections to it through memory: every time is exact.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use sim::{Clock, Options, Profile, Record, Server};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::{Heard, talk};

/// Bytes that a connection holds between its ends.
const PIPE: usize = 1 << 20;

pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) clock: Clock,
    connections: JoinSet<()>,
}

impl Stage {
    pub(crate) fn new(profile: Profile) -> Self {
        Self::with(profile, |_| {})
    }

    pub(crate) fn with(profile: Profile, change: impl FnOnce(&mut Options)) -> Self {
        let clock = tokio_clock();
        let mut options = Options::new(profile, clock.clone());
        change(&mut options);
        Self {
            server: Server::start(options),
            clock,
            connections: JoinSet::new(),
        }
    }

    pub(crate) fn connect(&mut self) -> DuplexStream {
        self.connect_through(PIPE)
    }

    pub(crate) fn connect_through(&mut self, bytes: usize) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(bytes);
        self.connections.spawn(self.server.serve_connection(theirs));
        ours
    }

    /// A connection, and the sizes of the writes that the server makes to it.
    pub(crate) fn connect_counting(&mut self) -> (DuplexStream, Arc<Mutex<Vec<usize>>>) {
        let (ours, io) = tokio::io::duplex(PIPE);
        let writes = Arc::default();
        let counted = Counted {
            io,
            writes: Arc::clone(&writes),
        };
        self.connections
            .spawn(self.server.serve_connection(counted));
        (ours, writes)
    }

    /// Sends a request on a connection of its own and hears the answer to its end.
    pub(crate) async fn ask(&mut self, request: &Request) -> Heard {
        let mut connection = self.connect();
        talk(&mut connection, &self.clock, request.text().as_bytes()).await
    }

    /// The same, with the record that came of it.
    pub(crate) async fn ask_and_tell(&mut self, request: &Request) -> (Heard, Record) {
        let heard = self.ask(request).await;
        self.settle().await;
        let mut records = self.server.truth().drain();
        assert_eq!(records.len(), 1, "one request, one record");
        (heard, records.remove(0))
    }

    /// Waits until all connections have ended.
    pub(crate) async fn settle(&mut self) {
        while let Some(ended) = self.connections.join_next().await {
            ended.expect("no connection panics");
        }
    }
}

/// tokio's clock, paused or not, as nanoseconds from now on.
pub(crate) fn tokio_clock() -> Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the tests' clock is tokio's, so that it can be paused"
    )]
    let start = Instant::now();
    Clock::new(move || u64::try_from(start.elapsed().as_nanos()).expect("tests are short"))
}

/// A request to be written. Its connection is closed after it.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) fields: String,
    pub(crate) body: Arc<str>,
}

impl Request {
    pub(crate) fn get(line: &'static str) -> Self {
        Self {
            line: line.to_owned(),
            fields: String::new(),
            body: "".into(),
        }
    }

    pub(crate) fn completion(members: &str) -> Self {
        let body = format!(r#"{{"prompt":"one two three four"{members}}}"#);
        Self {
            line: "POST /v1/completions HTTP/1.1".to_owned(),
            fields: String::new(),
            body: body.into(),
        }
    }

    pub(crate) fn chat(members: &str) -> Self {
        let body =
            format!(r#"{{"messages":[{{"role":"user","content":"one two three"}}]{members}}}"#);
        Self {
            line: "POST /v1/chat/completions HTTP/1.1".to_owned(),
            fields: String::new(),
            body: body.into(),
        }
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn fault(self, value: &str) -> Self {
        self.field("x-sim-fault", value)
    }

    pub(crate) fn text(&self) -> String {
        self.kept_open()
            .replacen("\r\n", "\r\nconnection: close\r\n", 1)
    }

    /// The same without asking for the connection to be closed.
    pub(crate) fn kept_open(&self) -> String {
        let Self { line, fields, body } = self;
        format!(
            "{line}\r\nhost: sim\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{fields}\r\n{body}",
            body.len()
        )
    }
}

/// A server's end of a connection that keeps the sizes of the writes made to it.
struct Counted {
    io: DuplexStream,
    writes: Arc<Mutex<Vec<usize>>>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.writes
            .lock()
            .expect("no test panics with it")
            .push(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
