//! SIGTERM to the real binary: what is open is finished, probes tell, the process leaves with 0.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use support::{Open, Proxy, client, eventually};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const FIRST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const LAST: &str = "data: [DONE]\n\n";

/// An engine that answers one request: the first event at once, the rest when it is told to.
fn engine(finish: Receiver<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = [0; 4096];
            let read = socket.read(&mut request).unwrap();
            if !request[..read].starts_with(b"POST /v1/chat/completions ") {
                continue;
            }
            let chunk = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
            socket
                .write_all(format!("{HEAD}{}", chunk(FIRST)).as_bytes())
                .unwrap();
            finish.recv().unwrap();
            socket
                .write_all(format!("{}0\r\n\r\n", chunk(LAST)).as_bytes())
                .unwrap();
        }
    });
    address
}

#[test]
fn fault_50_a_stream_that_is_open_at_the_signal_is_finished() {
    let (finish, finishing) = sync_channel(1);
    let proxy = Proxy::start(engine(finishing), &["--set", "drain.delay=0s"]);
    let mut open = Open::post(
        proxy.address,
        "/v1/chat/completions",
        r#"{"stream":true,"messages":[]}"#,
    );
    open.read_until(FIRST);
    assert_eq!(client::get(proxy.admin, "/-/ready").status(), 200);

    proxy.program().terminate();
    eventually("it is no longer ready", || {
        (client::get(proxy.admin, "/-/ready").status() == 503).then_some(())
    });
    assert_eq!(
        client::get(proxy.admin, "/-/healthy").status(),
        200,
        "it lives until the end"
    );

    finish.send(()).unwrap();
    let answer = open.finish();
    assert_eq!(
        String::from_utf8_lossy(answer.body()),
        format!("{FIRST}{LAST}")
    );
    assert!(answer.message.whole, "with its last chunk");
    assert_eq!(proxy.stop().code(), Some(0));
}

/// From the signal to the end the process is alive and not ready, and says so in this order.
#[test]
fn fault_52_from_the_signal_on_it_is_not_ready_and_to_the_end_it_is_alive() {
    let (_finish, finishing) = sync_channel(1);
    let proxy = Proxy::start(engine(finishing), &["--set", "drain.delay=1s"]);
    let ask = |path| client::try_get(proxy.admin, path).map(|answer| answer.status());
    eventually("it is ready", || {
        (ask("/-/ready") == Some(200)).then_some(())
    });
    proxy.program().terminate();
    let mut said = Vec::new();
    // Until nobody answers any more: the delay is long enough for some of each.
    while let (Some(ready), Some(alive)) = (ask("/-/ready"), ask("/-/healthy")) {
        assert_eq!(alive, 200);
        said.push(ready);
    }
    said.dedup();
    let signalled = said.strip_prefix(&[200]).unwrap_or(&said);
    assert_eq!(signalled, [503], "{said:?}");
    assert_eq!(proxy.ended().code(), Some(0));
}

#[test]
fn fault_51_an_idle_process_leaves_at_once() {
    let (_finish, finishing) = sync_channel(1);
    let proxy = Proxy::start(engine(finishing), &["--set", "drain.delay=0s"]);
    assert_eq!(proxy.stop().code(), Some(0));
}
