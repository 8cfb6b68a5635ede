//! What a connection costs the proxy's process in memory: idle, with a stream that waits for its next token, and with a
//! client that reads nothing.
//!
//! Each is measured on a process that has done nothing before: a heap that has been larger gives room for nothing.

use crate::Error;
use crate::calibrate::client::{self, Script};
use crate::calibrate::report::Memory;
use crate::child::Child;
use crate::process::Process;
use http_body_util::BodyExt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// How often is looked, and how many looks in a row must find nothing going on.
const LOOK: Duration = Duration::from_millis(100);
const STILL: u32 = 5;

/// It is not waited for longer than this many looks.
const LOOKS: u32 = 150;

/// Nothing goes on where threads want less than this share of the time.
const BUSY_PERCENT: u64 = 5;

/// Measures it on processes of `binary` in front of `backend`; `None` where the system does not tell.
pub(super) async fn measure(
    streams: u32,
    binary: &Path,
    backend: SocketAddr,
) -> Result<Option<Memory>, Error> {
    let idle = each(streams, binary, backend, Holds::Idle).await?;
    let open = each(streams, binary, backend, Holds::Open).await?;
    let stalled = each(streams, binary, backend, Holds::Stalled).await?;
    Ok(idle
        .zip(open)
        .zip(stalled)
        .map(|((idle, open), stalled)| Memory {
            idle_connection_bytes: idle,
            open_stream_bytes: open,
            stalled_stream_bytes: stalled,
        }))
}

/// What each connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Nothing: no request came.
    Idle,
    /// A stream that had its first token.
    Open,
    /// A stream of more than any queue holds, that nobody reads.
    Stalled,
}

impl Holds {
    /// What the backend writes, if anything is asked for.
    fn script(self) -> Option<Script> {
        let script = |gap_us, bursts, bytes| Script {
            first_us: 0,
            gaps_us: vec![gap_us],
            bursts,
            events: 1,
            bytes,
        };
        match self {
            Self::Idle => None,
            // The second burst is due when this is long over.
            Self::Open => Some(script(600_000_000, 2, 260)),
            Self::Stalled => Some(script(0, 512, 8_192)),
        }
    }
}

async fn each(
    streams: u32,
    binary: &Path,
    backend: SocketAddr,
    holds: Holds,
) -> Result<Option<i64>, Error> {
    let child = Child::start(binary, backend, &[])?;
    let Some(before) = settled(&child.process).await else {
        return Ok(None);
    };
    let mut open = Vec::new();
    for number in 0..u64::from(streams) {
        let mut socket = connect(&child).await?;
        if let Some(script) = holds.script() {
            let request = request(&script, number, &child).await?;
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

/// A request, as bytes.
async fn request(script: &Script, number: u64, child: &Child) -> Result<Vec<u8>, Error> {
    let broken = |why: String| Error::Stream {
        address: child.address,
        why,
    };
    let request = client::request(script, number, child.address)
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

/// Resident memory of the proxy's process once neither it nor the backend here has anything to do, and it stands still
/// within 1 %.
async fn settled(proxy: &Process) -> Option<i64> {
    let mut last = i64::try_from(proxy.resident_bytes()?).ok()?;
    let mut wanted = wanted_ns(proxy)?;
    let mut still = 0;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        let now = i64::try_from(proxy.resident_bytes()?).ok()?;
        let wanted_now = wanted_ns(proxy)?;
        let busy = u128::from(wanted_now.saturating_sub(wanted)) * 100
            > LOOK.as_nanos() * u128::from(BUSY_PERCENT);
        let moved = (now - last).abs() * 100 > last;
        still = if busy || moved { 0 } else { still + 1 };
        (last, wanted) = (now, wanted_now);
        if still == STILL {
            break;
        }
    }
    Some(last)
}

/// The time that the threads of both processes have run, or would have, had they had a CPU.
fn wanted_ns(proxy: &Process) -> Option<u64> {
    let of = |process: &Process| {
        let scheduled = process.scheduled()?;
        Some(scheduled.running_ns + scheduled.waiting_ns)
    };
    Some(of(proxy)? + of(&Process::this())?)
}
