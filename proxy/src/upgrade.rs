//! A client that goes on in another protocol: websocket (RFC 6455), where the operator allows it (`allow_upgrade`).
//!
//! Neither HTTP library has a part in it: the guard, which lets one request in at a time, gives the request's head and the
//! socket here, and the server sees its connection end between two requests. The head goes to the engine on a connection of
//! its own. Only on its 101 does a byte of what follows pass, either way, unread; any other answer is the connection's last,
//! so that nothing behind a declined request can be taken for another one.
//!
//! Limits: [`ANSWER`] for the engine's word, [`HEAD_BYTES`] of it, [`BODY_BYTES`] of the body of a refusal; 8 KiB wait in each
//! direction; after [`IDLE`] without a byte either way, both sides are closed.

use crate::accepted::Tally;
use crate::hop;
use crate::lingering::Lingering;
use crate::refusal::{Refusal, UPGRADE_DECLINED};
use crate::relay::Relay;
use bytes::BytesMut;
use http::{HeaderName, HeaderValue, Request, StatusCode};
use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use upstream::Socket;
use wire::Passing;

/// How long the engine may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Most bytes of the head of its answer.
const HEAD_BYTES: usize = 32 * 1024;

/// Most bytes of the body of an answer that declines.
const BODY_BYTES: usize = 64 * 1024;

/// Both sides are closed once nothing was said for this long, and at the latest for twice as long.
const IDLE: Duration = Duration::from_secs(600);

/// Read and not yet written, in each direction, in bytes.
const BUFFER: usize = 8 * 1024;

/// Fields of an answer's head that are looked at.
const FIELDS: usize = 128;

/// A client that asks to switch.
pub(crate) struct Switch {
    pub(crate) socket: Box<dyn Socket>,
    /// The head of its request, and what it has sent after it.
    pub(crate) bytes: BytesMut,
    /// Length of the head.
    pub(crate) head: usize,
}

/// What the engine answered.
struct Answer {
    status: u16,
    /// Length of the body, if the head says it.
    length: Option<usize>,
    /// Length of the head.
    head: usize,
}

/// Whether a head that the guard has found to be without fault asks for a websocket: a GET of HTTP/1.1 with all that the
/// handshake needs.
pub(crate) fn is_websocket(head: &[u8]) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let whole = request.parse(head).is_ok_and(|status| status.is_complete());
    let says = |name: &str, word: &str| {
        let values = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        values
            .flat_map(|field| field.value.split(|byte| *byte == b','))
            .any(|value| value.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    let has = |name: &str| {
        let mut names = request.headers.iter().map(|field| field.name);
        names.any(|one| one.eq_ignore_ascii_case(name))
    };
    whole
        && request.method == Some("GET")
        && request.version == Some(1)
        && request.path.is_some_and(|path| path.starts_with('/'))
        && says("upgrade", "websocket")
        && says("connection", "upgrade")
        && has("sec-websocket-key")
}

/// Serves a client that asks to switch, to the end of its connection.
pub(crate) async fn serve(switch: Switch, relay: &Relay) {
    relay.ledger.passed(Passing::Websocket);
    let Switch {
        mut socket,
        bytes,
        head,
    } = switch;
    let (head, rest) = bytes.split_at(head);
    let last_word = match ask(head, relay).await {
        Ok((mut engine, said, answer)) if answer.status == 101 => {
            let begun = async {
                socket.write_all(&said).await?;
                socket.flush().await?;
                engine.write_all(rest).await?;
                engine.flush().await
            };
            if begun.await.is_ok() {
                pass(socket, engine).await;
            }
            return;
        }
        Ok((engine, said, answer)) => declined(engine, said, &answer).await,
        Err(refusal) => {
            relay.ledger.refused(refusal.code);
            refusal.raw()
        }
    };
    let mut lingering = Lingering::new(last_word);
    // The client may be gone; there is nobody else to tell.
    let _ = poll_fn(|cx| lingering.poll(&mut *socket, cx)).await;
}

/// Asks the engine: its connection, what it has said so far, and what that means.
async fn ask(head: &[u8], relay: &Relay) -> Result<(Box<dyn Socket>, BytesMut, Answer), Refusal> {
    let broken = |message: String| Refusal {
        status: StatusCode::BAD_GATEWAY,
        code: "upstream_reset",
        message,
    };
    let request = forwarded(head, relay.upstream.authority())
        .ok_or_else(|| broken("the request can't be written again".to_owned()))?;
    let opening = relay.upstream.socket().await;
    let mut engine = opening.map_err(|failure| Refusal::failed(&failure))?;
    let asking = async {
        engine.write_all(&request).await?;
        engine.flush().await?;
        answer(&mut engine).await
    };
    match tokio::time::timeout(ANSWER, asking).await {
        Ok(Ok((said, answer))) => Ok((engine, said, answer)),
        Ok(Err(error)) => Err(broken(format!("the engine did not answer: {error}"))),
        Err(_) => Err(Refusal {
            status: StatusCode::GATEWAY_TIMEOUT,
            code: "timeout",
            message: format!("the engine did not answer within {ANSWER:?}"),
        }),
    }
}

/// The request as the engine is to see it: what belongs to one hop is said anew.
fn forwarded(head: &[u8], authority: &str) -> Option<Vec<u8>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut read = httparse::Request::new(&mut fields);
    read.parse(head).ok()?;
    let mut request = Request::new(());
    *request.uri_mut() = read.path?.parse().ok()?;
    for field in &*read.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(field.value).ok()?;
        request.headers_mut().append(name, value);
    }
    let (mut parts, ()) = request.into_parts();
    hop::to_engine(&mut parts, authority);
    let mut bytes = format!("GET {} HTTP/1.1\r\n", parts.uri).into_bytes();
    for (name, value) in &parts.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"connection: upgrade\r\nupgrade: websocket\r\n\r\n");
    Some(bytes)
}

/// Reads the head of the engine's answer, and perhaps more. Hints before it (103) are left out.
async fn answer(engine: &mut (impl AsyncRead + Unpin)) -> io::Result<(BytesMut, Answer)> {
    let mut said = BytesMut::new();
    loop {
        if said.len() >= HEAD_BYTES {
            let message = format!("its head is longer than {HEAD_BYTES} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if engine.read_buf(&mut said).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(answer) = read(&said)? {
            if answer.status == 101 || answer.status >= 200 {
                return Ok((said, answer));
            }
            let _ = said.split_to(answer.head);
        }
    }
}

fn read(said: &[u8]) -> io::Result<Option<Answer>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response
        .parse(said)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    let httparse::Status::Complete(head) = parsed else {
        return Ok(None);
    };
    let mut fields = response.headers.iter();
    let length = fields.find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|field| {
        let text = std::str::from_utf8(field.value).ok()?;
        text.trim().parse().ok()
    });
    Ok(Some(Answer {
        status: response.code.unwrap_or(0),
        length,
        head,
    }))
}

/// The engine's refusal as the client gets it: with its body, where its length is known and bearable.
async fn declined(mut engine: Box<dyn Socket>, mut said: BytesMut, answer: &Answer) -> Vec<u8> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let ours = Refusal {
        status,
        code: UPGRADE_DECLINED,
        message: format!("the engine answered {status} to a request for a websocket"),
    };
    let Some(length) = answer.length.filter(|length| *length <= BODY_BYTES) else {
        return ours.raw();
    };
    let whole = answer.head.saturating_add(length);
    let reading = async {
        while said.len() < whole {
            if engine.read_buf(&mut said).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok::<_, io::Error>(())
    };
    if !matches!(tokio::time::timeout(ANSWER, reading).await, Ok(Ok(()))) {
        return ours.raw();
    }
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let mut raw = format!("HTTP/1.1 {status}\r\n").into_bytes();
    if response.parse(&said).is_ok() {
        let kept = |name: &str| !hop::is_hop_by_hop(name);
        for field in response.headers.iter().filter(|field| kept(field.name)) {
            raw.extend_from_slice(field.name.as_bytes());
            raw.extend_from_slice(b": ");
            raw.extend_from_slice(field.value);
            raw.extend_from_slice(b"\r\n");
        }
    }
    raw.extend_from_slice(b"connection: close\r\n\r\n");
    raw.extend_from_slice(said.get(answer.head..whole).unwrap_or_default());
    raw
}

/// Passes on what both sides say, until one breaks, both have ended, or nobody says anything.
async fn pass(client: Box<dyn Socket>, engine: Box<dyn Socket>) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_engine, to_engine) = tokio::io::split(engine);
    let moved = AtomicU64::new(0);
    let both = async {
        tokio::try_join!(
            copy(from_client, to_engine, &moved),
            copy(from_engine, to_client, &moved),
        )
    };
    let silence = async {
        let mut before = None;
        while before != Some(moved.load(Relaxed)) {
            before = Some(moved.load(Relaxed));
            tokio::time::sleep(IDLE).await;
        }
    };
    tokio::select! {
        ended = both => if let Err(error) = ended {
            tracing::debug!(%error, "a websocket broke");
        },
        () = silence => tracing::debug!(idle = ?IDLE, "a websocket on which nothing was said is closed"),
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = BytesMut::with_capacity(BUFFER);
    loop {
        buffer.clear();
        if (&mut from)
            .take(BUFFER as u64)
            .read_buf(&mut buffer)
            .await?
            == 0
        {
            return to.shutdown().await;
        }
        to.write_all(&buffer).await?;
        to.flush().await?;
        moved.fetch_add(buffer.len() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: &str = "GET /v1/realtime?model=m HTTP/1.1\r\nHost: engine\r\nConnection: keep-alive, Upgrade\r\n\
                         Upgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

    #[test]
    fn only_a_whole_handshake_is_one() {
        assert!(is_websocket(ASKED.as_bytes()));
        assert!(is_websocket(format!("\r\n{ASKED}").as_bytes()));
        for (part, instead) in [
            ("GET", "POST"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("WebSocket\r\n", "h2c\r\n"),
            ("keep-alive, Upgrade", "keep-alive"),
            ("Sec-WebSocket-Key", "Sec-WebSocket-Kee"),
            ("/v1/realtime", "http://engine/v1/realtime"),
        ] {
            let other = ASKED.replace(part, instead);
            assert!(!is_websocket(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn what_belongs_to_one_hop_is_said_anew() {
        let with_more = ASKED.replace("Upgrade\r\n", "Upgrade, x-mine\r\nX-Mine: 1\r\n");
        let forwarded = forwarded(with_more.as_bytes(), "127.0.0.1:1").unwrap();
        assert_eq!(
            String::from_utf8(forwarded).unwrap(),
            "GET /v1/realtime?model=m HTTP/1.1\r\nhost: engine\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             sec-websocket-version: 13\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        );
    }
}
