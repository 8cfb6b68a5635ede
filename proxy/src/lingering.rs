//! The end of a connection whose client may still be sending.
//!
//! A socket that is closed with unread bytes in it tells its peer so at once (on TCP: a reset), and the peer drops the
//! answer that it has not read yet. So the answer goes out, then our side's end, and what still comes is read and dropped
//! until the client's end, for a short while.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::ReadBuf;
use tokio::time::{Sleep, sleep};
use upstream::Socket;

/// The longest that all of it may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Read and dropped at once, in bytes.
const SCRATCH: usize = 8 * 1024;

/// Reads in one turn, so that a client that sends fast can't keep the worker.
const READS_A_TURN: usize = 16;

/// A connection on its way out.
#[derive(Debug)]
pub(crate) struct Lingering {
    /// What is still to be written.
    answer: Vec<u8>,
    written: usize,
    stage: Stage,
    limit: Pin<Box<Sleep>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Answer,
    End,
    Drain,
}

impl Lingering {
    /// Writes `answer` (possibly nothing) first.
    pub(crate) fn new(answer: Vec<u8>) -> Self {
        Self {
            answer,
            written: 0,
            stage: Stage::Answer,
            limit: Box::pin(sleep(LIMIT)),
        }
    }

    /// Ready when the socket may be closed.
    pub(crate) fn poll(
        &mut self,
        socket: &mut dyn Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.limit.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        if self.stage == Stage::Answer {
            ready!(self.poll_answer(socket, cx))?;
            self.stage = Stage::End;
        }
        if self.stage == Stage::End {
            ready!(Pin::new(&mut *socket).poll_shutdown(cx))?;
            self.stage = Stage::Drain;
        }
        poll_drain(socket, cx)
    }

    fn poll_answer(
        &mut self,
        socket: &mut dyn Socket,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self
            .answer
            .get(self.written..)
            .filter(|rest| !rest.is_empty())
        {
            match ready!(Pin::new(&mut *socket).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        Pin::new(&mut *socket).poll_flush(cx)
    }
}

fn poll_drain(socket: &mut dyn Socket, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    let mut scratch = [MaybeUninit::uninit(); SCRATCH];
    for _ in 0..READS_A_TURN {
        let mut read = ReadBuf::uninit(&mut scratch);
        ready!(Pin::new(&mut *socket).poll_read(cx, &mut read))?;
        if read.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}
