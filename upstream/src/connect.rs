//! How a connection to the engine is made.

use crate::Socket;
use std::future::Future;
use std::io;
use std::pin::Pin;
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

/// Connects by TCP, with `TCP_NODELAY`: a token must not wait for the acknowledgement of the one before.
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
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        })
    }

    fn authority(&self) -> &str {
        &self.authority
    }
}
