//! Stands before the simulated engine: passes everything on, but for questions about the engine's metrics, which it answers
//! as well or as badly as it is told to.

use crate::Error;
use crate::listen;
use crate::part::Part;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// What an endless answer brings at once, and the pause after it: 64 MB a second.
static PIECE: [u8; 64 * 1024] = [b'#'; 64 * 1024];
const PAUSE: Duration = Duration::from_millis(1);

const WELL: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n\
vllm:num_requests_running{model_name=\"scripted\"} 0\nvllm:num_requests_waiting{model_name=\"scripted\"} 0\n";
const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n";

/// How the engine's metrics are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metrics {
    /// As they should be.
    Well,
    /// The connection is closed on the question.
    Dead,
    /// The question is taken, and nothing comes.
    Silent,
    /// An answer that never ends.
    Endless,
}

/// The front.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) address: SocketAddr,
    metrics: watch::Sender<Metrics>,
    asked: Arc<AtomicU64>,
    part: Part<()>,
}

impl Front {
    /// Starts it before `engine`.
    pub(super) fn start(engine: SocketAddr) -> Result<Self, Error> {
        let listener = listen::listen("front of the engine", listen::ANYWHERE)?;
        let address = listen::address(&listener)?;
        let metrics = watch::Sender::new(Metrics::Well);
        let asked = Arc::new(AtomicU64::new(0));
        let passing = Passing {
            engine,
            metrics: metrics.subscribe(),
            asked: Arc::clone(&asked),
        };
        let part = Part::start("front of the engine", move |stop| {
            serve(listener, passing, stop)
        })?;
        Ok(Self {
            address,
            metrics,
            asked,
            part,
        })
    }

    /// From now on the metrics are so; questions that are open end.
    pub(super) fn set(&self, metrics: Metrics) {
        self.metrics.send_replace(metrics);
        self.asked.store(0, Relaxed);
    }

    /// Questions about the metrics since they were set.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    /// Stops it.
    pub(super) async fn stop(self) -> Result<(), Error> {
        self.part.stop().await
    }
}

#[derive(Clone)]
struct Passing {
    engine: SocketAddr,
    metrics: watch::Receiver<Metrics>,
    asked: Arc<AtomicU64>,
}

async fn serve(listener: std::net::TcpListener, passing: Passing, mut stop: mpsc::Receiver<()>) {
    // Opened by us and ready; without a reactor there would be no runtime.
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stop.recv() => return,
            Ok((socket, _)) = listener.accept() => {
                // How it ends is seen on its other side.
                connections.spawn(passing.clone().pass(socket));
            }
        }
    }
}

impl Passing {
    async fn pass(mut self, mut client: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let mut begin = [0; 13];
        while client.peek(&mut begin).await? < begin.len() {
            client.readable().await?;
        }
        if &begin != b"GET /metrics " {
            let mut engine = TcpStream::connect(self.engine).await?;
            engine.set_nodelay(true)?;
            return copy_bidirectional(&mut client, &mut engine).await.map(drop);
        }
        let mut request = [0; 4096];
        let _read = client.read(&mut request).await?;
        let metrics = *self.metrics.borrow_and_update();
        self.asked.fetch_add(1, Relaxed);
        tokio::select! {
            answered = answer(&mut client, metrics) => answered,
            // The sender lives as long as the front.
            _ = self.metrics.changed() => Ok(()),
        }
    }
}

async fn answer(client: &mut TcpStream, metrics: Metrics) -> io::Result<()> {
    match metrics {
        Metrics::Well => client.write_all(WELL).await,
        Metrics::Dead => Ok(()),
        Metrics::Silent => std::future::pending().await,
        Metrics::Endless => {
            client.write_all(ENDLESS).await?;
            loop {
                client.write_all(&PIECE).await?;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
