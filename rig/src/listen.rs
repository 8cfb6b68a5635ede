//! Listeners, opened before the runtime that will serve them, so that their addresses are known at once.

use crate::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Any free port of the loopback.
pub(crate) const ANYWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// A listener that is ready to be given to a runtime.
pub(crate) fn listen(what: &'static str, address: SocketAddr) -> Result<TcpListener, Error> {
    let refused = |source| Error::Listen {
        what,
        address,
        source,
    };
    let listener = TcpListener::bind(address).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    Ok(listener)
}

/// Where it listens.
pub(crate) fn address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    listener.local_addr().map_err(|source| Error::Listen {
        what: "run",
        address: ANYWHERE,
        source,
    })
}
