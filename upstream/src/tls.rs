//! TLS to the engine.

use crate::link::Protocol;
use crate::{Clock, Edge, Socket, Transport};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// How TLS is spoken to an engine.
#[derive(Clone)]
pub struct Tls {
    http1: TlsConnector,
    http2: TlsConnector,
    name: ServerName<'static>,
}

impl Tls {
    /// By `config`, to a server whose certificate names `name`. What is spoken inside is decided by each connection.
    pub fn new(config: &ClientConfig, name: ServerName<'static>) -> Self {
        let speaking = |protocol: &[u8]| {
            let mut config = config.clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            TlsConnector::from(Arc::new(config))
        };
        Self {
            http1: speaking(HTTP1),
            http2: speaking(HTTP2),
            name,
        }
    }

    /// Speaks TLS over `socket` from here on.
    pub(crate) async fn begin(
        &self,
        socket: Box<dyn Socket>,
        clock: Clock,
        protocol: Protocol,
    ) -> io::Result<Transport> {
        let connector = match protocol {
            Protocol::Http1 => &self.http1,
            Protocol::Http2 => &self.http2,
        };
        let edge = Edge::new(socket, clock);
        let stamps = edge.stamps();
        let stream = connector.connect(self.name.clone(), edge).await?;
        // An engine that says nothing speaks HTTP/1.1. HTTP/2 has to be agreed on (RFC 9113, 3.2).
        if protocol == Protocol::Http2 && stream.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "it does not speak HTTP/2 over TLS (ALPN h2)",
            ));
        }
        Ok(Transport {
            socket: Box::new(stream),
            edge: Some(stamps),
        })
    }
}
