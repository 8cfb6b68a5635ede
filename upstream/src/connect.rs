//! How a connection to the engine is made.
//!
//! A name is looked up at each connection, off the workers: an engine that was moved is found again within one connect. Its
//! addresses are tried in the resolver's order, the next one as soon as one has failed, or has been silent for a moment;
//! the first to be connected wins (RFC 8305, without its sorting, which the resolver has done).

use crate::{Socket, Tls};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use socket2::{SockRef, TcpKeepalive};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream, lookup_host};

/// How long one address may be silent before the next is tried beside it: RFC 8305's "connection attempt delay".
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// A connection being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Socket>>> + Send>>;

/// Makes connections to one engine. A test hands out ends of pipes.
pub trait Connector: Send + Sync {
    /// Begins a new connection.
    fn connect(&self) -> Connecting;

    /// The engine's authority, for requests that name no host: `host:port`.
    fn authority(&self) -> &str;

    /// The engine's place, for messages.
    fn place(&self) -> &str {
        self.authority()
    }

    /// How TLS is spoken over its connections, where it is. Making one does not include that.
    fn tls(&self) -> Option<&Tls> {
        None
    }
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
#[derive(Clone)]
pub struct TcpConnector {
    authority: String,
    host: String,
    port: u16,
    tls: Option<Tls>,
}

/// Connects to a Unix socket.
#[derive(Debug, Clone)]
pub struct UnixConnector {
    path: PathBuf,
    place: String,
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
            tls: None,
        }
    }

    /// The same, by TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }
}

impl Connector for TcpConnector {
    fn connect(&self) -> Connecting {
        let (host, port) = (self.host.clone(), self.port);
        Box::pin(async move {
            let addresses = addresses_of(&host, port).await?;
            let stream = first_of(addresses, TcpStream::connect).await?;
            prepare(&stream)?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        })
    }

    fn authority(&self) -> &str {
        &self.authority
    }

    fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

impl UnixConnector {
    /// To the socket at `path`.
    pub fn new(path: PathBuf) -> Self {
        let place = format!("unix:{}", path.display());
        Self { path, place }
    }
}

impl Connector for UnixConnector {
    fn connect(&self) -> Connecting {
        let path = self.path.clone();
        Box::pin(async move {
            let stream = UnixStream::connect(path).await?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        })
    }

    /// What clients of engines on Unix sockets put there.
    fn authority(&self) -> &str {
        "localhost"
    }

    fn place(&self) -> &str {
        &self.place
    }
}

/// The addresses of `host` as of now. An address is its own, and asks nobody.
async fn addresses_of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let looked_up = lookup_host((host, port)).await.map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("the name {host} does not resolve: {error}"),
        )
    })?;
    Ok(looked_up.collect())
}

/// The first connection that `connect` makes to one of `addresses`, or how the last of them failed.
async fn first_of<T, F>(
    addresses: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let mut addresses = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    loop {
        let more = addresses.next();
        let may_wait = more.is_none();
        attempts.extend(more.map(&connect));
        let outcome = if may_wait {
            attempts.next().await
        } else {
            match tokio::time::timeout(NEXT_ADDRESS_AFTER, attempts.next()).await {
                Ok(outcome) => outcome,
                Err(_) => continue,
            }
        };
        match outcome {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => failure = error,
            None => return Err(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use measure::Nanos;
    use parking_lot::Mutex;
    use tokio::net::TcpListener;

    /// What the address with this last digit does, after how long.
    async fn behave(address: SocketAddr) -> io::Result<u16> {
        let port = address.port();
        match port {
            1 => std::future::pending().await,
            2 => Err(io::ErrorKind::ConnectionRefused.into()),
            3 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(port)
            }
            _ => Ok(port),
        }
    }

    async fn tried(ports: &[u16]) -> (Vec<u16>, io::Result<u16>, Nanos) {
        let addresses = ports
            .iter()
            .map(|port| SocketAddr::from(([192, 0, 2, 1], *port)));
        let tried = Mutex::new(Vec::new());
        let clock = Clock::start();
        let began = clock.now();
        let first = first_of(addresses.collect(), |address| {
            tried.lock().push(address.port());
            behave(address)
        })
        .await;
        (tried.into_inner(), first, clock.now().since(began))
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_address_that_answers_wins_and_a_dead_one_costs_a_moment() {
        let ms = Nanos::from_millis;
        for (ports, expected, took) in [
            (&[4, 5][..], (&[4][..], Some(4)), ms(0)),
            (&[2, 4], (&[2, 4], Some(4)), ms(0)),
            (&[1, 4, 5], (&[1, 4], Some(4)), ms(250)),
            (&[1, 1, 3], (&[1, 1, 3], Some(3)), ms(600)),
            (&[3, 4], (&[3], Some(3)), ms(100)),
            (&[2, 2], (&[2, 2], None), ms(0)),
            (&[], (&[], None), ms(0)),
        ] {
            let (tried, first, elapsed) = tried(ports).await;
            assert_eq!((&tried[..], first.ok()), expected, "{ports:?}");
            assert_eq!(elapsed, took, "{ports:?}");
        }
    }

    #[tokio::test]
    async fn a_name_that_does_not_resolve_is_named() {
        let error = addresses_of("no..such..engine", 8000).await;
        let message = error.unwrap_err().to_string();
        assert!(
            message.starts_with("the name no..such..engine does not resolve"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn fault_09_the_system_is_told_to_look_for_peers_that_lost_their_power() -> io::Result<()>
    {
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
