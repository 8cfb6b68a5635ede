//! A client that reads one scripted stream and dates each event by the read that brought it.
//!
//! The socket is wrapped as the proxy wraps the engine's, so that the client's ruler is as good as the one it checks. The
//! connection is polled by the reader's own task, since a frame is dated by the last read.

use crate::Error;
use crate::clock::OneClock;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection};
use hyper_util::rt::TokioIo;
use sim::Stamp;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::Poll;
use tokio::net::TcpStream;
use upstream::Stamped;
use wire::Endpoint;
use wire::encode::{Prompt, RequestShape, Streaming};

/// The model of the scripted backend.
pub(crate) const MODEL: &str = "scripted";

/// When the backend shall write what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Script {
    /// From the request to the first event, in microseconds.
    pub(crate) first_us: u64,
    /// Between bursts, in turn, in microseconds.
    pub(crate) gaps_us: Vec<u64>,
    /// How many bursts.
    pub(crate) bursts: u32,
    /// Events of a burst.
    pub(crate) events: u32,
    /// Bytes of an event.
    pub(crate) bytes: u32,
}

impl Script {
    /// As the header says it.
    pub(crate) fn header(&self) -> String {
        let gaps: Vec<String> = self.gaps_us.iter().map(u64::to_string).collect();
        let Self {
            first_us,
            bursts,
            events,
            bytes,
            ..
        } = self;
        format!(
            "first_us={first_us};gap_us={};bursts={bursts};events={events};bytes={bytes}",
            gaps.join(",")
        )
    }

    /// Events of one stream.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.bursts) * u64::from(self.events)
    }
}

/// How long each event took from the backend's write to the client's read, by its number, in nanoseconds.
pub(crate) type Delays = Vec<u64>;

type Wire = Connection<TokioIo<Stamped<TcpStream>>, Full<Bytes>>;

/// The request for one scripted stream; `number` is its id in the backend's log and its seed.
pub(crate) fn request(
    script: &Script,
    number: u64,
    host: SocketAddr,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let shape = RequestShape {
        model: Some(MODEL),
        prompt: Prompt::Text("calibrate"),
        max_tokens: None,
        streaming: Streaming::Events,
        n: 1,
        ignore_eos: false,
        seed: i64::try_from(number).ok(),
    };
    Request::post(Endpoint::ChatCompletions.as_str())
        .header("host", host.to_string())
        .header("content-type", "application/json")
        .header("x-sim-id", number)
        .header("x-sim-script", script.header())
        .body(Full::new(Bytes::from(
            shape.body(Endpoint::ChatCompletions),
        )))
}

/// Reads one stream from `address` to its end.
pub(crate) async fn read(
    address: SocketAddr,
    script: &Script,
    number: u64,
    clock: OneClock,
) -> Result<Delays, Error> {
    let broken = |why: String| Error::Stream { address, why };
    let failed = |source: io::Error| Error::Reach { address, source };
    let socket = TcpStream::connect(address).await.map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    let socket = Stamped::new(socket, clock.for_proxy());
    let stamps = socket.stamps();
    let (mut sender, mut wire) = http1::handshake(TokioIo::new(socket))
        .await
        .map_err(|error| broken(error.to_string()))?;
    let request = request(script, number, address).map_err(|error| broken(error.to_string()))?;
    let response = with(&mut wire, sender.send_request(request))
        .await
        .map_err(|error| broken(error.to_string()))?;
    if response.status() != StatusCode::OK {
        return Err(broken(format!("it answered {}", response.status())));
    }
    let mut body: Incoming = response.into_body();
    let mut reader = Reader::default();
    while let Some(frame) = with(&mut wire, body.frame()).await {
        let frame = frame.map_err(|error| broken(error.to_string()))?;
        if let Some(bytes) = frame.data_ref() {
            reader.push(bytes, stamps.last_read().0);
        }
    }
    if u64::try_from(reader.delays.len()).ok() != Some(script.len()) {
        return Err(broken(format!(
            "{} events came of {}",
            reader.delays.len(),
            script.len()
        )));
    }
    Ok(reader.delays)
}

/// Runs `turn` with the connection beside it, the connection first.
async fn with<T>(wire: &mut Wire, turn: impl Future<Output = T>) -> T {
    let mut turn = pin!(turn);
    let mut ended = false;
    poll_fn(|cx| {
        // Its error reaches `turn` too, with more to tell.
        if !ended {
            ended = Pin::new(&mut *wire).poll(cx).is_ready();
        }
        match turn.as_mut().poll(cx) {
            // What `turn` took may have been what the connection waited for.
            Poll::Pending if !ended => {
                ended = Pin::new(&mut *wire).poll(cx).is_ready();
                turn.as_mut().poll(cx)
            }
            polled => polled,
        }
    })
    .await
}

/// Finds the stamps in a stream, wherever its bytes are cut.
#[derive(Debug, Default)]
struct Reader {
    line: Vec<u8>,
    delays: Delays,
}

impl Reader {
    fn push(&mut self, mut bytes: &[u8], at_ns: u64) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(end + 1);
            self.line.extend_from_slice(head);
            if let Some(stamp) = Stamp::find(&self.line) {
                self.delays.push(at_ns.saturating_sub(stamp.at_ns));
            }
            self.line.clear();
            bytes = rest;
        }
        self.line.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_wherever_the_bytes_are_cut() {
        let text = b"data: {\"a\":1,\"sim\":{\"seq\":0,\"at_ns\":40}}\n\ndata: {\"sim\":{\"seq\":1,\"at_ns\":70}}\n\n";
        for size in [1, 7, text.len()] {
            let mut reader = Reader::default();
            for part in text.chunks(size) {
                reader.push(part, 100);
            }
            assert_eq!(reader.delays, [60, 30], "in pieces of {size}");
        }
    }
}
