//! A client that keeps what it reads with the time of each read, and no more sense than a test needs.

use std::time::Duration;

use sim::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What came back, byte by byte with its time, and how it ended.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    bytes: Vec<u8>,
    times: Vec<u64>,
    /// The error that ended it; none if the connection was closed, or heard enough.
    pub(crate) error: Option<std::io::ErrorKind>,
}

/// A body taken out of its framing.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    times: Vec<u64>,
    /// Its chunks, if it came in chunks.
    pub(crate) chunks: Vec<Vec<u8>>,
    /// The end that its framing asks for was there.
    pub(crate) whole: bool,
}

/// Sends and hears to the end.
pub(crate) async fn talk(
    io: &mut (impl AsyncRead + AsyncWrite + Unpin),
    clock: &Clock,
    request: &[u8],
) -> Heard {
    // A server may answer and leave before it has read all.
    let _ = io.write_all(request).await;
    listen(io, clock, |_| false).await
}

/// Hears until `enough` says so, or to the end.
pub(crate) async fn listen(
    io: &mut (impl AsyncRead + Unpin),
    clock: &Clock,
    mut enough: impl FnMut(&[u8]) -> bool,
) -> Heard {
    let mut heard = Heard::default();
    let mut buffer = vec![0; 64 * 1024];
    while !enough(&heard.bytes) {
        match io.read(&mut buffer).await {
            Ok(0) => break,
            Ok(read) => {
                heard.bytes.extend_from_slice(&buffer[..read]);
                heard.times.resize(heard.bytes.len(), clock.stamp());
            }
            Err(error) => {
                heard.error = Some(error.kind());
                break;
            }
        }
    }
    heard
}

/// Hears to the end, a byte each millisecond.
pub(crate) async fn listen_slowly(io: &mut (impl AsyncRead + Unpin), clock: &Clock) -> Heard {
    let mut heard = Heard::default();
    while let Ok(byte) = io.read_u8().await {
        heard.bytes.push(byte);
        heard.times.push(clock.stamp());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    heard
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The head without its blank line.
    pub(crate) fn head(&self) -> String {
        let text = self.text();
        text.split("\r\n\r\n")
            .next()
            .expect("there is a head")
            .to_owned()
    }

    pub(crate) fn status(&self) -> u16 {
        self.head()[9..12].parse().expect("a status")
    }

    /// When the head was there.
    pub(crate) fn head_ns(&self) -> u64 {
        self.times[self.head().len() + 3]
    }

    pub(crate) fn end_ns(&self) -> u64 {
        *self.times.last().expect("something came")
    }

    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let head = self.head();
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        let field = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.to_owned())
    }

    pub(crate) fn body(&self) -> Body {
        let at = self.head().len() + 4;
        let (bytes, times) = (&self.bytes[at..], &self.times[at..]);
        if self.field("transfer-encoding").as_deref() == Some("chunked") {
            return dechunk(bytes, times);
        }
        let length = self
            .field("content-length")
            .map(|length| length.parse::<usize>().expect("a length"));
        Body {
            bytes: bytes.to_vec(),
            times: times.to_vec(),
            chunks: Vec::new(),
            whole: length.is_some_and(|length| length == bytes.len()),
        }
    }
}

impl Body {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).expect("the body is UTF-8")
    }

    /// When this byte was there.
    pub(crate) fn time_of(&self, at: usize) -> u64 {
        self.times[at]
    }

    /// Events and comments with the time at which their last visible byte was there. Line ends are LF.
    pub(crate) fn events(&self) -> Vec<(u64, &str)> {
        let mut events = Vec::new();
        let mut from = 0;
        while let Some(length) = self.text()[from..].find("\n\n") {
            events.push((
                self.times[from + length - 1],
                &self.text()[from..from + length],
            ));
            from += length + 2;
        }
        assert_eq!(from, self.bytes.len(), "nothing follows the last event");
        events
    }
}

fn dechunk(bytes: &[u8], times: &[u64]) -> Body {
    let mut body = Body {
        bytes: Vec::new(),
        times: Vec::new(),
        chunks: Vec::new(),
        whole: false,
    };
    let mut at = 0;
    while let Some(line) = bytes[at..].windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&bytes[at..at + line]).expect("a size is ASCII");
        let size = usize::from_str_radix(size, 16).expect("a size is hexadecimal");
        at += line + 2;
        if size == 0 {
            body.whole = &bytes[at..] == b"\r\n";
            break;
        }
        let end = (at + size).min(bytes.len());
        body.bytes.extend_from_slice(&bytes[at..end]);
        body.times.extend_from_slice(&times[at..end]);
        body.chunks.push(bytes[at..end].to_vec());
        at = (end + 2).min(bytes.len());
    }
    body
}
