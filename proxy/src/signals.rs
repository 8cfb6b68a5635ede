//! When to stop: signals of the system, or whoever holds the other end.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// A source of requests to stop. The first begins the drain, the second cuts it short.
#[derive(Debug)]
pub struct Signals(Source);

#[derive(Debug)]
enum Source {
    System {
        terminate: Signal,
        interrupt: Signal,
    },
    Channel(mpsc::Receiver<()>),
}

impl Signals {
    /// SIGTERM and SIGINT. Works as process 1 too, where nothing is handled unless it is asked for.
    ///
    /// # Errors
    /// If the system lets no handler be set.
    pub fn system() -> io::Result<Self> {
        Ok(Self(Source::System {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        }))
    }

    /// Whatever is sent into the channel. Dropping the sender is a request to stop too.
    pub fn channel(receiver: mpsc::Receiver<()>) -> Self {
        Self(Source::Channel(receiver))
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        match &mut self.0 {
            Source::System {
                terminate,
                interrupt,
            } => {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            Source::Channel(receiver) => {
                receiver.recv().await;
            }
        }
    }
}
