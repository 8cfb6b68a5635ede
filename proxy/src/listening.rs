//! Where clients connect: a TCP port, or a Unix socket.

use crate::unix_socket::UnixSocket;
use config::Listen;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use upstream::Socket;

/// Connections that the kernel holds for us until they are accepted.
pub(crate) const BACKLOG: i32 = 1024;

/// A listener for clients, bound.
#[derive(Debug)]
pub struct Listening(Kind);

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

/// A client's connection, just accepted.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listening {
    /// Binds it.
    ///
    /// # Errors
    /// What the system said, or why a Unix socket's path can't be had.
    pub(crate) fn bind(at: &Listen) -> io::Result<Self> {
        match at {
            Listen::Tcp(address) => bind_tcp(*address).map(Self::from),
            Listen::Unix(path) => UnixSocket::bind(path).map(|socket| Self(Kind::Unix(socket))),
        }
    }

    /// Its address and port, if it has one.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.0 {
            Kind::Tcp(listener) => listener.local_addr().ok(),
            Kind::Unix(_) => None,
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match &self.0 {
            Kind::Tcp(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| Stream::Tcp(stream)),
            Kind::Unix(socket) => socket.accept().await.map(Stream::Unix),
        }
    }
}

impl From<TcpListener> for Listening {
    fn from(listener: TcpListener) -> Self {
        Self(Kind::Tcp(listener))
    }
}

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Tcp(listener) => match listener.local_addr() {
                Ok(address) => address.fmt(f),
                Err(_) => f.write_str("unknown"),
            },
            Kind::Unix(socket) => write!(f, "unix:{}", socket.path().display()),
        }
    }
}

impl Stream {
    /// A lone token must leave at once; a peer that lost power must be noticed.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => upstream::prepare(stream),
            Self::Unix(_) => Ok(()),
        }
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        }
    }

    pub(crate) fn into_socket(self) -> Box<dyn Socket> {
        match self {
            Self::Tcp(stream) => Box::new(stream),
            Self::Unix(stream) => Box::new(stream),
        }
    }
}

/// Binds `address`; `::` for both versions whatever the system's default is.
pub(crate) fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // A restart must not wait for the connections of the process before.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
