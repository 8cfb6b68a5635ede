//! How a connection to the engine is made.

use crate::Socket;
use socket2::{SockRef, TcpKeepalive};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpStream;

/// A connection being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Makes connections to one engine. A test hands out ends of pipes.
pub trait Connector: Send + Sync {
    /// Begins a new connection.
    fn connect(&self) -> Connecting;

    /// The engine's authority (`host:port`), for messages and for requests that name no host.
    fn authority(&self) -> &str;
}

/// How long a peer may leave sent bytes unacknowledged, and roughly how long a silent one may be dead: the keep-alive below
/// takes as long to notice.
const DEAD_AFTER: Duration = Duration::from_secs(60);

/// Sets up a connection that carries tokens, whichever end it is: a token must not wait for the acknowledgement of the one
/// before, and a peer that lost its power or its network must be noticed without a word from it.
///
/// # Errors
/// If the system refuses an option.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(30))
        .with_interval(Duration::from_secs(10))
        .with_retries(3);
    let socket = SockRef::from(stream);
    socket.set_tcp_keepalive(&keepalive)?;
    // Keep-alive is not sent while bytes are unacknowledged; without this they would be sent again for a quarter of an hour.
    socket.set_tcp_user_timeout(Some(DEAD_AFTER))
}

/// Connects by TCP.
#[derive(Debug, Clone)]
pub struct TcpConnector {
    authority: String,
    host: String,
    port: u16,
}

impl TcpConnector {
    /// To `host` (a name, or an address without brackets) and `port`.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        let authority = if host.contains(':') {
            format!("[{host}]:{port}")
        } else {
            format!("{host}:{port}")
        };
        Self {
            authority,
            host,
            port,
        }
    }
}

impl Connector for TcpConnector {
    fn connect(&self) -> Connecting {
        let (host, port) = (self.host.clone(), self.port);
        Box::pin(async move {
            let stream = TcpStream::connect((host.as_str(), port)).await?;
            prepare(&stream)?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        })
    }

    fn authority(&self) -> &str {
        &self.authority
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn fault_09_a_peer_that_lost_its_power_is_noticed_by_the_system() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        prepare(&stream)?;
        let socket = SockRef::from(&stream);
        assert!(socket.tcp_nodelay()? && socket.keepalive()?);
        assert_eq!(socket.tcp_keepalive_time()?, Duration::from_secs(30));
        assert_eq!(socket.tcp_keepalive_interval()?, Duration::from_secs(10));
        assert_eq!(socket.tcp_keepalive_retries()?, 3);
        assert_eq!(socket.tcp_user_timeout()?, Some(DEAD_AFTER));
        Ok(())
    }
}
