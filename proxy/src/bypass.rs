//! Whether the engine can be reached around us.
//!
//! Requests that go to the engine directly are measured by nobody, and are load that the figures know nothing of. What can
//! be seen from here: an engine that is not on this host's loopback is reached by whoever can route to it; one that is, only
//! if it listens on the host's other addresses as well, which is tried. An engine on a Unix socket is left to its mode.
//!
//! Limits: of each IP version one address is tried, the one that this host sends from; what a firewall lets through is not
//! seen.

use crate::portrait::Portrait;
use config::{Checked, EngineAt, Listen};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};

/// An engine is often started after its sidecar, or anew.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Longest wait for an answer from an address of this host.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is looked at.
#[derive(Clone)]
pub(crate) struct Bypass {
    at: EngineAt,
    /// Our own listeners, which answer at some address too.
    ours: Vec<SocketAddr>,
}

impl Bypass {
    /// What is looked at is `at`, one of the engine's ports.
    pub(crate) fn new(config: &Checked, at: EngineAt) -> Self {
        let listeners = config.listen.iter().filter_map(Listen::address);
        Self {
            at,
            ours: listeners.chain([config.admin]).collect(),
        }
    }

    /// Looks again and again; what is found is part of the portrait, and warned of once.
    pub(crate) async fn watch(self, portrait: Arc<Portrait>) {
        let mut warned = false;
        loop {
            let found = self.look(&addresses_of_this_host()).await;
            portrait.set_reachable_around(found.as_ref().map(Option::is_some));
            if let Some(Some(address)) = found
                && !std::mem::replace(&mut warned, true)
            {
                tracing::warn!(
                    engine = %self.at,
                    %address,
                    advice = "let the engine listen on 127.0.0.1 or on a Unix socket only, or keep others from its port",
                    "the engine can be reached around this proxy; what goes to it directly is not measured"
                );
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The address at which others reach the engine, if there is one; `None` if that can't be told.
    async fn look(&self, own: &[IpAddr]) -> Option<Option<SocketAddr>> {
        let EngineAt::Tcp { host, port, .. } = &self.at else {
            return Some(None);
        };
        let looked_up = lookup_host((host.as_str(), *port)).await.ok()?;
        let is_local = |address: &SocketAddr| address.ip().to_canonical().is_loopback();
        let (local, others): (Vec<_>, Vec<_>) = looked_up.partition(is_local);
        if let Some(other) = others.first() {
            return Some(Some(*other));
        }
        if local.is_empty() || own.is_empty() {
            return None;
        }
        for address in own.iter().map(|ip| SocketAddr::new(*ip, *port)) {
            if !self.ours.contains(&address) && answers(address).await {
                return Some(Some(address));
            }
        }
        Some(None)
    }
}

async fn answers(address: SocketAddr) -> bool {
    let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await;
    matches!(connected, Ok(Ok(_)))
}

/// The addresses that this host would send from. Connecting a socket of UDP sends nothing: it asks for the route, here to
/// addresses that are set aside for documentation (RFC 5737, RFC 3849).
fn addresses_of_this_host() -> Vec<IpAddr> {
    let routes: [(IpAddr, IpAddr); 2] = [
        (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        ),
        (
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        ),
    ];
    let source = |(any, far): (IpAddr, IpAddr)| {
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((far, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let own = routes.into_iter().filter_map(source);
    own.filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Scheme;
    use std::net::TcpListener;

    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

    fn bypass(host: &str, port: u16) -> Bypass {
        Bypass {
            at: EngineAt::Tcp {
                scheme: Scheme::Http,
                host: host.to_owned(),
                port,
            },
            ours: Vec::new(),
        }
    }

    #[tokio::test]
    async fn fault_85_an_engine_on_loopback_is_reached_around_us_if_it_answers_elsewhere_too() {
        let engine = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = engine.local_addr().unwrap().port();
        let mut bypass = bypass("127.0.0.1", port);
        assert_eq!(bypass.look(&[ELSEWHERE]).await, Some(None));
        assert_eq!(bypass.look(&[]).await, None, "there is nothing to try");
        let elsewhere = SocketAddr::new(ELSEWHERE, port);
        let _also = TcpListener::bind(elsewhere).unwrap();
        assert_eq!(bypass.look(&[ELSEWHERE]).await, Some(Some(elsewhere)));
        bypass.ours.push(elsewhere);
        assert_eq!(bypass.look(&[ELSEWHERE]).await, Some(None), "that is us");
    }

    #[tokio::test]
    async fn fault_85_an_engine_elsewhere_is_reached_by_others_and_one_on_a_unix_socket_is_not() {
        let elsewhere = bypass("192.0.2.7", 8000).look(&[ELSEWHERE]).await;
        assert_eq!(
            elsewhere,
            Some(Some(SocketAddr::from(([192, 0, 2, 7], 8000))))
        );
        let unix = Bypass {
            at: EngineAt::Unix("/run/engine.sock".into()),
            ours: Vec::new(),
        };
        assert_eq!(unix.look(&[ELSEWHERE]).await, Some(None));
        assert_eq!(bypass("no..engine", 8000).look(&[ELSEWHERE]).await, None);
    }
}
