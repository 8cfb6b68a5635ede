//! What a connection costs the proxy's process in memory: idle, and with a client that reads nothing.
//!
//! Each is measured on a process that has done nothing before: a heap that has been larger gives room for nothing.

use crate::Error;
use crate::calibrate::child::Child;
use crate::calibrate::client::{self, Script};
use crate::calibrate::report::Memory;
use crate::process::Process;
use http_body_util::BodyExt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// How often memory is looked at, and how often it must stand still.
const LOOK: Duration = Duration::from_millis(200);
const STILL: u32 = 5;

/// It is not waited for longer than this many looks.
const LOOKS: u32 = 50;

/// Measures it on processes of `binary` in front of `backend`; `None` where the system does not tell.
pub(super) async fn measure(
    streams: u32,
    binary: &Path,
    backend: SocketAddr,
) -> Result<Option<Memory>, Error> {
    let idle = each(streams, binary, backend, Holds::Idle).await?;
    let stalled = each(streams, binary, backend, Holds::Stalled).await?;
    Ok(idle.zip(stalled).map(|(idle, stalled)| Memory {
        idle_connection_bytes: idle,
        stalled_stream_bytes: stalled,
    }))
}

/// What each connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Idle,
    Stalled,
}

async fn each(
    streams: u32,
    binary: &Path,
    backend: SocketAddr,
    holds: Holds,
) -> Result<Option<i64>, Error> {
    let child = Child::start(binary, backend)?;
    let Some(before) = settled(&child.process).await else {
        return Ok(None);
    };
    let mut open = Vec::new();
    for number in 0..u64::from(streams) {
        let mut socket = connect(&child).await?;
        if holds == Holds::Stalled {
            let request = stalling(number, &child).await?;
            socket
                .write_all(&request)
                .await
                .map_err(|source| reach(&child, source))?;
        }
        open.push(socket);
    }
    let after = settled(&child.process).await;
    drop(open);
    Ok(after.map(|after| (after - before) / i64::from(streams)))
}

/// A request for more than any queue holds, as bytes.
async fn stalling(number: u64, child: &Child) -> Result<Vec<u8>, Error> {
    let script = Script {
        first_us: 0,
        gaps_us: vec![0],
        bursts: 512,
        events: 1,
        bytes: 8_192,
    };
    let broken = |why: String| Error::Stream {
        address: child.address,
        why,
    };
    let request = client::request(&script, number, child.address)
        .map_err(|error| broken(error.to_string()))?;
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(|body| body.to_bytes());
    let mut bytes = format!(
        "{} {} HTTP/1.1\r\ncontent-length: {}\r\n",
        head.method,
        head.uri,
        body.len()
    )
    .into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(format!("{name}: ").as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

async fn connect(child: &Child) -> Result<TcpStream, Error> {
    TcpStream::connect(child.address)
        .await
        .map_err(|source| reach(child, source))
}

fn reach(child: &Child, source: std::io::Error) -> Error {
    Error::Reach {
        address: child.address,
        source,
    }
}

/// Resident memory once it stands still within 1 %.
async fn settled(process: &Process) -> Option<i64> {
    let mut last = i64::try_from(process.resident_bytes()?).ok()?;
    let mut still = 0;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        let now = i64::try_from(process.resident_bytes()?).ok()?;
        still = if (now - last).abs() * 100 <= last {
            still + 1
        } else {
            0
        };
        last = now;
        if still == STILL {
            break;
        }
    }
    Some(last)
}
