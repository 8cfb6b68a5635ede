//! A client of HTTP/1 that plays a scene on a raw socket, and keeps its connection for the next where it may.

use crate::soak::answer::Answer;
use crate::soak::scene::{Conduct, Scene};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Bytes of a sip, and the pause after it.
const SIP: usize = 16 * 1024;
const PAUSE: Duration = Duration::from_millis(10);

/// How long a client that stalls takes nothing: longer than [`super::session::SETTINGS`] let it.
const STALL: Duration = Duration::from_secs(3);

/// What the system may hold for it, in bytes.
const RECEIVE_BUFFER: u32 = 64 * 1024;

/// Pieces of a slow body.
const PIECES: usize = 8;

/// The client.
#[derive(Debug)]
pub(super) struct Client {
    proxy: SocketAddr,
    kept: Option<TcpStream>,
}

/// What came of a scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Got {
    /// The status, if a head came.
    pub(super) status: Option<u16>,
    /// Whether the answer ended as its framing says.
    pub(super) whole: bool,
}

impl Client {
    pub(super) fn new(proxy: SocketAddr) -> Self {
        Self { proxy, kept: None }
    }

    /// Plays it; `number` is the request's id in the engine's log.
    pub(super) async fn play(&mut self, scene: &Scene, number: u64) -> io::Result<Got> {
        let mut socket = self.connect(scene.conduct).await?;
        let mut answer = Answer::default();
        match scene.conduct {
            Conduct::Drips => drip(&mut socket, scene, number).await?,
            Conduct::LeavesUpload => {
                return leave_upload(&mut socket, scene, number, &mut answer).await;
            }
            Conduct::Garbles(head) => socket.write_all(head.as_bytes()).await?,
            Conduct::HalfAHead => {
                socket
                    .write_all(b"POST /v1/chat/completions HTTP/1.1\r\nho")
                    .await?;
                return Ok(got(&mut answer, false));
            }
            _ => socket.write_all(request(scene, number).as_bytes()).await?,
        }
        match scene.conduct {
            Conduct::LeavesAtOnce => return Ok(got(&mut answer, false)),
            Conduct::Closes(events) | Conduct::Resets(events) => {
                read(&mut socket, &mut answer, |answer| answer.events() >= events).await;
                if matches!(scene.conduct, Conduct::Resets(_)) {
                    socket.set_zero_linger()?;
                }
                return Ok(got(&mut answer, false));
            }
            Conduct::Sips => sip(&mut socket, &mut answer).await,
            Conduct::Stalls => tokio::time::sleep(STALL).await,
            Conduct::Pipelines => {
                read(&mut socket, &mut answer, |answer| answer.events() >= 2).await;
                let ahead = format!("\r\n{}", request(scene, number));
                socket.write_all(ahead.as_bytes()).await?;
                read(&mut socket, &mut answer, |answer| answer.end().is_some()).await;
                answer = answer.next().unwrap_or_default();
            }
            _ => {}
        }
        let closed = read(&mut socket, &mut answer, |answer| answer.end().is_some()).await;
        if answer.end().is_some() && answer.keeps() {
            self.kept = Some(socket);
        }
        Ok(got(&mut answer, closed == Some(Closed::InOrder)))
    }
}

impl Client {
    async fn connect(&mut self, conduct: Conduct) -> io::Result<TcpStream> {
        if conduct == Conduct::Stalls {
            // The system's buffers would hold most of the answer.
            let socket = TcpSocket::new_v4()?;
            socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
            return socket.connect(self.proxy).await;
        }
        let socket = match self.kept.take() {
            Some(kept) => kept,
            None => TcpStream::connect(self.proxy).await?,
        };
        socket.set_nodelay(true)?;
        Ok(socket)
    }
}

/// How the other side ended a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    InOrder,
    Broken,
}

fn got(answer: &mut Answer, closed: bool) -> Got {
    Got {
        status: answer.status(),
        whole: answer.end().is_some() || (closed && answer.ends_by_close()),
    }
}

fn head(scene: &Scene, number: u64) -> String {
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\nx-sim-id: {number}\r\n",
        scene.endpoint.as_str()
    );
    for (name, value) in scene.steering() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

fn request(scene: &Scene, number: u64) -> String {
    let (head, body) = (head(scene, number), scene.body());
    format!("{head}content-length: {}\r\n\r\n{body}", body.len())
}

/// Reads until `enough`; says how the connection was closed, if it was before.
async fn read(
    socket: &mut TcpStream,
    answer: &mut Answer,
    enough: impl Fn(&mut Answer) -> bool,
) -> Option<Closed> {
    let mut buffer = vec![0; 32 * 1024];
    while !enough(answer) {
        match socket.read(&mut buffer).await {
            Ok(0) => return Some(Closed::InOrder),
            Ok(count) => answer.push(&buffer[..count]),
            Err(_) => return Some(Closed::Broken),
        }
    }
    None
}

async fn sip(socket: &mut TcpStream, answer: &mut Answer) {
    let mut buffer = vec![0; SIP];
    while answer.end().is_none() {
        match socket.read(&mut buffer).await {
            Ok(count) if count > 0 => answer.push(&buffer[..count]),
            _ => return,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sends the body in chunks with pauses.
async fn drip(socket: &mut TcpStream, scene: &Scene, number: u64) -> io::Result<()> {
    let head = format!("{}transfer-encoding: chunked\r\n\r\n", head(scene, number));
    socket.write_all(head.as_bytes()).await?;
    let body = scene.body();
    for piece in body.as_bytes().chunks(body.len().div_ceil(PIECES)) {
        tokio::time::sleep(PAUSE).await;
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        socket.write_all(&chunk).await?;
    }
    socket.write_all(b"0\r\n\r\n").await
}

/// Sends half of the body when the engine has asked for it.
async fn leave_upload(
    socket: &mut TcpStream,
    scene: &Scene,
    number: u64,
    answer: &mut Answer,
) -> io::Result<Got> {
    let body = scene.body();
    let head = format!(
        "{}expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        head(scene, number),
        body.len()
    );
    socket.write_all(head.as_bytes()).await?;
    read(socket, answer, |answer| answer.continues()).await;
    socket.write_all(&body.as_bytes()[..body.len() / 2]).await?;
    Ok(got(answer, false))
}
