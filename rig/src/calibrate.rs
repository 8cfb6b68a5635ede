//! What a proxy adds to a stream, and how far the times that ours reports are off: against a scripted backend with known times.
//!
//! The backend writes into each event the moment at which it writes it. A client reads the same script through the proxy
//! and directly, turn by turn, and stamps each event in the read that brought it, on the backend's clock. What the proxy
//! adds is the difference of the two delays of the event with the same number, so that what the machine, the client and the
//! backend cost is on both sides.
//!
//! The proxy whose delay, CPU and memory are measured is a process of its own, as a deployment has it. The error of its
//! reported times needs the backend's clock, so for that part the proxy runs on a thread here, and its records are held
//! against the backend's log. Another proxy (`via`) is measured from the outside only.
//!
//! Limits: the client shares the machine with what it measures. So the gaps grow with the number of streams to keep the
//! total to a few thousand events a second, which is stated with each level.

pub(crate) mod client;
pub(crate) mod level;
mod memory;
mod own;
pub(crate) mod report;

pub use report::{Added, Level, Memory, Own, Report, Spread};

use crate::child::Child;
use crate::clock::OneClock;
use crate::engine_thread::{Deployment, EngineThread};
use crate::{Error, listen, part};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Streams open at once, a level each.
    pub streams: Vec<u32>,
    /// Which proxy.
    pub proxy: Subject,
    /// Where the backend listens: a free port if not said.
    pub backend_listen: Option<SocketAddr>,
}

/// A proxy to be measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// `loadproof proxy`, started from this binary.
    Ours(PathBuf),
    /// One that runs already, and passes on to [`Options::backend_listen`].
    Other(SocketAddr),
}

/// Is told how far it is.
pub trait Watch {
    /// The backend listens: another proxy can be pointed to it.
    fn started(&mut self, backend: SocketAddr);

    /// A level's part begins; `done` of `all` are over.
    fn step(&mut self, what: &str, done: usize, all: usize);
}

impl Options {
    /// Most streams at once.
    pub const STREAMS_MOST: u32 = 2048;

    fn check(&self) -> Result<(), Error> {
        let wrong = |&&streams: &&u32| streams == 0 || streams > Self::STREAMS_MOST;
        match self.streams.iter().find(wrong) {
            Some(streams) => Err(Error::Option {
                option: "--streams",
                value: streams.to_string(),
                fix: "give 1 to 2048, divided by commas",
            }),
            None if self.streams.is_empty() => Err(Error::Option {
                option: "--streams",
                value: "empty".to_owned(),
                fix: "give at least one number",
            }),
            None => Ok(()),
        }
    }
}

/// Measures.
///
/// # Errors
/// If something could not be started or reached, or a stream broke off.
pub fn run(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    options.check()?;
    part::runtime("calibration")?.block_on(session(options, watch))
}

async fn session(options: &Options, watch: &mut dyn Watch) -> Result<Report, Error> {
    let clock = OneClock::start();
    let address = options.backend_listen.unwrap_or(listen::ANYWHERE);
    let deployment = Deployment {
        profile: sim::Profile::fast(),
        seed: 0,
        model: client::MODEL,
    };
    let backend =
        EngineThread::start(deployment, &clock, listen::listen("backend", address)?).await?;
    watch.started(backend.address);
    let (child, through) = match &options.proxy {
        Subject::Ours(binary) => {
            let child = Child::start(binary, backend.address, &[])?;
            let address = child.address;
            (Some(child), address)
        }
        Subject::Other(address) => (None, *address),
    };
    let parts = if child.is_some() { 3 } else { 1 };
    let all = options.streams.len() * parts;
    let mut levels = Vec::new();
    for &streams in &options.streams {
        let done = levels.len() * parts;
        watch.step(&format!("{streams} streams, through and around"), done, all);
        let mut level =
            level::measure(streams, (backend.address, through), &clock, child.as_ref()).await?;
        backend.server.truth().drain();
        if let Subject::Ours(binary) = &options.proxy {
            watch.step(
                &format!("{streams} streams, reported beside true"),
                done + 1,
                all,
            );
            level.own = Some(own::measure(streams, &backend, &clock).await?);
            watch.step(&format!("{streams} streams, memory"), done + 2, all);
            level.memory = memory::measure(streams, binary, backend.address).await?;
        }
        levels.push(level);
    }
    drop(child);
    backend.stop().await?;
    Ok(Report {
        proxy: report::subject(&options.proxy),
        levels,
    })
}
