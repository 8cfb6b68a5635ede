//! The accept loop: one task a connection, a cap on them, and no spinning when file handles run out.

use crate::accepted::{Accepted, Tally};
use crate::connection::{self, ConnectionLimits};
use crate::crowd::{Crowd, Entered, Place};
use crate::listening::{Listening, Stream};
use crate::refusal::{
    ACCEPT_FAILED, CROWDED_OUT, Refusal, TLS_FAILED, TLS_TIMEOUT, TOO_MANY_CONNECTIONS,
};
use crate::relay::Relay;
use crate::tasks::Tasks;
use crate::tls::Serving;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use upstream::{Clock, Edge, Socket, Transport};

/// Pause after an accept that failed for want of file handles or memory.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Serves every connection alike, whatever it runs over.
#[derive(Clone)]
pub(crate) struct Acceptor {
    pub(crate) relay: Arc<Relay>,
    pub(crate) tasks: Tasks,
    pub(crate) clock: Clock,
    pub(crate) connection: ConnectionLimits,
    pub(crate) crowd: Arc<Crowd>,
    pub(crate) most_connections: usize,
    pub(crate) tls: Option<Arc<Serving>>,
    /// Longest handshake.
    pub(crate) tls_handshake: Duration,
}

impl Acceptor {
    /// Serves one connection in a task of its own, if there is room for it.
    pub(crate) fn serve(&self, socket: Box<dyn Socket>) {
        if let Some(place) = self.enter() {
            self.serve_at(place, socket);
        }
    }

    /// A place for one more connection, if there is room.
    fn enter(&self) -> Option<Place> {
        let Entered { place, sent_away } = self.crowd.enter(self.tasks.closing());
        if sent_away {
            self.relay.ledger.refused(CROWDED_OUT);
        }
        place
    }

    fn serve_at(&self, place: Place, socket: Box<dyn Socket>) {
        match &self.tls {
            None => self.tasks.spawn(self.connection(place, socket.into())),
            Some(tls) => {
                let (acceptor, tls) = (self.clone(), Arc::clone(tls));
                self.tasks.spawn(async move {
                    if let Some(transport) = acceptor.secure(socket, &tls).await {
                        acceptor.connection(place, transport).await;
                    }
                });
            }
        }
    }

    fn connection(&self, place: Place, transport: Transport) -> impl Future<Output = ()> + use<> {
        let ledger = self.relay.ledger.clone();
        let hard_stop = self.tasks.hard_stop().clone();
        let accepted = Accepted::new(transport, self.clock, self.connection, hard_stop, ledger);
        place.seen(accepted.side());
        let tasks = self.tasks.closed_by(place.leave().clone());
        let served = connection::serve(accepted, Arc::clone(&self.relay), tasks, self.connection);
        async move {
            served.await;
            drop(place);
        }
    }

    /// The client's side of the handshake must be over within its limit; a process that stops waits for none.
    async fn secure(&self, socket: Box<dyn Socket>, tls: &Serving) -> Option<Transport> {
        let edge = Edge::new(socket, self.clock);
        let stamps = edge.stamps();
        let handshake = tokio::time::timeout(self.tls_handshake, tls.acceptor().accept(edge));
        let closing = self.tasks.closing();
        match closing.run_until_cancelled(handshake).await? {
            Ok(Ok(stream)) => Some(Transport {
                socket: Box::new(stream),
                edge: Some(stamps),
            }),
            Ok(Err(error)) => {
                self.relay.ledger.refused(TLS_FAILED);
                tracing::debug!(%error, "a client's TLS handshake failed");
                None
            }
            Err(_) => {
                self.relay.ledger.refused(TLS_TIMEOUT);
                tracing::debug!(limit = ?self.tls_handshake, "a client's TLS handshake took too long (limits.tls_handshake)");
                None
            }
        }
    }

    /// Accepts until the task is ended.
    pub(crate) async fn run(self, listener: Listening) {
        loop {
            match listener.accept().await {
                Ok(stream) => match (self.enter(), stream.prepare()) {
                    (None, _) => self.turn_away(&stream),
                    (Some(place), Ok(())) => self.serve_at(place, stream.into_socket()),
                    (Some(_), Err(error)) => {
                        tracing::debug!(%error, "a client's socket could not be set up");
                    }
                },
                Err(error) if is_one_client(&error) => {
                    tracing::debug!(%error, "a client left before it was accepted");
                }
                Err(error) => {
                    self.relay.ledger.refused(ACCEPT_FAILED);
                    tracing::warn!(%error, "cannot accept connections; trying again");
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }

    /// Says why, and closes. What fits into the socket's buffer is written; nobody waits for a client that won't read.
    fn turn_away(&self, stream: &Stream) {
        self.relay.ledger.refused(TOO_MANY_CONNECTIONS);
        if self.tls.is_some() {
            // Nothing can be said before a handshake, which is what there is no room for.
            return;
        }
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
