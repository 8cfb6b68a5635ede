//! What kept a run from giving a result.

use std::io;
use std::net::SocketAddr;

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
