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

/// Events of a stream, streams of a connection, and connections on each side.
///
/// Streams are short and follow each other on one connection, for the sake of acknowledgements: a system delays one (by 40 ms
/// on Linux) only where its user has just answered what came, and not again before he does.
const EVENTS: usize = 3;
const STREAMS: usize = 100;
const CONNECTIONS: u32 = 6;

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

/// Measures how long the events of a stream take, from the client's first word to its last read: around the proxy (without)
/// and through it (with).
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
    for turn in 0..CONNECTIONS * 2 {
        // Around and through, through and around, in turns.
        let (address, delays) = if matches!(turn % 4, 0 | 3) {
            (engine, &mut direct)
        } else {
            (child.address, &mut through)
        };
        delays.append(&mut streams(address, &word, clock).await?);
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
                answers.spawn(answers_of(socket, Arc::clone(&words)));
            }
        }
    }
}

/// Answers one request after the other.
async fn answers_of(mut socket: TcpStream, words: Words) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let event = format!("{:x}\r\n{EVENT}\r\n", EVENT.len());
    loop {
        let mut request = Vec::new();
        while !request.ends_with(BODY.as_bytes()) {
            request.push(socket.read_u8().await?);
        }
        socket.write_all(HEAD.as_bytes()).await?;
        let mut words = words.lock().await;
        for _ in 0..EVENTS {
            words.recv().await;
            socket.write_all(event.as_bytes()).await?;
        }
        socket.write_all(b"0\r\n\r\n").await?;
    }
}

/// Reads the streams of one connection; how long the events of each took, in nanoseconds.
async fn streams(
    address: SocketAddr,
    word: &mpsc::Sender<()>,
    clock: OneClock,
) -> Result<Vec<i64>, Error> {
    let failed = |source| Error::Reach { address, source };
    let mut reader = Reader {
        socket: TcpStream::connect(address).await.map_err(failed)?,
        address,
        text: Vec::new(),
    };
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: lockstep\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{BODY}",
        BODY.len()
    );
    let mut delays = Vec::with_capacity(STREAMS);
    for _ in 0..STREAMS {
        let asked = reader.socket.write_all(request.as_bytes()).await;
        asked.map_err(failed)?;
        reader.until(b"\r\n\r\n").await?;
        let said = clock.stamp();
        for _ in 0..EVENTS {
            // The engine waits for it.
            let _ = word.send(()).await;
            reader.until(b"\n\n\r\n").await?;
        }
        let took = clock.stamp().since(said).0;
        delays.push(i64::try_from(took).unwrap_or(i64::MAX));
        reader.until(b"0\r\n\r\n").await?;
    }
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
