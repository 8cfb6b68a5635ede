//! TLS to the engine: who is trusted, what is said where it isn't, and what time it was.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

#[path = "support/certificates.rs"]
mod certificates;
#[path = "support/running.rs"]
mod running;
mod support;
#[path = "support/tearing.rs"]
mod tearing;

use certificates::Authority;
use measure::{Nanos, Outcome};
use running::{Running, ask, checked};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use std::path::Path;
use std::sync::Arc;
use support::*;
use tearing::tear;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use upstream::{Connecting, Connector, Tls};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// TLS of an engine called `engine.test`, which asks for a certificate of `clients` if there are any.
fn acceptor(authority: &Authority, clients: Option<&Authority>, alpn: &[&[u8]]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let signed = authority.sign("engine.test");
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let roots = Arc::new(clients.roots());
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let mut config = builder
        .with_single_cert(signed.chain(), signed.key())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// An engine on a port of this machine that answers one request a connection.
struct TlsEngine {
    port: u16,
    _task: JoinSet<()>,
}

impl TlsEngine {
    async fn start(acceptor: TlsAcceptor) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(serve(acceptor.clone(), socket));
            }
        });
        Self { port, _task: task }
    }
}

/// Answers one request, or none where there is no agreement on TLS.
async fn serve(acceptor: TlsAcceptor, socket: TcpStream) {
    let Ok(mut socket) = acceptor.accept(socket).await else {
        return;
    };
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = socket.read_u8().await else {
            return;
        };
        head.push(byte);
    }
    socket.write_all(ANSWER).await.unwrap();
    socket.shutdown().await.unwrap();
}

/// The answer of a proxy in front of the engine at `port`, whose settings of TLS are `tls`, in flow style.
async fn through_proxy(port: u16, tls: &str) -> String {
    let yaml = format!(
        "listen: 127.0.0.1:0\nadmin: {{listen: 127.0.0.1:0}}\n\
         upstream: {{url: 'https://127.0.0.1:{port}', tls: {{{tls}}}}}\n\
         models: {{learn: false, names: [m]}}\ndrain: {{delay: 0s}}\n"
    );
    let running = Running::start(&checked(&yaml)).unwrap();
    let front = TcpStream::connect(("127.0.0.1", running.port.unwrap())).await;
    let answer = ask(front.unwrap()).await;
    running.stop().await;
    answer
}

fn pem(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    format!("'{}'", path.display())
}

#[tokio::test]
async fn fault_79_an_engine_is_trusted_for_its_authority_and_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("house");
    let engine = TlsEngine::start(acceptor(&authority, None, &[])).await;
    let port = engine.port;
    let ca = pem(folder.path(), "ca.pem", &authority.pem());
    let stranger = pem(
        folder.path(),
        "stranger.pem",
        &Authority::new("stranger").pem(),
    );
    let good = through_proxy(port, &format!("ca: {ca}, server_name: engine.test")).await;
    assert!(
        good.starts_with("HTTP/1.0 200 ") && good.ends_with("{}"),
        "{good}"
    );
    for (tls, why) in [
        (format!("ca: {ca}"), "not valid for name"),
        (
            format!("ca: {ca}, server_name: other.test"),
            "not valid for name",
        ),
        (
            format!("ca: {stranger}, server_name: engine.test"),
            "invalid peer certificate",
        ),
    ] {
        let bad = through_proxy(port, &tls).await;
        assert!(bad.starts_with("HTTP/1.0 502 "), "{bad}");
        assert!(
            bad.contains("connect_failed") && bad.contains(why),
            "{why}: {bad}"
        );
    }
}

#[tokio::test]
async fn an_engine_that_asks_is_shown_a_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, clients) = (Authority::new("house"), Authority::new("clients"));
    let engine = TlsEngine::start(acceptor(&authority, Some(&clients), &[])).await;
    let port = engine.port;
    let ca = pem(folder.path(), "ca.pem", &authority.pem());
    let us = clients.sign("loadproof");
    let certificate = pem(folder.path(), "us.crt", &us.certificate);
    let key = pem(folder.path(), "us.key", &us.key);
    let tls = format!("ca: {ca}, server_name: engine.test");
    let without = through_proxy(port, &tls).await;
    assert!(without.starts_with("HTTP/1.0 502 "), "{without}");
    let with = through_proxy(
        port,
        &format!("{tls}, certificate: {certificate}, key: {key}"),
    )
    .await;
    assert!(with.starts_with("HTTP/1.0 200 "), "{with}");
}

/// A house in front of `engine` by TLS.
fn house(engine: &Arc<Engine>, authority: &Authority, yaml: &str) -> House {
    let config = authority.client(&[&TLS13], None);
    let tls = Tls::new(&config, "engine.test".try_into().unwrap());
    House::with(Arc::new(ByTls(ToEngine(Arc::clone(engine)), tls)), yaml)
}

struct ByTls(ToEngine, Tls);

impl Connector for ByTls {
    fn connect(&self) -> Connecting {
        self.0.connect()
    }

    fn authority(&self) -> &str {
        self.0.authority()
    }

    fn tls(&self) -> Option<&Tls> {
        Some(&self.1)
    }
}

#[tokio::test(start_paused = true)]
async fn http2_is_agreed_on_in_the_handshake_or_there_is_none() {
    for (alpn, served) in [(&[&b"h2"[..]][..], true), (&[], false)] {
        let authority = Authority::new("house");
        let acceptor = acceptor(&authority, None, alpn);
        let engine = Engine::new(move |socket| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(socket) = acceptor.accept(socket).await else {
                    return;
                };
                let Ok(mut connection) = h2::server::handshake(socket).await else {
                    return;
                };
                while let Some(Ok((request, mut answer))) = connection.accept().await {
                    let scheme = request.uri().scheme_str().unwrap().to_owned();
                    let head = http::Response::new(());
                    let mut body = answer.send_response(head, false).unwrap();
                    body.send_data(scheme.into(), true).unwrap();
                }
            }
        });
        let house = house(&engine, &authority, "  protocol: http2\n");
        let mut client = house.client();
        write(&mut client, "GET /version HTTP/1.0\r\n\r\n").await;
        let answer = read_all(&mut client).await;
        if served {
            assert!(answer.ends_with("https"), "{answer}");
        } else {
            assert!(answer.starts_with("HTTP/1.0 502 "), "{answer}");
            assert!(
                answer.contains("does not speak HTTP/2 over TLS"),
                "{answer}"
            );
        }
    }
}

/// A token was there when the last byte of its record was: what came before it could not be read.
#[tokio::test(start_paused = true)]
async fn a_token_has_the_time_of_the_read_that_completed_its_record() {
    let authority = Authority::new("house");
    let acceptor = acceptor(&authority, None, &[]);
    let engine = Engine::new(move |socket| {
        let acceptor = acceptor.clone();
        async move {
            let (server, torn) = duplex(64 * 1024);
            let serve = async {
                let mut socket = acceptor.accept(server).await.unwrap();
                let mut request = [0; 4096];
                while socket.read(&mut request).await.unwrap_or(0) > 0 {
                    socket.write_all(STREAM_HEAD.as_bytes()).await.unwrap();
                    pause(1000).await;
                    let two = chunk(&event("a")) + &chunk(&event("b"));
                    socket.write_all(two.as_bytes()).await.unwrap();
                    pause(1000).await;
                    let rest = chunk(&finish()) + &chunk(DONE) + "0\r\n\r\n";
                    socket.write_all(rest.as_bytes()).await.unwrap();
                }
            };
            tokio::join!(serve, tear(torn, socket));
        }
    });
    let mut house = house(&engine, &authority, "");
    let mut client = house.client();
    write(&mut client, &chat_request()).await;
    read_head(&mut client).await.unwrap();
    let record = house.record().await;
    assert_eq!(record.outcome, Outcome::Ok);
    let (sent, token) = (record.stamps.body_sent, record.stamps.first_token);
    // 1000 ms of the engine's, and 50 ms for the last byte.
    assert_eq!(
        token.unwrap().since(sent.unwrap()),
        Nanos::from_millis(1050)
    );
    assert_eq!(record.stamps.last_token, token, "one record, one burst");
}
