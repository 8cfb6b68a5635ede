//! The servers that read what the proxy forwards, each on a free port of the loopback, each with a log of what it read.

use crate::report::Report;
use crate::sink::{CONNECTION, Sink};
use crate::support::{Program, tool};
use socket2::{Domain, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const FIX: &str = "run `make e2e`, or `scripts/setup parsers` once";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not a parser of others: the bytes taken literally.
    Sink,
    Nginx,
    Haproxy,
    H11,
    Httptools,
    Node,
}

impl Kind {
    /// The parsers of others.
    pub(crate) const PARSERS: [Self; 5] = [
        Self::Nginx,
        Self::Haproxy,
        Self::H11,
        Self::Httptools,
        Self::Node,
    ];
}

pub(crate) struct Server {
    pub(crate) kind: Kind,
    pub(crate) address: SocketAddr,
    /// By its own word.
    pub(crate) version: String,
    /// What it read, or, if it is a proxy, what it handed on.
    log: Log,
    _program: Option<Program>,
    _folder: TempDir,
}

enum Log {
    Sink(Sink),
    Output,
}

impl Server {
    /// Starts it and waits until it listens.
    pub(crate) fn start(kind: Kind) -> Self {
        let folder = TempDir::new().unwrap();
        match kind {
            Kind::Sink => {
                let sink = Sink::start();
                Self {
                    kind,
                    address: sink.address,
                    version: String::new(),
                    log: Log::Sink(sink),
                    _program: None,
                    _folder: folder,
                }
            }
            Kind::Nginx => nginx(folder),
            Kind::Haproxy => haproxy(folder),
            Kind::H11 => scripted(kind, folder, uvicorn("h11")),
            Kind::Httptools => scripted(kind, folder, uvicorn("httptools")),
            Kind::Node => scripted(kind, folder, node()),
        }
    }

    /// Everything that it has read, in order, up to this request, which it must have been sent.
    pub(crate) fn reports_up_to(&self, target: &str) -> Vec<Report> {
        let marker = format!("\"{target}\"");
        match (&self.log, &self._program) {
            (Log::Output, Some(program)) => {
                program.heard(target, |line| line.contains(&marker).then_some(()));
                let lines = program.lines();
                lines
                    .iter()
                    .filter_map(|line| Report::of_line(line))
                    .collect()
            }
            (Log::Sink(sink), _) => sink.reports(),
            (Log::Output, None) => Vec::new(),
        }
    }
}

/// A proxy by trade: what it makes of a request is seen behind it.
fn nginx(folder: TempDir) -> Server {
    let sink = Sink::start();
    // Bound and not listening, it keeps the port for nginx, which can't be handed a socket.
    let port = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    port.set_reuse_port(true).unwrap();
    port.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
        .unwrap();
    let address = port.local_addr().unwrap().as_socket().unwrap();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("{name}_temp_path {name};\n"))
        .collect();
    let configuration = format!(
        "daemon off;\nmaster_process off;\npid pid;\nerror_log stderr notice;\nevents {{}}\n\
         http {{\n{temporary}access_log off;\nignore_invalid_headers off;\nkeepalive_requests 1000000;\n\
         proxy_http_version 1.1;\nproxy_ignore_client_abort on;\n\
         proxy_set_header Host $http_host;\nproxy_set_header Connection \"\";\n\
         proxy_set_header {CONNECTION} $remote_port;\n\
         server {{ listen {address} reuseport; location / {{ proxy_pass http://{}; }} }}\n}}\n",
        sink.address
    );
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, configuration).unwrap();
    let mut command = Command::new(tool("nginx"));
    command
        .arg("-p")
        .arg(folder.path())
        .arg("-c")
        .arg(file)
        .args(["-e", "stderr"]);
    let program = Program::start("nginx", &mut command, FIX);
    let version = program.heard("its version", |line| {
        let (_, version) = line.split_once(": nginx/")?;
        Some(format!("nginx {version}"))
    });
    Server {
        kind: Kind::Nginx,
        address,
        version,
        log: Log::Sink(sink),
        _program: Some(program),
        _folder: folder,
    }
}

/// The same.
fn haproxy(folder: TempDir) -> Server {
    let sink = Sink::start();
    let (listener, address) = listener();
    let configuration = format!(
        "global\n  maxconn 500\ndefaults\n  mode http\n  timeout connect 60s\n  timeout client 60s\n  \
         timeout server 60s\nfrontend front\n  bind fd@0\n  http-request set-header {CONNECTION} %[src_port]\n  \
         default_backend back\nbackend back\n  server sink {}\n",
        sink.address
    );
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, configuration).unwrap();
    let said = Command::new(tool("haproxy")).arg("-v").output();
    let said = String::from_utf8(said.expect(FIX).stdout).unwrap();
    let version = said.split(' ').nth(2).unwrap().split('-').next().unwrap();
    let mut command = Command::new(tool("haproxy"));
    command.arg("-db").arg("-f").arg(file);
    Server {
        kind: Kind::Haproxy,
        address,
        version: format!("HAProxy {version}"),
        log: Log::Sink(sink),
        _program: Some(Program::start_on(listener, "HAProxy", &mut command, FIX)),
        _folder: folder,
    }
}

/// A server that prints its version and what it reads.
fn scripted(kind: Kind, folder: TempDir, mut command: Command) -> Server {
    let (listener, address) = listener();
    let program = Program::start_on(listener, "the server", &mut command, FIX);
    let version = program.heard("its version", |line| {
        Some(line.strip_prefix("version ")?.to_owned())
    });
    Server {
        kind,
        address,
        version,
        log: Log::Output,
        _program: Some(program),
        _folder: folder,
    }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn uvicorn(parser: &str) -> Command {
    let mut command = Command::new(root().join(".venv/bin/python"));
    command.arg(script("serve_uvicorn.py")).arg(parser);
    command
}

/// The machine's, else the one that `scripts/setup parsers` brings.
fn node() -> Command {
    let brought = root().join(".venv/bin/node");
    let mut command = Command::new(if brought.exists() {
        brought
    } else {
        "node".into()
    });
    command.arg(script("serve_node.js"));
    command
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/parsers")
        .join(name)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
