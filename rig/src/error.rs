//! What kept a run from giving a result.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What kept a run from giving a result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A thread was refused.
    #[error("cannot start a thread for the {name}")]
    Thread {
        /// Of which part.
        name: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A runtime was refused.
    #[error("cannot set up the runtime of the {name}")]
    Runtime {
        /// Of which part.
        name: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A listener could not be opened.
    #[error("cannot listen on {address} for the {what}")]
    Listen {
        /// For whom.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A part of the run ended by a panic.
    #[error("the {name} ended by a panic")]
    Panicked {
        /// Which part.
        name: &'static str,
    },
    /// The configuration that the rig makes for its proxy was refused.
    #[error("the proxy's configuration was refused: {0}")]
    Configuration(config::Faults),
    /// The proxy could not be built.
    #[error("cannot build the proxy")]
    Proxy(#[from] proxy::Error),
    /// The control's socket could not be opened.
    #[error("cannot connect the control over the loopback")]
    Control {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The proxy's process could not be started.
    #[error("cannot start {}", binary.display())]
    Child {
        /// Its program.
        binary: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The proxy's process ended before it listened.
    #[error("{} did not come to listen: {said}", binary.display())]
    ChildSilent {
        /// Its program.
        binary: PathBuf,
        /// What it wrote to standard error.
        said: String,
    },
    /// Something did not take a connection.
    #[error("cannot reach {address}")]
    Reach {
        /// Where it should be.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A stream was not what was asked for.
    #[error("a stream from {address} broke off: {why}")]
    Stream {
        /// Where it came from.
        address: SocketAddr,
        /// How.
        why: String,
    },
    /// There was nothing to compare.
    #[error("there are no {what} to compare")]
    Nothing {
        /// Of what.
        what: &'static str,
    },
    /// An option makes no sense.
    #[error("{option} is {value}; {fix}")]
    Option {
        /// Its flag.
        option: &'static str,
        /// What was given.
        value: String,
        /// What to give.
        fix: &'static str,
    },
    /// Signals could not be listened for.
    #[error("cannot listen for an interrupt")]
    Signals(#[source] io::Error),
    /// Asked to stop twice.
    #[error("interrupted before there was a result")]
    Interrupted,
}
