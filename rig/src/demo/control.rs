//! A control beside the measurement: how long a message takes over a bare socket of the loopback, from right before the
//! write to right after the read in another thread, while all else runs.
//!
//! That is what the machine adds to anything that crosses a socket at the time: the kernel's work, and the wait for a CPU
//! that others have. No proxy can report a token earlier. The reader sleeps until the kernel wakes it, as the proxy does.

use crate::clock::OneClock;
use crate::demo::pairing::histogram;
use crate::part::Part;
use crate::{Error, listen};
use hdrhistogram::Histogram;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A message is sent so often. A prime, so that it does not keep step with timers of round times.
const EVERY: Duration = Duration::from_millis(7);

/// The time of a write, in nanoseconds, as it is sent.
type Message = [u8; 8];

/// A control under way.
#[derive(Debug)]
pub(crate) struct Control {
    clock: OneClock,
    sender: TcpStream,
    reader: Part<Histogram<u64>>,
}

impl Control {
    /// Starts the reader's thread.
    pub(crate) async fn start(clock: OneClock) -> Result<Self, Error> {
        let listener = listen::listen("control", listen::ANYWHERE)?;
        let address = listen::address(&listener)?;
        let reader = Part::start("control", move |_stop| async move {
            let mut hops = histogram();
            if let Ok(socket) = accept(listener).await {
                read(socket, clock, &mut hops).await;
            }
            hops
        })?;
        let refused = |source| Error::Control { source };
        let sender = TcpStream::connect(address).await.map_err(refused)?;
        sender.set_nodelay(true).map_err(refused)?;
        Ok(Self {
            clock,
            sender,
            reader,
        })
    }

    /// Sends until it is dropped, or until the reader is gone.
    pub(crate) async fn send_for_ever(&mut self) {
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            ticks.tick().await;
            let message: Message = self.clock.stamp().0.to_be_bytes();
            if self.sender.write_all(&message).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// How long the hops took, in nanoseconds.
    pub(crate) async fn stop(self) -> Result<Histogram<u64>, Error> {
        drop(self.sender);
        self.reader.stop().await
    }
}

async fn accept(listener: std::net::TcpListener) -> io::Result<TcpStream> {
    let (socket, _) = tokio::net::TcpListener::from_std(listener)?
        .accept()
        .await?;
    Ok(socket)
}

/// Reads to the end.
async fn read(mut socket: TcpStream, clock: OneClock, hops: &mut Histogram<u64>) {
    let mut message = Message::default();
    while socket.read_exact(&mut message).await.is_ok() {
        let sent = u64::from_be_bytes(message);
        hops.saturating_record(clock.stamp().0.saturating_sub(sent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::runtime;

    #[test]
    fn hops_are_timed() {
        let hops = runtime("test").expect("a runtime").block_on(async {
            let mut control = Control::start(OneClock::start()).await.expect("it starts");
            // The timeout is the length of the run, not a limit on it.
            let _ = tokio::time::timeout(EVERY * 5, control.send_for_ever()).await;
            control.stop().await.expect("it ends")
        });
        assert!(hops.len() >= 2, "{}", hops.len());
        assert!(hops.min() > 0);
    }
}
