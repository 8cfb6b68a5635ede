//! Clients that come by TLS: what they get, who is turned away and counted, and what time it was.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it found by failing"
)]
#![expect(dead_code, reason = "the support is shared with other tests")]

#[path = "support/certificates.rs"]
mod certificates;
mod support;
#[path = "support/tearing.rs"]
mod tearing;

use certificates::{Authority, Signed};
use measure::{Nanos, Outcome};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SupportedProtocolVersion};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use support::*;
use tearing::tear;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use upstream::Clock;

const BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// A proxy with a certificate for `front.test`, and who signed it.
struct Front {
    house: House,
    authority: Authority,
    /// The files, which are read once.
    _folder: TempDir,
}

impl Front {
    fn new(engine: &Arc<Engine>) -> Self {
        Self::asking(engine, None)
    }

    /// Clients have to show a certificate of `clients`.
    fn asking(engine: &Arc<Engine>, clients: Option<&Authority>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("house");
        let (certificate, key) = authority.sign("front.test").write(folder.path());
        let mut yaml = format!(
            "tls:\n  certificate: '{}'\n  key: '{}'\n",
            certificate.display(),
            key.display()
        );
        if let Some(clients) = clients {
            let ca = folder.path().join("clients.pem");
            std::fs::write(&ca, clients.pem()).unwrap();
            yaml.push_str(&format!("  client_ca: '{}'\n", ca.display()));
        }
        Self {
            house: House::new(engine, &yaml),
            authority,
            _folder: folder,
        }
    }

    /// A client that speaks `protocol`.
    async fn client(&self, protocol: &str) -> TlsStream<DuplexStream> {
        let mut config = self.authority.client(&BOTH, None);
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        connect(config, "front.test", self.house.client())
            .await
            .unwrap()
    }

    fn rejected(&self, reason: &str) -> f64 {
        let live = exporter::Live::default();
        let text = self
            .house
            .proxy
            .exporter()
            .encode(exporter::negotiate(None), &live)
            .unwrap();
        let text = String::from_utf8(text).unwrap();
        let series = format!("loadproof_rejected_requests_total{{reason=\"{reason}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("{series} is not in {text}"))
            .parse()
            .unwrap()
    }
}

async fn connect(
    config: ClientConfig,
    name: &'static str,
    socket: DuplexStream,
) -> io::Result<TlsStream<DuplexStream>> {
    TlsConnector::from(Arc::new(config))
        .connect(name.try_into().unwrap(), socket)
        .await
}

/// Answers each request with two tokens, 100 ms apart.
fn engine() -> Arc<Engine> {
    Engine::new(|mut socket| async move {
        while read_request(&mut socket).await.is_some() {
            write(&mut socket, STREAM_HEAD).await;
            for text in ["a", "b"] {
                pause(100).await;
                write(&mut socket, &chunk(&event(text))).await;
            }
            write(&mut socket, &chunk(&finish())).await;
            write(&mut socket, &chunk(DONE)).await;
            write(&mut socket, "0\r\n\r\n").await;
        }
    })
}

/// What the client reads until the end of a chunked body.
async fn answer(client: &mut TlsStream<DuplexStream>) -> String {
    let mut all = Vec::new();
    let mut buf = [0; 4096];
    while !all.ends_with(b"\r\n0\r\n\r\n") {
        let read = client.read(&mut buf).await.unwrap();
        assert_ne!(read, 0, "the answer ended before its last chunk");
        all.extend_from_slice(&buf[..read]);
    }
    String::from_utf8(all).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_the_same_by_either_version_of_tls() {
    let mut front = Front::new(&engine());
    for version in BOTH {
        let config = front.authority.client(&[version], None);
        let mut client = connect(config, "front.test", front.house.client())
            .await
            .unwrap();
        assert_eq!(client.get_ref().1.protocol_version(), Some(version.version));
        client.write_all(chat_request().as_bytes()).await.unwrap();
        let answer = answer(&mut client).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let expected = event("a") + &event("b") + &finish() + DONE;
        assert_eq!(dechunk(body), (expected, true));
        let record = front.house.record().await;
        assert_eq!(record.outcome, Outcome::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_agrees_on_http2_is_served_by_it() {
    let mut front = Front::new(&engine());
    let client = front.client("h2").await;
    assert_eq!(client.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) = h2::client::handshake(client).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { connection.await.unwrap() });
    let request = http::Request::post("https://front.test/v1/chat/completions");
    let (response, mut body) = sender
        .send_request(request.body(()).unwrap(), false)
        .unwrap();
    body.send_data(r#"{"model":"m","stream":true,"messages":[]}"#.into(), true)
        .unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    let (mut body, mut all) = (response.into_body(), Vec::new());
    while let Some(data) = body.data().await {
        all.extend_from_slice(&data.unwrap());
    }
    let expected = event("a") + &event("b") + &finish() + DONE;
    assert_eq!(String::from_utf8(all).unwrap(), expected);
    assert_eq!(front.house.record().await.outcome, Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn bytes_are_guarded_after_they_are_decrypted() {
    let front = Front::new(&engine());
    let mut client = front.client("http/1.1").await;
    let smuggled = "POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    client.write_all(smuggled.as_bytes()).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn fault_79_a_client_that_is_silent_in_the_handshake_is_let_go_after_ten_seconds() {
    let front = Front::new(&engine());
    for sent in [&b""[..], b"\x16\x03\x01"] {
        let mut client = front.house.client();
        client.write_all(sent).await.unwrap();
        let clock = Clock::start();
        let began = clock.now();
        let mut left = Vec::new();
        client.read_to_end(&mut left).await.unwrap();
        assert_eq!(clock.now().since(began), Nanos::from_millis(10_000));
        assert_eq!(left, b"");
    }
    assert_eq!(front.rejected("tls_timeout"), 2.0);
    assert_eq!(front.rejected("tls_failed"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_fails_is_counted() {
    let front = Front::new(&engine());
    let config = front.authority.client(&BOTH, None);
    let failed = connect(config, "other.test", front.house.client()).await;
    let why = failed.unwrap_err().to_string();
    assert!(why.contains("not valid for name"), "{why}");
    let mut plain = front.house.client();
    write(&mut plain, &chat_request()).await;
    let mut said = Vec::new();
    plain.read_to_end(&mut said).await.unwrap();
    assert!(!said.starts_with(b"HTTP"), "plain text is no TLS");
    front.house.close(Duration::from_secs(1)).await;
    assert_eq!(front.rejected("tls_failed"), 2.0);
}

/// Whether a client that shows `identity` gets an answer.
async fn is_served(front: &Front, identity: Option<&Signed>) -> bool {
    let config = front.authority.client(&BOTH, identity);
    let Ok(mut client) = connect(config, "front.test", front.house.client()).await else {
        return false;
    };
    if client.write_all(chat_request().as_bytes()).await.is_err() {
        return false;
    }
    let mut head = [0; 12];
    client.read_exact(&mut head).await.is_ok() && head == *b"HTTP/1.1 200"
}

#[tokio::test(start_paused = true)]
async fn only_clients_with_a_certificate_of_the_named_authority_are_served() {
    let clients = Authority::new("clients");
    let front = Front::asking(&engine(), Some(&clients));
    assert!(is_served(&front, Some(&clients.sign("client-1"))).await);
    assert!(!is_served(&front, None).await);
    let stranger = Authority::new("strangers").sign("client-1");
    assert!(!is_served(&front, Some(&stranger)).await);
    let expired = clients.sign_for("client-1", 2020, 2021);
    assert!(!is_served(&front, Some(&expired)).await);
    assert_eq!(front.rejected("tls_failed"), 3.0);
}

/// A record of TLS is of no use before its last byte: so that is when a request came.
#[tokio::test(start_paused = true)]
async fn a_request_came_when_its_record_was_whole() {
    let mut front = Front::new(&engine());
    let (client, torn) = duplex(4096);
    // The proxy's clock began at this instant, too.
    let clock = Clock::start();
    let mut tasks = JoinSet::new();
    tasks.spawn(tear(torn, front.house.client()));
    let config = front.authority.client(&[&TLS13], None);
    let mut client = connect(config, "front.test", client).await.unwrap();
    // What is left of the handshake arrives before.
    pause(1000).await;
    let sent = clock.now();
    client.write_all(chat_request().as_bytes()).await.unwrap();
    answer(&mut client).await;
    let record = front.house.record().await;
    let arrival = record.stamps.arrival;
    assert_eq!(arrival.since(sent), Nanos::from_millis(50));
}
