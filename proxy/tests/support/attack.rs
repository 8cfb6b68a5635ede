//! A client that writes HTTP/2 frame by frame, and an engine that counts what reaches it.

#[path = "frames.rs"]
mod frames;

pub(crate) use frames::*;

use super::support::{Engine, House, pause, read_head, write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What reached the engine.
#[derive(Default)]
pub(crate) struct Reached {
    heads: AtomicUsize,
    whole: AtomicUsize,
    open: AtomicUsize,
    /// Bytes that the engine could write.
    written: AtomicUsize,
}

impl Reached {
    pub(crate) fn heads(&self) -> usize {
        self.heads.load(SeqCst)
    }

    pub(crate) fn whole(&self) -> usize {
        self.whole.load(SeqCst)
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(SeqCst)
    }

    pub(crate) fn written(&self) -> usize {
        self.written.load(SeqCst)
    }
}

/// An engine that answers `/health` at once, and everything else with `answer` bytes for as long as somebody takes them:
/// none is silence.
pub(crate) fn engine(answer: usize) -> (Arc<Engine>, Arc<Reached>) {
    let reached = Arc::new(Reached::default());
    let shared = Arc::clone(&reached);
    let engine = Engine::new(move |socket| {
        let reached = Arc::clone(&shared);
        async move {
            reached.open.fetch_add(1, SeqCst);
            let _ended = serve(socket, answer, &reached).await;
            reached.open.fetch_sub(1, SeqCst);
        }
    });
    (engine, reached)
}

/// `None` when the connection has ended.
async fn serve(mut socket: DuplexStream, answer: usize, reached: &Reached) -> Option<()> {
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    loop {
        let head = read_head(&mut socket).await?;
        if head.starts_with("GET /health ") {
            socket.write_all(ok.as_bytes()).await.ok()?;
            continue;
        }
        reached.heads.fetch_add(1, SeqCst);
        let length = super::support::header(&head, "content-length").map(|text| text.parse());
        let mut body = vec![0; length.unwrap_or(Ok(0)).unwrap()];
        socket.read_exact(&mut body).await.ok()?;
        reached.whole.fetch_add(1, SeqCst);
        if answer == 0 {
            socket.read_u8().await.ok()?;
        }
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {answer}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.ok()?;
        for _ in 0..answer.div_ceil(1024) {
            socket.write_all(&[b'x'; 1024]).await.ok()?;
            reached.written.fetch_add(1024, SeqCst);
        }
    }
}

/// Asks for `streams` answers with a window of one byte for each, and opens each window by `bytes` every `ms`, for `rounds`;
/// returns what came back.
pub(crate) async fn sip(house: &House, streams: u32, pace: (u32, u32, usize)) -> Ending {
    let (bytes, ms, rounds) = pace;
    let (mut reader, mut writer) = tokio::io::split(house.client());
    let one_byte = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 1]);
    let mut begin = [PREFACE, &one_byte].concat();
    for index in 0..streams {
        begin.extend(request(index, &chat()));
    }
    let mut heard = Vec::new();
    let write = async {
        writer.write_all(&begin).await.unwrap();
        for _ in 0..rounds {
            pause(ms).await;
            for index in 0..streams * u32::from(bytes > 0) {
                let update = frame(WINDOW_UPDATE, 0, stream(index), &bytes.to_be_bytes());
                if writer.write_all(&update).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = write => {}
        _ended = reader.read_to_end(&mut heard) => {}
    }
    let mut ending = Ending::default();
    tell(&heard, &mut ending);
    ending
}

/// How an attack ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// The connection was closed, or would take no more.
    pub(crate) closed: bool,
    /// The error code of the last GOAWAY.
    pub(crate) go_away: Option<u32>,
    /// Error codes of reset streams.
    pub(crate) resets: Vec<u32>,
    /// Bytes of the attack that were taken.
    pub(crate) taken: usize,
}

/// How the frames of an attack follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As fast as they are taken.
    AtOnce,
    /// A write for each item, a millisecond apart: all that it begins is under way before the next.
    Apart,
}

/// Opens a connection, sends `frames`, and reads what comes back for a while.
pub(crate) async fn attack(
    house: &House,
    pace: Pace,
    frames: impl IntoIterator<Item = Vec<u8>>,
) -> Ending {
    let (mut reader, mut writer) = tokio::io::split(house.client());
    let mut heard = Vec::new();
    let write = async {
        let begin = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
        let mut taken = 0;
        let mut pending = Vec::new();
        for item in std::iter::once(begin).chain(frames) {
            pending.extend(item);
            if pace == Pace::Apart {
                pause(1).await;
            } else if pending.len() < 4096 {
                continue;
            }
            if writer.write_all(&pending).await.is_err() {
                return taken;
            }
            taken += pending.len();
            pending.clear();
        }
        let _refused = writer.write_all(&pending).await;
        taken + pending.len()
    };
    // By then all is said that is to be said.
    let read = tokio::time::timeout(Duration::from_secs(4), reader.read_to_end(&mut heard));
    let (taken, ended) = tokio::join!(write, read);
    let mut ending = Ending {
        closed: ended.is_ok(),
        taken,
        ..Ending::default()
    };
    tell(&heard, &mut ending);
    ending
}

/// Reads the frames that came back.
fn tell(mut heard: &[u8], ending: &mut Ending) {
    while let Some((head, rest)) = heard.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let Some((payload, rest)) = rest.split_at_checked(usize::try_from(length).unwrap()) else {
            return;
        };
        heard = rest;
        let code = |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().unwrap());
        match head[3] {
            GO_AWAY => ending.go_away = Some(code(4)),
            RST_STREAM => ending.resets.push(code(0)),
            _ => {}
        }
    }
}

/// Another client gets its answer.
pub(crate) async fn another_client_is_served(house: &House) {
    let mut client = house.client();
    write(
        &mut client,
        "GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    )
    .await;
    let answer = super::support::read_all(&mut client).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.ends_with("ok"), "{answer}");
}
