//! A real Prometheus, and a served exposition for it to scrape.
//!
//! `prometheus` and `promtool` come from `LOADPROOF_PROMETHEUS` and `LOADPROOF_PROMTOOL`, else from the path.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and waits on a bounded channel of std"
)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for a scrape that should come every second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the server asks for native histograms. This version then drops the classic buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Native {
    On,
    Off,
}

/// A running server; ends with its value.
pub(crate) struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: TempDir,
}

/// Something that is scraped.
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    scrapes: Receiver<()>,
}

/// The program of a variable, or of the path.
pub(crate) fn program(variable: &str, name: &str) -> Command {
    let named = std::env::var_os(variable);
    Command::new(named.unwrap_or_else(|| OsString::from(name)))
}

/// Starts a program, or says how to get it.
pub(crate) fn start(command: &mut Command) -> Child {
    command.spawn().unwrap_or_else(|error| {
        let program = command.get_program().display();
        panic!("could not start {program}: {error}: run `make test`, which brings it")
    })
}

// Target

impl Target {
    /// Serves what `answer` makes of each request's `Accept` header: content type and body.
    pub(crate) fn serve(
        mut answer: impl FnMut(Option<&str>) -> (&'static str, Vec<u8>) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let (scraped, scrapes) = sync_channel(64);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let accept = accept_header(&stream);
                let (content_type, body) = answer(accept.as_deref());
                respond(stream, content_type, &body);
                // Full: the test has long seen enough scrapes.
                let _ = scraped.try_send(());
            }
        });
        Self { address, scrapes }
    }

    /// Waits until it has been scraped `n` times; all but the last are stored by then.
    pub(crate) fn wait_for_scrapes(&self, n: usize) {
        for scrape in 1..=n {
            self.scrapes
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("scrape {scrape} of {n}: {error}"));
        }
    }
}

fn accept_header(stream: &TcpStream) -> Option<String> {
    let head = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty());
    let fields: Vec<String> = head.skip(1).collect();
    fields.iter().find_map(|field| {
        let (name, value) = field.split_once(':')?;
        name.eq_ignore_ascii_case("accept")
            .then(|| value.trim().to_owned())
    })
}

fn respond(mut stream: TcpStream, content_type: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A scraper that has gone is no fault of the target.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
}

// Prometheus

impl Prometheus {
    /// Starts a server that scrapes `target` each second and evaluates `rules`.
    pub(crate) fn start(target: SocketAddr, rules: &Path, native: Native) -> Self {
        let folder = TempDir::new().expect("a folder of its own");
        let configuration = folder.path().join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n\
             rule_files: ['{}']\n\
             scrape_configs:\n- job_name: loadproof\n  static_configs: [{{targets: ['{target}']}}]\n",
            rules.display()
        );
        std::fs::write(&configuration, text).expect("the folder can be written");
        let mut command = program("LOADPROOF_PROMETHEUS", "prometheus");
        command
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                folder.path().join("data").display()
            ))
            .arg("--web.listen-address=127.0.0.1:0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if native == Native::On {
            command.arg("--enable-feature=native-histograms");
        }
        let mut child = start(&mut command);
        let address = ready(&mut child);
        Self {
            child,
            address,
            _folder: folder,
        }
    }

    /// What the server says at a path of its API.
    pub(crate) fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let request = format!("GET /api/v1/{path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let answer: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        assert_eq!(answer["warnings"], Value::Null, "{path}: {answer}");
        answer["data"].clone()
    }

    /// The values of an instant query's series.
    pub(crate) fn query(&self, query: &str) -> Vec<f64> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let data = self.get(&format!("query?query={encoded}"));
        let value = |series: &Value| {
            let number = series["value"][1].as_str().expect("a sample");
            number.parse().expect("a number")
        };
        data["result"]
            .as_array()
            .expect("a vector")
            .iter()
            .map(value)
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the log until the server is ready; the address it listens on.
fn ready(child: &mut Child) -> SocketAddr {
    let mut log = BufReader::new(child.stderr.take().expect("its log is a pipe")).lines();
    let mut address = None;
    let mut said = Vec::new();
    for line in log.by_ref().map_while(Result::ok) {
        if line.contains("msg=\"Listening on\"") {
            let field = line.split("address=").nth(1).expect("an address");
            address = field.split(' ').next().and_then(|field| field.parse().ok());
        }
        if line.contains("Server is ready to receive web requests") {
            // It blocks when nobody reads on.
            thread::spawn(move || log.for_each(drop));
            return address.expect("it told its address before");
        }
        said.push(line);
    }
    panic!("prometheus ended at once:\n{}", said.join("\n"));
}
