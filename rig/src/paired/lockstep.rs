//! An engine that writes one event for each word of the client's, which comes when it has the event before.

use crate::Error;
use crate::child::Child;
use crate::clock::OneClock;
use crate::listen;
use crate::paired::Paired;
use crate::part::{self, Part};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

/// Events of a stream, and streams on each side.
const EVENTS: usize = 150;
const STREAMS: u32 = 6;

/// An event that has not come by then is held back.
const HELD_BACK: Duration = Duration::from_secs(30);

/// The proxy asks the engine for nothing else.
const SETTINGS: [&str; 2] = ["engine.probe=false", "engine.scrape_interval=off"];

const BODY: &str = r#"{"model":"m","stream":true,"messages":[]}"#;
const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const EVENT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a token\"}}]}\n\n";

/// Words of the client: each lets the engine write one event.
type Words = Arc<Mutex<mpsc::Receiver<()>>>;

/// Measures: from the client's word to its read of the event, around the proxy (without) and through it (with).
///
/// # Errors
/// If something could not be started or reached, or an event was held back while the engine waited.
pub fn lockstep(binary: &Path) -> Result<Paired, Error> {
    part::runtime("lockstep")?.block_on(measure(binary))
}

async fn measure(binary: &Path) -> Result<Paired, Error> {
    let clock = OneClock::start();
    let listener = listen::listen("lockstep engine", listen::ANYWHERE)?;
    let engine = listen::address(&listener)?;
    let (word, words) = mpsc::channel(1);
    let words = Arc::new(Mutex::new(words));
    let part = Part::start("lockstep engine", move |stop| serve(listener, words, stop))?;
    let child = Child::start(binary, engine, &SETTINGS)?;
    let (mut direct, mut through) = (Vec::new(), Vec::new());
    for turn in 0..STREAMS * 2 {
        // Around and through, through and around, in turns.
        let (address, delays) = if matches!(turn % 4, 0 | 3) {
            (engine, &mut direct)
        } else {
            (child.address, &mut through)
        };
        delays.append(&mut stream(address, &word, clock).await?);
    }
    drop(child);
    part.stop().await?;
    Paired::of(direct, through).ok_or(Error::Nothing { what: "events" })
}

async fn serve(listener: std::net::TcpListener, words: Words, mut stop: mpsc::Receiver<()>) {
    // Opened by us and ready; without a reactor there would be no runtime.
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut answers = JoinSet::new();
    loop {
        tokio::select! {
            _ = stop.recv() => return,
            Ok((socket, _)) = listener.accept() => {
                // How a stream ends is seen by its client.
                answers.spawn(answer(socket, Arc::clone(&words)));
            }
        }
    }
}

async fn answer(mut socket: TcpStream, words: Words) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut request = Vec::new();
    while !request.ends_with(BODY.as_bytes()) {
        request.push(socket.read_u8().await?);
    }
    socket.write_all(HEAD.as_bytes()).await?;
    let event = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
    let mut words = words.lock().await;
    for _ in 0..EVENTS {
        words.recv().await;
        socket.write_all(event.as_bytes()).await?;
    }
    socket.write_all(b"0\r\n\r\n").await
}

/// Reads one stream; how long each event took, in nanoseconds.
async fn stream(
    address: SocketAddr,
    word: &mpsc::Sender<()>,
    clock: OneClock,
) -> Result<Vec<i64>, Error> {
    let failed = |source| Error::Reach { address, source };
    let mut socket = TcpStream::connect(address).await.map_err(failed)?;
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: lockstep\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    socket.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut reader = Reader {
        socket,
        address,
        text: Vec::new(),
    };
    reader.until(b"\r\n\r\n").await?;
    let mut delays = Vec::with_capacity(EVENTS);
    for _ in 0..EVENTS {
        let said = clock.stamp();
        // The engine waits for it.
        let _ = word.send(()).await;
        reader.until(b"\n\n\r\n").await?;
        let took = clock.stamp().since(said).0;
        delays.push(i64::try_from(took).unwrap_or(i64::MAX));
    }
    reader.until(b"0\r\n\r\n").await?;
    Ok(delays)
}

struct Reader {
    socket: TcpStream,
    address: SocketAddr,
    text: Vec<u8>,
}

impl Reader {
    /// Reads until the mark has come, and forgets all up to it.
    async fn until(&mut self, mark: &[u8]) -> Result<(), Error> {
        let address = self.address;
        loop {
            let found = self
                .text
                .windows(mark.len())
                .position(|window| window == mark);
            if let Some(at) = found {
                self.text.drain(..at + mark.len());
                return Ok(());
            }
            let read = self.socket.read_buf(&mut self.text);
            let why = match tokio::time::timeout(HELD_BACK, read).await {
                Ok(Ok(count)) if count > 0 => continue,
                Ok(Ok(_)) => "it ended early".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "an event was held back for the next one".to_owned(),
            };
            return Err(Error::Stream { address, why });
        }
    }
}
