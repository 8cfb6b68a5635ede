//! Scrapers of our metrics that misbehave. They end when they are dropped.

use crate::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Of each kind.
const EACH: usize = 4;

/// Questions that one asks at once: more than fits into the system's buffers.
const QUESTIONS: usize = 16;

/// What a slow one takes at once, and the pause after it.
const SIP: usize = 256;
const PAUSE: Duration = Duration::from_millis(10);

/// The scrapers.
#[derive(Debug)]
pub(super) struct Scrapers {
    _silent: Vec<TcpStream>,
    _slow: JoinSet<()>,
}

impl Scrapers {
    /// Some that ask nothing, some that ask and never read, some that read slowly.
    pub(super) async fn start(admin: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Reach {
            address: admin,
            source,
        };
        let mut silent = Vec::new();
        let mut slow = JoinSet::new();
        for _ in 0..EACH {
            silent.push(connect(admin).await.map_err(failed)?);
            silent.push(ask(admin).await.map_err(failed)?);
            let mut sipping = ask(admin).await.map_err(failed)?;
            slow.spawn(async move {
                let mut sip = [0; SIP];
                while matches!(sipping.read(&mut sip).await, Ok(1..)) {
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        Ok(Self {
            _silent: silent,
            _slow: slow,
        })
    }
}

async fn connect(admin: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.connect(admin).await
}

async fn ask(admin: SocketAddr) -> io::Result<TcpStream> {
    let mut socket = connect(admin).await?;
    let question = "GET /metrics HTTP/1.1\r\nhost: scraper\r\n\r\n".repeat(QUESTIONS);
    socket.write_all(question.as_bytes()).await?;
    Ok(socket)
}
