//! Unix sockets on both sides, and both IP versions on one port, through real listeners.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]

#[path = "support/running.rs"]
mod running;

use proxy::Error;
use running::{Running, ask, checked};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

/// Answers what comes on a Unix socket, once a connection.
struct Engine {
    heads: mpsc::Receiver<String>,
    _task: JoinSet<()>,
}

impl Engine {
    fn at(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (sender, heads) = mpsc::channel(16);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(socket.read_u8().await.unwrap());
                }
                socket.write_all(ANSWER.as_bytes()).await.unwrap();
                sender.send(String::from_utf8(head).unwrap()).await.unwrap();
            }
        });
        Self { heads, _task: task }
    }

    /// The head of the next request.
    async fn head(&mut self) -> String {
        self.heads.recv().await.unwrap()
    }
}

fn yaml(folder: &Path, listen: &str) -> String {
    let engine = folder.join("engine.sock");
    format!(
        "listen: '{listen}'\nadmin: {{listen: 127.0.0.1:0}}\nupstream: {{url: 'unix:{}'}}\n\
         models: {{learn: false, names: [m]}}\ndrain: {{delay: 0s}}\n",
        engine.display()
    )
}

#[tokio::test]
async fn a_request_goes_from_one_unix_socket_to_another_and_ours_is_removed_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours.sock");
    let checked = checked(&yaml(folder.path(), &format!("unix:{}", ours.display())));
    let mut engine = Engine::at(&folder.path().join("engine.sock"));
    let running = Running::start(&checked).unwrap();
    assert_eq!(running.port, None);
    let second = Running::start(&checked).err().unwrap();
    let Error::Listen { key, source, .. } = second else {
        panic!("{second}");
    };
    assert_eq!(key, "listen");
    assert!(source.to_string().contains("another loadproof"), "{source}");
    let answer = ask(UnixStream::connect(&ours).await.unwrap()).await;
    assert!(
        answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("{}"),
        "{answer}"
    );
    let head = engine.head().await;
    assert!(head.contains("\r\nhost: localhost\r\n"), "{head}");
    running.stop().await;
    assert!(!ours.exists());
}

#[tokio::test]
async fn an_engine_that_is_not_there_is_told_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&checked(&yaml(folder.path(), "127.0.0.1:0"))).unwrap();
    let port = running.port.unwrap();
    let answer = ask(TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .unwrap())
    .await;
    assert!(answer.starts_with("HTTP/1.0 502 "), "{answer}");
    let place = format!("unix:{}", folder.path().join("engine.sock").display());
    assert!(answer.contains(&place), "{answer}");
    running.stop().await;
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_502_with_the_name() {
    let text = "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nupstream: {url: 'http://no..engine:8000'}\n\
                models: {learn: false, names: [m]}\ndrain: {delay: 0s}\n";
    let running = Running::start(&checked(text)).unwrap();
    let port = running.port.unwrap();
    let answer = ask(TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .unwrap())
    .await;
    assert!(answer.starts_with("HTTP/1.0 502 "), "{answer}");
    assert!(
        answer.contains("the name no..engine does not resolve"),
        "{answer}"
    );
    running.stop().await;
}

#[tokio::test]
async fn one_listener_takes_connections_of_both_ip_versions() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = Engine::at(&folder.path().join("engine.sock"));
    let running = Running::start(&checked(&yaml(folder.path(), "[::]:0"))).unwrap();
    let port = running.port.unwrap();
    for socket in [
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await,
        TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await,
    ] {
        let answer = ask(socket.unwrap()).await;
        assert!(answer.ends_with("{}"), "{answer}");
        engine.head().await;
    }
    running.stop().await;
}
