//! What a client sends, on its way to the server's parser.
//!
//! On HTTP/1 the guard comes first, and one request at a time: the next one's bytes are held back until the answer is out.
//! So the server never holds unread bytes beside an open answer; it goes on reading, and sees a client leave that had sent
//! something more. What goes on at once is read straight into the server's buffer; only what must wait is copied.
//!
//! Limits: held back is at most a head, and one read more. A head must be whole within its limit, counted from its first
//! byte or from when the answer before it was out; between requests a client may be silent for as long as its limit says.

use crate::accepted::ClientSide;
use crate::connection::ConnectionLimits;
use crate::deadline::{Deadline, Wait};
use crate::guard::{Admitted, Fault, Guard, GuardLimits};
use crate::refusal::Refusal;
use crate::upgrade::is_websocket;
use bytes::{Buf, BufMut, BytesMut};
use config::{HalfClose, Upgrades};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use upstream::Socket;

/// First bytes of an HTTP/2 connection with prior knowledge.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A read of bytes that are held back, in bytes.
const SCRATCH: usize = 2 * 1024;

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    /// With prior knowledge, cleartext.
    Http2,
}

/// How a client's connection is to be closed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parting {
    /// The client is not sending.
    AtOnce,
    /// The client may be sending; this goes out first.
    Lingering(Vec<u8>),
}

/// The reading side of a client's socket.
#[derive(Default)]
pub(crate) struct Intake {
    guarded: Option<Guarded>,
    /// Read and not given on.
    held: BytesMut,
    /// Bytes of `held` that may go on.
    cleared: usize,
}

/// The intake of a connection of HTTP/1.
struct Guarded {
    guard: Guard,
    limits: ConnectionLimits,
    /// Requests that were given to the server, or begun to be.
    handed: u64,
    /// The last of them has no answer yet, or not all of it.
    serving: bool,
    over: Option<Over>,
    deadline: Deadline,
}

/// Why the server gets no further byte.
#[derive(Debug, Clone, Copy)]
enum Over {
    /// The client has ended its side.
    Left,
    /// No request came for too long.
    Idle,
    /// The next request is refused before the server saw a byte of it.
    Refused(Fault),
    /// The body of the request that is being served is at fault.
    Broken(Fault),
    /// The client asks to switch, by a head of this length, which is held with what follows it.
    Switched(usize),
}

impl Intake {
    /// From here on, requests go through a guard.
    pub(crate) fn guard(&mut self, limits: ConnectionLimits) {
        self.guarded = Some(Guarded {
            guard: Guard::new(GuardLimits {
                head_bytes: limits.head_bytes,
                head_fields: limits.head_fields,
            }),
            limits,
            handed: 0,
            serving: false,
            over: None,
            deadline: Deadline::default(),
        });
    }

    /// Reads until the bytes differ from HTTP/2's preface, or are all of it: never waits for more than that.
    pub(crate) fn poll_protocol(
        &mut self,
        socket: &mut dyn Socket,
        side: &ClientSide,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Protocol>> {
        loop {
            let common = self.held.iter().zip(PREFACE).take_while(|(a, b)| a == b);
            let common = common.count();
            if common == PREFACE.len() {
                self.guarded = None;
                self.cleared = self.held.len();
                return Poll::Ready(Ok(Protocol::Http2));
            }
            if common < self.held.len() || self.is_over() {
                return Poll::Ready(Ok(Protocol::Http1));
            }
            match self.poll_hold(socket, side, cx) {
                Poll::Ready(read) => read?,
                Poll::Pending => ready!(self.poll_deadline(side, cx)),
            }
        }
    }

    /// Gives the server what may go on.
    pub(crate) fn poll_read(
        &mut self,
        socket: &mut dyn Socket,
        side: &ClientSide,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.give(side, buf) {
                return Poll::Ready(Ok(()));
            }
            let Some(guarded) = &mut self.guarded else {
                return poll_socket(socket, side, cx, buf);
            };
            if let Some(over) = guarded.over {
                return Poll::Ready(over.told());
            }
            let before = buf.filled().len();
            let read = if guarded.wants_more() && self.held.is_empty() {
                self.poll_through(socket, side, cx, buf)
            } else {
                self.poll_hold(socket, side, cx)
            };
            match read {
                Poll::Ready(read) => read?,
                Poll::Pending => ready!(self.poll_deadline(side, cx)),
            }
            if buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Looks for the client's going while the server doesn't, which is so for as long as it serves one that may have ended
    /// its side. An end is none then; a reset is.
    pub(crate) fn watch(
        &mut self,
        socket: &mut dyn Socket,
        side: &ClientSide,
        cx: &mut Context<'_>,
    ) -> io::Result<()> {
        while let Some(guarded) = &self.guarded
            && guarded.limits.half_close == HalfClose::Serve
            && guarded.over.is_none()
            && !guarded.wants_more()
        {
            match self.poll_hold(socket, side, cx) {
                Poll::Ready(read) => read?,
                Poll::Pending => break,
            }
        }
        Ok(())
    }

    /// All that the server had was written. If that was the last of an answer, the next request may come.
    pub(crate) fn on_flush(&mut self, side: &ClientSide, cx: &mut Context<'_>) {
        let Some(guarded) = &mut self.guarded else {
            return;
        };
        if !guarded.serving || side.answered() != guarded.handed {
            return;
        }
        guarded.serving = false;
        // The server waits for the read that it was denied while the answer was open.
        if !self.held.is_empty() || self.poll_deadline(side, cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }

    /// The head by which the client asked to switch: its bytes, with those that followed, and its length. Once.
    pub(crate) fn take_switch(&mut self) -> Option<(BytesMut, usize)> {
        match self.guarded.as_ref()?.over? {
            Over::Switched(head) if !self.held.is_empty() => {
                Some((std::mem::take(&mut self.held), head))
            }
            _ => None,
        }
    }

    /// How to close, as things stand.
    pub(crate) fn parting(&self) -> Parting {
        let Some(guarded) = &self.guarded else {
            return Parting::AtOnce;
        };
        match guarded.over {
            Some(Over::Refused(fault)) => Parting::Lingering(Refusal::of(fault).raw()),
            Some(Over::Broken(_)) => Parting::Lingering(Vec::new()),
            Some(Over::Left | Over::Switched(_)) => Parting::AtOnce,
            Some(Over::Idle) | None => {
                if self.held.is_empty() && guarded.guard.between_requests() {
                    Parting::AtOnce
                } else {
                    Parting::Lingering(Vec::new())
                }
            }
        }
    }

    /// Bytes that were read and not given on.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    fn is_over(&self) -> bool {
        self.guarded
            .as_ref()
            .is_some_and(|guarded| guarded.over.is_some())
    }

    /// Gives what is held and may go on; false if there is none.
    fn give(&mut self, side: &ClientSide, buf: &mut ReadBuf<'_>) -> bool {
        if self.cleared == 0
            && !self.held.is_empty()
            && let Some(guarded) = &mut self.guarded
            && guarded.wants_more()
        {
            self.cleared = guarded.admit(&mut self.held, side);
        }
        if self.cleared == 0 {
            return false;
        }
        let take = self.cleared.min(buf.remaining());
        buf.put_slice(&self.held[..take]);
        self.held.advance(take);
        self.cleared -= take;
        if self.held.is_empty() {
            // What was held is rarely held again, and a client may be idle for long.
            self.held = BytesMut::new();
        }
        true
    }

    /// Reads straight into the server's buffer, and holds back what must not go on yet.
    fn poll_through(
        &mut self,
        socket: &mut dyn Socket,
        side: &ClientSide,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(poll_socket(socket, side, cx, buf))?;
        let Some(guarded) = &mut self.guarded else {
            return Poll::Ready(Ok(()));
        };
        let read = &mut buf.filled_mut()[before..];
        if read.is_empty() {
            guarded.over = Some(Over::Left);
            return Poll::Ready(Ok(()));
        }
        let take = guarded.admit(read, side);
        let rest = &read[take..];
        if !rest.is_empty() && matches!(guarded.over, None | Some(Over::Switched(_))) {
            self.held.put_slice(rest);
        }
        buf.set_filled(before + take);
        Poll::Ready(Ok(()))
    }

    /// Reads a little more to hold back. A client that sends requests ahead of their answers is read no further than a
    /// head's length; from then on its leaving is noticed only by writing to it.
    fn poll_hold(
        &mut self,
        socket: &mut dyn Socket,
        side: &ClientSide,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(guarded) = &self.guarded
            && !guarded.wants_more()
            && self.held.len() > guarded.limits.head_bytes
        {
            return Poll::Pending;
        }
        let mut scratch = [MaybeUninit::uninit(); SCRATCH];
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(poll_socket(socket, side, cx, &mut read))?;
        match (read.filled(), &mut self.guarded) {
            ([], Some(guarded)) => guarded.over = Some(Over::Left),
            (bytes, _) => self.held.put_slice(bytes),
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when the client took too long, and then it is over.
    fn poll_deadline(&mut self, side: &ClientSide, cx: &mut Context<'_>) -> Poll<()> {
        let Some(guarded) = &mut self.guarded else {
            return Poll::Pending;
        };
        if guarded.serving {
            return Poll::Pending;
        }
        // An empty line begins no head: it may be the end of what some clients send after a body.
        let (wait, limit) =
            if !guarded.guard.between_requests() || b"\r\n".starts_with(&self.held[..]) {
                (Wait::Idle, guarded.limits.client_idle)
            } else {
                (Wait::Head, guarded.limits.head_timeout)
            };
        ready!(guarded.deadline.poll(wait, limit, cx));
        match wait {
            Wait::Idle => guarded.over = Some(Over::Idle),
            Wait::Head => guarded.end(Over::Refused(Fault::HeadTimeout), side),
        }
        Poll::Ready(())
    }
}

impl Guarded {
    /// Whether the next bytes may be looked at: those of the next request may not while the last one is being served.
    fn wants_more(&self) -> bool {
        self.over.is_none() && !(self.serving && self.guard.between_requests())
    }

    /// Shows `bytes` to the guard; returns how many may go on.
    fn admit(&mut self, bytes: &mut [u8], side: &ClientSide) -> usize {
        let is_next = self.guard.between_requests();
        let admitted = self.guard.admit(bytes);
        if let Some(fault) = admitted.fault {
            // A fault in a body that came in one piece with its head spares the engine the head, too.
            let over = if is_next { Over::Refused } else { Over::Broken };
            self.end(over(fault), side);
            return 0;
        }
        if let Some(head) = self.switches(&admitted, bytes) {
            self.over = Some(Over::Switched(head));
            return 0;
        }
        if is_next && admitted.take > 0 {
            self.handed += 1;
            self.serving = true;
            self.deadline.lift();
        }
        if let Some(length) = admitted.upgrade {
            forget_upgrade(&mut bytes[..length]);
        }
        admitted.take
    }

    /// The length of the head, if it asks for what the client may switch to. A head with a body does not.
    fn switches(&self, admitted: &Admitted, bytes: &[u8]) -> Option<usize> {
        let head = admitted.upgrade?;
        let allowed = self.limits.allow_upgrade == Upgrades::Websocket;
        let alone = self.guard.between_requests() && admitted.take == head;
        (allowed && alone && is_websocket(bytes.get(..head)?)).then_some(head)
    }

    /// Nothing more goes on, by a fault.
    fn end(&mut self, over: Over, side: &ClientSide) {
        if let Over::Refused(fault) | Over::Broken(fault) = over {
            tracing::debug!(code = fault.code(), message = %fault, "refused by its bytes");
            side.on_refused(fault);
        }
        if let Over::Broken(fault) = over {
            side.on_broken(fault);
        }
        self.over = Some(over);
    }
}

impl Over {
    /// What the server is told: the connection's end, or that a body broke, so that nobody takes it for whole.
    fn told(self) -> io::Result<()> {
        match self {
            Self::Left | Self::Idle | Self::Refused(_) | Self::Switched(_) => Ok(()),
            Self::Broken(fault) => Err(io::Error::new(io::ErrorKind::InvalidData, fault)),
        }
    }
}

/// Renames the fields that ask for an upgrade, in place, into one that ends here as well and means nothing to the server:
/// hyper prepares for an upgrade whenever it sees one asked for, and then ends the connection without flushing it.
fn forget_upgrade(head: &mut [u8]) {
    for line in head.split_mut(|byte| *byte == b'\n') {
        if let Some((name, [b':', ..])) = line.split_at_mut_checked(b"upgrade".len())
            && name.eq_ignore_ascii_case(b"upgrade")
        {
            name.copy_from_slice(b"trailer");
        }
    }
}

fn poll_socket(
    socket: &mut dyn Socket,
    side: &ClientSide,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let read = ready!(Pin::new(socket).poll_read(cx, buf));
    side.on_read();
    Poll::Ready(read)
}

#[cfg(test)]
mod tests;
