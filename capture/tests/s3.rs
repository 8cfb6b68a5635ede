//! Uploads against an S3 server, moto's, on loopback (`scripts/setup s3`), and one that stalls or breaks off.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that can't set up its case must fail"
)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use capture::remote::{AfterUpload, Remote, Uploader, UploaderSettings, Uploads};

/// Far more than a pass takes.
const PATIENCE: Duration = Duration::from_secs(100);

const SEGMENT: &str = "date=2026-01-31/hour=07/pod=a/segment-c-000000.parquet";

/// The server, with a bucket in it.
struct S3 {
    server: Child,
    port: u16,
}

impl S3 {
    fn start() -> Self {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
        let mut server = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("run scripts/setup s3");
        let mut said = BufReader::new(server.stderr.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            assert!(
                said.read_line(&mut line).unwrap() > 0,
                "the server went away"
            );
            if let Some((_, port)) = line.trim_end().split_once("http://127.0.0.1:") {
                break port.parse().unwrap();
            }
        };
        // What else it says has to go somewhere.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let s3 = Self { server, port };
        assert!(s3.ask("PUT", "/bucket").starts_with("HTTP/1.1 200"));
        s3
    }

    /// A request without a body, and its whole answer.
    fn ask(&self, method: &str, target: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(socket, "{method} {target} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A port in front of the server that does it harm.
struct Harm {
    port: u16,
    /// Bytes that it lets through to the server from now on.
    budget: Arc<AtomicU64>,
}

impl Harm {
    /// Lets so many bytes through, over all connections, and then drops each; with none at all, takes and never answers.
    fn before(s3: &S3, bytes: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let budget = Arc::new(AtomicU64::new(bytes));
        let (server, left) = (s3.port, Arc::clone(&budget));
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for client in listener.incoming() {
                let client = client.unwrap();
                if bytes == 0 && left.load(Ordering::SeqCst) == 0 {
                    held.push(client);
                } else {
                    let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                    relay(client, server, Arc::clone(&left));
                }
            }
        });
        Self { port, budget }
    }

    fn end(&self) {
        self.budget.store(u64::MAX, Ordering::SeqCst);
    }
}

fn relay(mut client: TcpStream, mut server: TcpStream, left: Arc<AtomicU64>) {
    let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut back, &mut to_client));
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 14];
        while let Ok(read @ 1..) = client.read(&mut bytes) {
            let all = u64::try_from(read).unwrap();
            let spent = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(all)
            });
            if spent.is_err() || server.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(std::net::Shutdown::Both);
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
}

fn remote(port: u16) -> Remote {
    let environment = [
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ];
    let environment = environment.map(|(key, value)| (key.to_owned(), value));
    Remote::open("s3://bucket/captures", environment).unwrap()
}

/// A capture's folder with one segment of so many bytes, no two parts of which are alike.
fn spool(bytes: u64) -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..bytes / 8)
        .flat_map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
        .collect();
    let path = folder.path().join(SEGMENT);
    fs::create_dir_all(folder.path().join(".loadproof/pod=a")).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, &content).unwrap();
    (folder, content)
}

fn upload(port: u16, folder: &Path, patience: Duration) -> Uploads {
    let settings = UploaderSettings {
        folder: folder.to_owned(),
        pod: "a".to_owned(),
        after: AfterUpload::Delete,
    };
    Uploader::start(remote(port), &settings)
        .unwrap()
        .finish(patience)
}

/// What a reader gets from the store.
fn fetched(s3: &S3) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(remote(s3.port).fetch(folder.path()).unwrap().files, 1);
    fs::read(folder.path().join(SEGMENT)).unwrap()
}

#[test]
fn segments_go_up_and_come_down_short_and_in_parts() {
    let s3 = S3::start();
    for bytes in [1_000, 20 << 20] {
        let (folder, content) = spool(bytes);
        let uploads = upload(s3.port, folder.path(), PATIENCE);
        assert_eq!((uploads.files, uploads.failed, uploads.error), (1, 0, None));
        assert!(!folder.path().join(SEGMENT).exists());
        assert!(fetched(&s3) == content);
    }
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing_and_is_done_again() {
    let s3 = S3::start();
    // In the second of three parts, and in each retry of it.
    let harm = Harm::before(&s3, 12 << 20);
    let (folder, content) = spool(20 << 20);
    let uploads = upload(harm.port, folder.path(), PATIENCE);
    assert_eq!(
        (uploads.files, uploads.pending_files),
        (0, 1),
        "{uploads:?}"
    );
    assert!(uploads.failed > 0 && uploads.error.is_some());
    assert!(folder.path().join(SEGMENT).exists());
    assert!(!s3.ask("GET", "/bucket?list-type=2").contains("segment-c"));
    harm.end();
    let uploads = upload(harm.port, folder.path(), PATIENCE);
    assert_eq!((uploads.files, uploads.failed), (1, 0), "{uploads:?}");
    assert!(fetched(&s3) == content);
}

#[test]
fn a_store_that_never_answers_holds_nobody_up() {
    let s3 = S3::start();
    let harm = Harm::before(&s3, 0);
    let (folder, _) = spool(1_000);
    let uploads = upload(harm.port, folder.path(), Duration::from_millis(200));
    assert_eq!((uploads.files, uploads.pending_files), (0, 1));
    assert!(folder.path().join(SEGMENT).exists());
    harm.end();
    assert_eq!(upload(harm.port, folder.path(), PATIENCE).files, 1);
}
