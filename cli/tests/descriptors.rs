//! Too few open files, for real: the binary under a low limit, more clients than it has files for, and what goes on meanwhile.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use support::{Open, Proxy, client, eventually};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const FIRST: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
const LAST: &str = "data: [DONE]\n\n";
const ASK: &str = "GET /health HTTP/1.1\r\nhost: t\r\n\r\n";

/// Nothing but clients takes files.
const QUIET: [&str; 6] = [
    "--set",
    "drain.delay=0s",
    "--set",
    "engine.probe=false",
    "--set",
    "engine.scrape_interval=off",
];

/// An engine that answers at once, but for a stream, which it ends when it is told to.
fn engine() -> (SocketAddr, SyncSender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (finish, finishing) = sync_channel(1);
    let finishing = Arc::new(Mutex::new(finishing));
    thread::spawn(move || {
        for socket in listener.incoming() {
            let finishing = Arc::clone(&finishing);
            thread::spawn(move || serve(socket.unwrap(), &finishing));
        }
    });
    (address, finish)
}

fn serve(mut socket: TcpStream, finishing: &Mutex<Receiver<()>>) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let chunk = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
    loop {
        let read = socket.read(&mut request)?;
        if read == 0 {
            return Ok(());
        }
        if request[..read].starts_with(b"POST ") {
            socket.write_all(format!("{HEAD}{}", chunk(FIRST)).as_bytes())?;
            finishing.lock().unwrap().recv().unwrap();
            socket.write_all(format!("{}0\r\n\r\n", chunk(LAST)).as_bytes())?;
        } else {
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    }
}

fn stream(proxy: &Proxy) -> Open {
    let mut open = Open::post(
        proxy.address,
        "/v1/chat/completions",
        r#"{"stream":true,"messages":[]}"#,
    );
    open.read_until(FIRST);
    open
}

/// What was open ends as it should.
fn is_whole(open: Open) {
    let answer = open.finish();
    assert_eq!(
        String::from_utf8_lossy(answer.body()),
        format!("{FIRST}{LAST}")
    );
    assert!(answer.message.whole, "with its last chunk");
}

fn rejected(proxy: &Proxy, reason: &str) -> f64 {
    let reason = format!("reason=\"{reason}\"");
    proxy.metric("loadproof_rejected_requests_total", &[&reason])
}

#[expect(
    clippy::disallowed_methods,
    reason = "how often something may have happened is a matter of real time"
)]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

#[test]
fn fault_32_four_hundred_clients_and_256_files_leave_room_for_streams_newcomers_and_probes() {
    let (engine, finish) = engine();
    let proxy = Proxy::after("ulimit -n 256", engine, &QUIET);
    let open = stream(&proxy);
    let mut clients = Vec::new();
    for _ in 0..400 {
        let mut client = TcpStream::connect(proxy.address).unwrap();
        client.write_all(ASK.as_bytes()).unwrap();
        let mut answer = [0; 512];
        let read = client.read(&mut answer).unwrap();
        assert!(
            answer[..read].starts_with(b"HTTP/1.1 200 OK"),
            "each is served"
        );
        clients.push(client);
    }
    assert_eq!(client::get(proxy.admin, "/-/healthy").status(), 200);
    assert!(rejected(&proxy, "crowded_out") > 300.0);
    assert!(
        rejected(&proxy, "accept_failed") < 1.0,
        "there were files all the time"
    );
    finish.send(()).unwrap();
    is_whole(open);
    drop(clients);
    assert_eq!(proxy.stop().code(), Some(0));
}

/// The files that the limit leaves are taken by others, so that the cap on connections does not help.
#[test]
fn fault_32_without_files_what_is_open_goes_on_and_accepting_waits_without_spinning() {
    let (engine, finish) = engine();
    let taken = "ulimit -n 128; for _ in $(seq 96); do exec {file}</dev/null; done";
    let proxy = Proxy::after(taken, engine, &QUIET);
    let open = stream(&proxy);

    let begun = now();
    let crowd: Vec<TcpStream> = (0..60)
        .map(|_| TcpStream::connect(proxy.address).unwrap())
        .collect();
    let failed = |line: &&String| line.contains("cannot accept connections; trying again");
    let failures = |lines: &[String]| lines.iter().filter(failed).count();
    proxy.program().heard_lines("that it waits", |lines| {
        (failures(lines) >= 5).then_some(())
    });
    finish.send(()).unwrap();
    is_whole(open);
    let tries = failures(&proxy.program().lines());
    let pauses = begun.elapsed().as_millis() / 100;
    assert!(
        tries as u128 <= pauses + 1,
        "{tries} tries in {pauses} pauses"
    );

    drop(crowd);
    eventually("new clients are served", || {
        TcpStream::connect(proxy.address)
            .ok()
            .and_then(|mut client| {
                client.write_all(ASK.as_bytes()).ok()?;
                let mut answer = [0; 512];
                let read = client.read(&mut answer).ok()?;
                answer[..read].starts_with(b"HTTP/1.1 200 OK").then_some(())
            })
    });
    assert!(rejected(&proxy, "accept_failed") >= 5.0);
    assert_eq!(proxy.stop().code(), Some(0));
}
