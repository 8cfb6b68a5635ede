//! A client of HTTP/2 with prior knowledge: one connection for all its scenes, until one of them closes it.

use crate::soak::http1::Got;
use crate::soak::scene::{Conduct, Scene};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// The client.
#[derive(Debug)]
pub(super) struct Client {
    proxy: SocketAddr,
    sender: Option<SendRequest<Full<Bytes>>>,
    /// Drives the connection; dropping it closes it.
    connection: JoinSet<()>,
}

impl Client {
    pub(super) fn new(proxy: SocketAddr) -> Self {
        Self {
            proxy,
            sender: None,
            connection: JoinSet::new(),
        }
    }

    /// Plays it; `number` is the request's id in the engine's log.
    pub(super) async fn play(&mut self, scene: &Scene, number: u64) -> io::Result<Got> {
        let request = request(scene, number).map_err(io::Error::other)?;
        let response = self.sender().await?.send_request(request).await;
        let Ok(response) = response else {
            return Ok(Got {
                status: None,
                whole: false,
            });
        };
        let status = Some(response.status().as_u16());
        let whole = read(response.into_body(), enough(scene.conduct)).await;
        if matches!(scene.conduct, Conduct::Closes(_)) {
            self.sender = None;
            self.connection.shutdown().await;
        }
        Ok(Got { status, whole })
    }

    async fn sender(&mut self) -> io::Result<&mut SendRequest<Full<Bytes>>> {
        let open = self.sender.take().filter(|sender| !sender.is_closed());
        let sender = match open {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        Ok(self.sender.insert(sender))
    }

    async fn connect(&mut self) -> io::Result<SendRequest<Full<Bytes>>> {
        self.connection.shutdown().await;
        let socket = TcpStream::connect(self.proxy).await?;
        socket.set_nodelay(true)?;
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await;
        let (sender, connection) = handshake.map_err(io::Error::other)?;
        self.connection.spawn(async move {
            // How it ends is seen by the requests on it.
            let _ = connection.await;
        });
        Ok(sender)
    }
}

/// Events after which the client has enough.
fn enough(conduct: Conduct) -> usize {
    match conduct {
        Conduct::Closes(events) | Conduct::Resets(events) => events,
        _ => usize::MAX,
    }
}

/// Reads to the end, or until enough events have come: what is left is dropped, which resets the stream.
async fn read(mut body: Incoming, enough: usize) -> bool {
    let mut events = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return false;
        };
        let data = frame.data_ref().map_or(&[][..], |data| data);
        events += data
            .windows(6)
            .filter(|window| *window == b"data: ")
            .count();
        if events >= enough {
            return false;
        }
    }
    true
}

fn request(scene: &Scene, number: u64) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::post(format!("http://soak{}", scene.endpoint.as_str()))
        .header("content-type", "application/json")
        .header("x-sim-id", number);
    for (name, value) in scene.steering() {
        request = request.header(name, value);
    }
    request.body(Full::new(Bytes::from(scene.body())))
}
