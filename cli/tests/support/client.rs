//! A client over a plain socket that stamps each read.
//!
//! Times are since just before the request was written, by the same kernel clock that every process on the machine reads:
//! whatever a proxy or an engine measures of this request lies within, so its figure is never the larger one, however
//! busy the machine is. That can be asserted; a difference in milliseconds can't.

use super::message::{Kind, Message};
use std::fmt;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// An answer that has ended.
#[derive(Clone)]
pub(crate) struct Answer {
    /// As far as it came.
    pub(crate) message: Message,
    /// After each read: when, and how many bytes there were in all.
    reads: Vec<(Duration, usize)>,
    /// When the end was seen.
    pub(crate) ended: Duration,
}

/// A request that was sent, and as much of the answer as has been read.
pub(crate) struct Open {
    socket: TcpStream,
    sent: Instant,
    bytes: Vec<u8>,
    reads: Vec<(Duration, usize)>,
}

/// `GET`, and the whole answer.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    Open::send(
        address,
        &format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"),
    )
    .finish()
}

/// `GET`, and the whole answer; `None` if nobody answers.
pub(crate) fn try_get(address: SocketAddr, path: &str) -> Option<Answer> {
    let mut socket = TcpStream::connect(address).ok()?;
    let sent = now();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).ok()?;
    let mut open = Open {
        socket,
        sent,
        bytes: Vec::new(),
        reads: Vec::new(),
    };
    while open.read() {}
    let whole = open.message().is_some_and(|message| message.whole);
    whole.then(|| open.finish())
}

/// `POST` of JSON, and the whole answer.
pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    Open::post(address, path, body).finish()
}

impl Open {
    /// Sends a `POST` of JSON on a connection of its own.
    pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Self {
        let length = body.len();
        Self::send(
            address,
            &format!(
                "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            ),
        )
    }

    /// Sends these bytes on a connection of its own.
    pub(crate) fn send(address: SocketAddr, request: &str) -> Self {
        let mut socket = TcpStream::connect(address)
            .unwrap_or_else(|error| panic!("connect to {address}: {error}"));
        socket
            .set_nodelay(true)
            .expect("a TCP socket has the option");
        let sent = now();
        socket
            .write_all(request.as_bytes())
            .expect("the request is taken");
        Self {
            socket,
            sent,
            bytes: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Reads to the answer's end.
    pub(crate) fn finish(mut self) -> Answer {
        while !self.message().is_some_and(|message| message.whole) && self.read() {}
        let ended = self.sent.elapsed();
        let message = self
            .message()
            .unwrap_or_else(|| panic!("no answer's head after {ended:?} in {:?}", self.text()));
        Answer {
            message,
            reads: self.reads,
            ended,
        }
    }

    /// Reads until `wanted` stands in the answer.
    pub(crate) fn read_until(&mut self, wanted: &str) {
        while !self.text().contains(wanted) {
            assert!(
                self.read(),
                "the answer ended without {wanted:?}: {:?}",
                self.text()
            );
        }
    }

    /// Goes away without another word.
    pub(crate) fn leave(self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Goes away in a way that takes back what the kernel still holds for either side.
    pub(crate) fn reset(self) {
        socket2::SockRef::from(&self.socket)
            .set_linger(Some(Duration::ZERO))
            .expect("a TCP socket has the option");
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn message(&self) -> Option<Message> {
        Message::read(&self.bytes, Kind::Answer)
    }

    /// One read; false at the end. A reset is an end too: the message then is not whole.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        let count = self.socket.read(&mut buffer).unwrap_or(0);
        self.bytes.extend_from_slice(&buffer[..count]);
        self.reads.push((self.sent.elapsed(), self.bytes.len()));
        count > 0
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {:?}", self.message, self.ended)
    }
}

impl Answer {
    /// The status code.
    pub(crate) fn status(&self) -> u16 {
        self.message.status()
    }

    /// The body, without framing.
    pub(crate) fn body(&self) -> &[u8] {
        &self.message.body
    }

    /// The body as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.message.body).expect("the body is text")
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.text())
            .unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// When the read returned that completed the body's first `count` bytes.
    pub(crate) fn arrival_of(&self, count: usize) -> Duration {
        let end = self.message.end_of(count);
        self.reads
            .iter()
            .find(|(_, bytes)| *bytes >= end)
            .expect("what is there has been read")
            .0
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the measuring client of the tests has a clock of its own"
)]
fn now() -> Instant {
    Instant::now()
}
