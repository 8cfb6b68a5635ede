//! What watches a request to the engine go by: one exchange ([`crate::observer`]), or a call that carries many
//! ([`crate::calls`]).

use crate::SocketStamps;
use http::HeaderMap;
use http::response;
use measure::{End, Nanos};
use std::sync::Arc;
use wire::Endpoint;

/// What is being waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// A first token.
    pub(crate) first_token: bool,
    /// Since when, if not since the request was begun.
    pub(crate) since: Option<Nanos>,
    /// More of an answer that has begun.
    pub(crate) more: bool,
}

/// Told of everything that happens, as it happens.
pub(crate) trait Watch: Send {
    /// The route.
    fn endpoint(&self) -> Endpoint;

    /// The connection that it runs on, whose writes date the request; `took` is how long a new one took to make.
    fn on_connection(&mut self, sockets: Arc<SocketStamps>, took: Option<Nanos>);

    /// The connection has turned.
    fn on_turn(&mut self) {}

    /// The response head came.
    fn on_head(&mut self, at: Nanos, head: &response::Parts);

    /// A frame of the body, in the read stamped `at`.
    fn on_frame(&mut self, at: Nanos, bytes: &[u8]);

    /// What trails the body: of a gRPC call its status.
    fn on_trailers(&mut self, fields: &HeaderMap);

    /// The request was made to ask for usage: its answer tells nothing of others.
    fn on_usage_injected(&mut self);

    /// The request should have been made to ask for usage, and was too long for that.
    fn on_usage_not_asked(&mut self) {}

    /// The queue to the client was full: later stamps are the client's pace.
    fn on_client_limited(&mut self);

    /// The client left before it had all that was read.
    fn on_undelivered(&mut self);

    /// It ended, from the engine's side.
    fn on_end(&mut self, at: Nanos, end: End);

    /// It ended by something that no read brought. What it means that the client's side broke, that side knows.
    fn on_end_now(&mut self, end: End);

    /// What is being waited for.
    fn waits(&self) -> Waits;
}
