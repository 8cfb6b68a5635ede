//! The accept loop: one task a connection, a cap on them, and no spinning when file handles run out.

use crate::accepted::{Accepted, Tally};
use crate::connection::{self, ConnectionLimits};
use crate::listening::{Listening, Stream};
use crate::refusal::{Refusal, TOO_MANY_CONNECTIONS};
use crate::relay::Relay;
use crate::tasks::Tasks;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use upstream::{Clock, Socket};

/// Pause after an accept that failed for want of file handles or memory.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Serves every connection alike, whatever it runs over.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) relay: Arc<Relay>,
    pub(crate) tasks: Tasks,
    pub(crate) clock: Clock,
    pub(crate) connection: ConnectionLimits,
    pub(crate) most_connections: usize,
}

impl Acceptor {
    /// Serves one connection in a task of its own.
    pub(crate) fn serve(&self, socket: Box<dyn Socket>) {
        let ledger = self.relay.ledger.clone();
        let hard_stop = self.tasks.hard_stop().clone();
        let accepted = Accepted::new(socket, self.clock, self.connection, hard_stop, ledger);
        let (relay, tasks, limits) = (Arc::clone(&self.relay), self.tasks.clone(), self.connection);
        self.tasks
            .spawn(connection::serve(accepted, relay, tasks, limits));
    }

    /// Accepts until the task is ended.
    pub(crate) async fn run(self, listener: Listening) {
        loop {
            match listener.accept().await {
                Ok(stream) if self.tasks.open() >= self.most_connections => {
                    self.turn_away(&stream);
                }
                Ok(stream) => match stream.prepare() {
                    Ok(()) => self.serve(stream.into_socket()),
                    Err(error) => tracing::debug!(%error, "a client's socket could not be set up"),
                },
                Err(error) if is_one_client(&error) => {
                    tracing::debug!(%error, "a client left before it was accepted");
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections; trying again");
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }

    /// Says why, and closes. What fits into the socket's buffer is written; nobody waits for a client that won't read.
    fn turn_away(&self, stream: &Stream) {
        self.relay.ledger.refused(TOO_MANY_CONNECTIONS);
        let refusal = Refusal {
            status: http::StatusCode::SERVICE_UNAVAILABLE,
            code: TOO_MANY_CONNECTIONS,
            message: format!(
                "this proxy serves {} connections at once (limits.connections)",
                self.most_connections
            ),
        };
        let _ = stream.try_write(&refusal.raw());
    }
}

fn is_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
