//! SIGHUP to the real binary: new certificates are served with, faulty ones are not, and nobody who is connected notices.

#![expect(clippy::unwrap_used, reason = "a test says what it found by failing")]
#![allow(
    dead_code,
    unused_imports,
    reason = "the support is shared with other tests"
)]

#[path = "../../proxy/tests/support/certificates.rs"]
mod certificates;
mod support;

use certificates::{Authority, Signed};
use rustls::version::TLS13;
use rustls::{ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use support::{Proxy, eventually};

const ASK: &[u8] = b"GET /health HTTP/1.1\r\nhost: front.test\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

type Connected = StreamOwned<ClientConnection, TcpStream>;

/// An engine that answers whatever comes.
fn engine() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                while socket.read(&mut request).is_ok_and(|read| read > 0) {
                    if socket.write_all(ANSWER).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

fn connect(proxy: &Proxy, authority: &Authority) -> Connected {
    let config = Arc::new(authority.client(&[&TLS13], None));
    let name = "front.test".try_into().unwrap();
    let socket = TcpStream::connect(proxy.address).unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), socket)
}

/// Asks something, and is answered.
fn ask(client: &mut Connected) {
    client.write_all(ASK).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nok") {
        let mut piece = [0; 512];
        let read = client.read(&mut piece).unwrap();
        assert!(read > 0, "the connection ended");
        answer.extend_from_slice(&piece[..read]);
    }
}

/// Whether a new connection is shown this certificate.
fn is_shown(signed: &Signed, proxy: &Proxy, authority: &Authority) -> bool {
    let mut client = connect(proxy, authority);
    ask(&mut client);
    client.conn.peer_certificates().unwrap()[0] == signed.chain()[0]
}

#[test]
fn fault_79_certificates_are_changed_by_a_signal_and_open_connections_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("house");
    let first = authority.sign("front.test");
    let (certificate, key) = first.write(folder.path());
    let files = [
        format!("tls.certificate={}", certificate.display()),
        format!("tls.key={}", key.display()),
    ];
    let proxy = Proxy::start(
        engine(),
        &[
            "--set",
            &files[0],
            "--set",
            &files[1],
            "--set",
            "drain.delay=0s",
        ],
    );
    let mut open = connect(&proxy, &authority);
    ask(&mut open);
    assert!(is_shown(&first, &proxy, &authority));

    let second = authority.sign("front.test");
    second.write(folder.path());
    proxy.program().hang_up();
    eventually("new connections get the new certificate", || {
        is_shown(&second, &proxy, &authority).then_some(())
    });
    ask(&mut open);

    std::fs::write(&key, &first.key).unwrap();
    proxy.program().hang_up();
    eventually("a key of another certificate is refused", || {
        let refused = proxy.metric("loadproof_certificates_refused_total", &[]);
        (refused >= 1.0).then_some(())
    });
    assert!(is_shown(&second, &proxy, &authority), "the old one is kept");
    ask(&mut open);
    drop(open);
    assert_eq!(proxy.stop().code(), Some(0));
}
