//! An engine that takes its bytes literally: it believes `Content-Length` and `Transfer-Encoding: chunked` and nothing
//! else, and writes down every byte it gets, what is left over after a request too.

use super::cases::Forwarded;
use super::support::Engine;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// What reached the engine.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// One for each head, in the order they came.
    pub(crate) requests: Vec<Forwarded>,
    /// Bytes after a request that are no whole head.
    pub(crate) leftover: Vec<u8>,
    /// Bytes of everything.
    pub(crate) bytes: usize,
}

type Shared = Arc<Mutex<Log>>;

/// The engine, and where it writes what it gets. `/early413` is refused before its body is read; everything else is 200.
pub(crate) fn engine() -> (Arc<Engine>, Shared) {
    let log = Shared::default();
    let shared = Arc::clone(&log);
    let engine = Engine::new(move |socket| {
        let log = Arc::clone(&shared);
        async move { serve(BufReader::new(socket), log).await.unwrap_or_default() }
    });
    (engine, log)
}

/// Serves one connection; `None` when the peer has ended it.
async fn serve(mut socket: BufReader<DuplexStream>, log: Shared) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let line = socket.read_until(b'\n', &mut head).await.ok();
            if line.is_none_or(|bytes| bytes == 0) {
                let mut log = log.lock().unwrap();
                log.bytes += head.len();
                log.leftover.extend(head);
                return None;
            }
        }
        let request = read_head(&head);
        let early = request.target == "/early413";
        let (length, chunked) = framing(&request);
        let index = {
            let mut log = log.lock().unwrap();
            log.bytes += head.len();
            log.requests.push(request);
            log.requests.len() - 1
        };
        if early {
            let answer = "HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            socket.write_all(answer.as_bytes()).await.ok()?;
            return None;
        }
        let body = if chunked {
            read_chunks(&mut socket).await?
        } else {
            let mut body = vec![0; length];
            socket.read_exact(&mut body).await.ok()?;
            body
        };
        {
            let mut log = log.lock().unwrap();
            let request = &mut log.requests[index];
            request.body = latin1(&body);
            request.complete = true;
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        socket.write_all(answer.as_bytes()).await.ok()?;
    }
}

/// The fields as they came, without those of the proxy's own hop.
fn read_head(head: &[u8]) -> Forwarded {
    let text = latin1(head);
    let mut lines = text.trim_end_matches("\r\n").split("\r\n");
    let line = lines.next().unwrap();
    let [method, target, version] = line.split(' ').collect::<Vec<_>>()[..] else {
        panic!("not a request line: {line:?}");
    };
    assert_eq!(version, "HTTP/1.1");
    let headers = lines
        .map(|line| line.split_once(':').expect("a field line"))
        .map(|(name, value)| (name, value.strip_prefix(' ').unwrap_or(value)))
        .filter(|(name, _)| !["connection", "keep-alive"].contains(&&*name.to_ascii_lowercase()))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Forwarded {
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: String::new(),
        complete: false,
    }
}

fn framing(request: &Forwarded) -> (usize, bool) {
    let value = |name: &str| {
        let mut values = request.headers.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "two of {name}");
        value
    };
    let length = value("content-length").map(|length| length.parse().expect("a number"));
    let coding = value("transfer-encoding");
    assert!(
        coding.is_none_or(|coding| coding == "chunked" && length.is_none()),
        "{request:?}"
    );
    (length.unwrap_or(0), coding.is_some())
}

/// The data of a chunked body. Extensions and trailers would be a fault of the proxy's.
async fn read_chunks(socket: &mut BufReader<DuplexStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(socket).await?;
        let size = usize::from_str_radix(&line, 16).expect("a chunk's size and nothing else");
        let mut data = vec![0; size];
        socket.read_exact(&mut data).await.ok()?;
        body.extend(data);
        assert_eq!(
            read_line(socket).await?,
            "",
            "no trailer, nothing after the data"
        );
        if size == 0 {
            return Some(body);
        }
    }
}

/// A line without its end; `None` if it has none.
async fn read_line(socket: &mut BufReader<DuplexStream>) -> Option<String> {
    let mut line = Vec::new();
    socket.read_until(b'\n', &mut line).await.ok()?;
    line.strip_suffix(b"\r\n").map(latin1)
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
