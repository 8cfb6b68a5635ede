//! `loadproof proxy` as a process of its own, so that its CPU and its memory are its own.

use crate::Error;
use crate::process::Process;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A running proxy; it ends with this.
#[derive(Debug)]
pub(crate) struct Child {
    /// Where clients connect.
    pub(crate) address: SocketAddr,
    /// Where its metrics and status are.
    pub(crate) admin: SocketAddr,
    pub(crate) process: Process,
    child: process::Child,
}

impl Child {
    /// Starts `binary` in front of `backend` with these settings (`KEY=VALUE`) besides, and waits until it listens.
    pub(crate) fn start(
        binary: &Path,
        backend: SocketAddr,
        settings: &[&str],
    ) -> Result<Self, Error> {
        let failed = |source| Error::Child {
            binary: binary.to_owned(),
            source,
        };
        let mut child = Command::new(binary)
            .args([
                "proxy",
                "--listen",
                "127.0.0.1:0",
                "--admin-listen",
                "127.0.0.1:0",
                "--log-format",
                "json",
            ])
            .args(["--upstream", &format!("http://{backend}")])
            .args(settings.iter().flat_map(|setting| ["--set", setting]))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let process = Process::of(child.id());
        let mut lines = child
            .stderr
            .take()
            .into_iter()
            .flat_map(|stderr| BufReader::new(stderr).lines().map_while(Result::ok));
        let mut said = String::new();
        let addresses = lines.by_ref().find_map(|line| {
            said.push_str(&line);
            listening(&line)
        });
        let Some((address, admin)) = addresses else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::ChildSilent {
                binary: binary.to_owned(),
                said,
            });
        };
        // Nobody may block on a full pipe. The thread ends with the process.
        let drained = thread::Builder::new()
            .name("proxy's log".to_owned())
            .spawn(move || lines.for_each(drop));
        drop(drained.map_err(failed)?);
        Ok(Self {
            address,
            admin,
            process,
            child,
        })
    }

    /// The body at a path of its admin listener.
    pub(crate) async fn page(&self, path: &str) -> Result<String, Error> {
        let address = self.admin;
        let failed = |source| Error::Reach { address, source };
        let mut socket = TcpStream::connect(address).await.map_err(failed)?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: rig\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.map_err(failed)?;
        let body = answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned());
        body.ok_or_else(|| Error::Stream {
            address,
            why: format!("{path} had no answer"),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The addresses for clients and for the admin in the line that says that it listens.
fn listening(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let line: Value = serde_json::from_str(line).ok()?;
    let fields = line.get("fields")?;
    (fields.get("message")? == "listening").then_some(())?;
    let address = |name| fields.get(name)?.as_str()?.parse().ok();
    Some((address("listen")?, address("admin")?))
}
