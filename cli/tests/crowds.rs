//! Many clients at once against the real binary, over real sockets: those that vanish together, those that hardly read, and
//! more than there are file handles for. Nothing of them is left when they are gone, and meanwhile the memory is bounded.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unused_imports,
    reason = "a test fails by panicking, and the support is shared with other tests"
)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use support::{Proxy, client, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const IN_FLIGHT: &str = "loadproof_in_flight_requests";

/// Kibibytes of one client that does not read, and of the whole process besides.
const EACH_KIB: usize = 512;
const BESIDES_KIB: usize = 64 * 1024;

/// An engine for crowds, by path: `/v1/completions` never answers, `/v1/chat/completions` answers with one event and then
/// nothing, `/v1/responses` with as many as are taken, up to 8 MiB; everything else is answered at once.
struct Crowded {
    runtime: Runtime,
    address: SocketAddr,
    /// Requests for tokens that are open at the engine.
    live: Arc<AtomicUsize>,
}

impl Crowded {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let live = Arc::new(AtomicUsize::new(0));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&live);
        runtime.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let live = Arc::clone(&shared);
                connections.spawn(async move {
                    let _ended = serve(socket, &live).await;
                });
            }
        });
        Self {
            runtime,
            address,
            live,
        }
    }

    fn live(&self) -> usize {
        self.live.load(SeqCst)
    }
}

/// `None` when the connection has ended.
async fn serve(mut socket: TcpStream, live: &AtomicUsize) -> Option<()> {
    let mut request = Vec::new();
    let end = |request: &[u8]| {
        let head_only = request.starts_with(b"GET ");
        request.ends_with(if head_only { &b"\r\n\r\n"[..] } else { b"{}" })
    };
    while !end(&request) {
        request.push(socket.read_u8().await.ok()?);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1)?;
    if !path.starts_with("/v1/") || path == "/v1/models" {
        let ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
        return socket.write_all(ok.as_bytes()).await.ok();
    }
    live.fetch_add(1, SeqCst);
    let _ended = answer(&mut socket, path).await;
    live.fetch_sub(1, SeqCst);
    None
}

async fn answer(socket: &mut TcpStream, path: &str) -> Option<()> {
    let data = format!("data: {{\"text\":\"{}\"}}\n\n", "x".repeat(1000));
    let event = format!("{:x}\r\n{data}\r\n", data.len());
    let events = match path {
        "/v1/completions" => 0,
        "/v1/chat/completions" => 1,
        _ => 8 * 1024,
    };
    if events > 0 {
        socket.write_all(HEAD.as_bytes()).await.ok()?;
    }
    for _ in 0..events {
        socket.write_all(event.as_bytes()).await.ok()?;
    }
    if events > 1 {
        return socket.write_all(b"0\r\n\r\n").await.ok();
    }
    socket.read_u8().await.ok().map(drop)
}

/// Opens a connection and asks.
async fn ask(proxy: SocketAddr, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(proxy).await.unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

async fn crowd(proxy: SocketAddr, path: &str, count: usize) -> Vec<TcpStream> {
    let mut sockets = Vec::with_capacity(count);
    for _ in 0..count {
        sockets.push(ask(proxy, path).await);
    }
    sockets
}

/// Resident memory of the proxy in KiB.
fn resident(proxy: &Proxy) -> usize {
    let status = format!("/proc/{}/status", proxy.program().id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

/// Open files of the proxy.
fn handles(proxy: &Proxy) -> usize {
    let folder = format!("/proc/{}/fd", proxy.program().id());
    std::fs::read_dir(folder).unwrap().count()
}

/// All that the crowd held comes back: at the engine, in the proxy's gauges, and its file handles.
fn nothing_is_left(engine: &Crowded, proxy: &Proxy, handles_before: usize) {
    eventually("the engine is told of all of them", || {
        (engine.live() == 0).then_some(())
    });
    eventually("nothing is in flight", || {
        (proxy.metric(IN_FLIGHT, &[]) == 0.0).then_some(())
    });
    // The scrapes of this test and connections that are kept for a moment.
    eventually("the file handles come back", || {
        (handles(proxy) <= handles_before + 4).then_some(())
    });
    eventually("the memory goes back to the system", || {
        (resident(proxy) <= BESIDES_KIB).then_some(())
    });
}

fn is_within_bounds(proxy: &Proxy, clients: usize) {
    let (resident, bound) = (resident(proxy), EACH_KIB * clients + BESIDES_KIB);
    assert!(
        resident <= bound,
        "{resident} KiB are resident with {clients} clients: {bound} at most"
    );
}

#[test]
fn fault_05_four_hundred_clients_that_vanish_at_once_leave_nothing() {
    let engine = Crowded::start();
    let proxy = Proxy::start(engine.address, &[]);
    let before = handles(&proxy);
    for _ in 0..2 {
        let clients = engine.runtime.block_on(async {
            let mut clients = crowd(proxy.address, "/v1/completions", 200).await;
            clients.extend(crowd(proxy.address, "/v1/chat/completions", 200).await);
            for client in &mut clients[200..] {
                client.read_u8().await.unwrap();
            }
            clients
        });
        eventually("all are at the engine", || {
            (engine.live() == 400).then_some(())
        });
        is_within_bounds(&proxy, 400);
        drop(clients);
        nothing_is_left(&engine, &proxy, before);
    }
    assert_eq!(client::get(proxy.address, "/health").status(), 200);
}

#[test]
fn fault_27_readers_that_hardly_read_hold_little_and_slow_nobody() {
    const SLOW: usize = 500;
    const STUCK: usize = 300;
    let engine = Crowded::start();
    let proxy = Proxy::start(engine.address, &[]);
    let before = handles(&proxy);
    engine.runtime.block_on(async {
        let mut slow = crowd(proxy.address, "/v1/responses", SLOW).await;
        let stuck = crowd(proxy.address, "/v1/responses", STUCK).await;
        for _round in 0..10 {
            for client in &mut slow {
                client.read_u8().await.unwrap();
            }
            is_within_bounds(&proxy, SLOW + STUCK);
            // A reader that reads gets all of its answer past them.
            let mut fast = ask(proxy.address, "/v1/responses").await;
            let mut tail = Vec::new();
            let mut piece = vec![0; 64 * 1024];
            while !tail.ends_with(b"\r\n0\r\n\r\n") {
                let count = fast.read(&mut piece).await.unwrap();
                assert_ne!(count, 0, "the answer was cut");
                tail.extend_from_slice(&piece[..count]);
                tail.drain(..tail.len().saturating_sub(16));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        drop((slow, stuck));
    });
    nothing_is_left(&engine, &proxy, before);
}
