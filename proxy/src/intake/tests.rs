//! The intake alone, polled by hand.

use crate::accepted::{Accepted, Tally};
use crate::connection::ConnectionLimits;
use config::{HalfClose, Upgrades};
use measure::Nanos;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
use tokio_util::sync::CancellationToken;
use upstream::{Clock, Socket};

const LIMITS: ConnectionLimits = ConnectionLimits {
    head_bytes: 1024,
    head_fields: 10,
    head_timeout: Duration::from_secs(10),
    client_idle: Duration::from_secs(65),
    half_close: HalfClose::Abort,
    allow_upgrade: Upgrades::None,
    client_write: Duration::from_secs(30),
    client_rate: 0,
    control_frames: 1_000,
    new_streams: 100,
};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Tally for Wakes {
    fn delays(&self, _delays: &[Nanos]) {}

    fn refused(&self, _code: &'static str) {}
}

/// A client's end and ours, whose protocol is known.
async fn accepted(first: &str) -> (DuplexStream, Accepted) {
    let (mut client, socket) = duplex(64 * 1024);
    client.write_all(first.as_bytes()).await.unwrap();
    let mut accepted = Accepted::new(
        (Box::new(socket) as Box<dyn Socket>).into(),
        Clock::start(),
        LIMITS,
        CancellationToken::new(),
        Arc::new(Wakes::default()),
    );
    accepted.protocol().await.unwrap();
    (client, accepted)
}

fn read(accepted: &mut Accepted, wakes: &Arc<Wakes>) -> Poll<io::Result<String>> {
    let waker = Waker::from(Arc::clone(wakes));
    let mut bytes = [0; 4096];
    let mut buf = ReadBuf::new(&mut bytes);
    let read = Pin::new(accepted).poll_read(&mut Context::from_waker(&waker), &mut buf);
    read.map_ok(|()| String::from_utf8(buf.filled().to_vec()).unwrap())
}

fn flush(accepted: &mut Accepted, wakes: &Arc<Wakes>) {
    let waker = Waker::from(Arc::clone(wakes));
    let flushed = Pin::new(accepted).poll_flush(&mut Context::from_waker(&waker));
    assert!(flushed.is_ready());
}

fn text(read: Poll<io::Result<String>>) -> String {
    match read {
        Poll::Ready(Ok(text)) => text,
        other => panic!("{other:?}"),
    }
}

const ONE: &str = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
const TWO: &str = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn the_next_request_is_held_until_the_answer_is_out_and_then_called_for() {
    let wakes = Arc::new(Wakes::default());
    let (_client, mut accepted) = accepted(&[ONE, TWO].concat()).await;
    assert_eq!(text(read(&mut accepted, &wakes)), ONE);
    for _ in 0..2 {
        assert!(read(&mut accepted, &wakes).is_pending());
        flush(&mut accepted, &wakes);
    }
    accepted.side().on_answered();
    assert!(
        read(&mut accepted, &wakes).is_pending(),
        "not all of it is written"
    );
    assert_eq!(wakes.0.load(SeqCst), 0);
    flush(&mut accepted, &wakes);
    assert_eq!(
        wakes.0.load(SeqCst),
        1,
        "nobody else calls for what has come already"
    );
    assert_eq!(text(read(&mut accepted, &wakes)), TWO);
}

#[tokio::test(start_paused = true)]
async fn between_requests_the_task_is_woken_by_the_idle_limit_alone() {
    let wakes = Arc::new(Wakes::default());
    let (_client, mut accepted) = accepted(ONE).await;
    assert_eq!(text(read(&mut accepted, &wakes)), ONE);
    assert!(read(&mut accepted, &wakes).is_pending());
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(
        read(&mut accepted, &wakes).is_pending(),
        "an answer may take long"
    );
    accepted.side().on_answered();
    flush(&mut accepted, &wakes);
    tokio::time::sleep(Duration::from_millis(64_999)).await;
    assert_eq!(wakes.0.load(SeqCst), 0);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert_eq!(
        text(read(&mut accepted, &wakes)),
        "",
        "the connection's end"
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_client_sends_ahead_is_held_up_to_a_bound() {
    let wakes = Arc::new(Wakes::default());
    let (mut client, mut accepted) = accepted(ONE).await;
    assert_eq!(text(read(&mut accepted, &wakes)), ONE);
    client.write_all(&[b'x'; 32 * 1024]).await.unwrap();
    assert!(read(&mut accepted, &wakes).is_pending());
    let bound = LIMITS.head_bytes + super::SCRATCH;
    assert!(accepted.held() <= bound, "{}", accepted.held());
}

#[tokio::test(start_paused = true)]
async fn a_body_goes_straight_through_and_leaves_nothing_held() {
    let wakes = Arc::new(Wakes::default());
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n";
    let (mut client, mut accepted) = accepted(head).await;
    assert_eq!(text(read(&mut accepted, &wakes)), head);
    client.write_all(&[b'x'; 9000]).await.unwrap();
    let mut got = 0;
    while got < 9000 {
        got += text(read(&mut accepted, &wakes)).len();
        assert_eq!(accepted.held(), 0);
    }
    assert_eq!(got, 9000);
}
