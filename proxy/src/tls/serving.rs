//! TLS for clients: one certificate, replaced while traffic goes on.
//!
//! Connections keep the certificate that they began with. Whatever is wrong with new files, the old certificate stays.

use super::pem::{Pem, TlsFault, provider};
use config::Tls;
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::pki_types::UnixTime;
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

const CERTIFICATE: &str = "tls.certificate";
const KEY: &str = "tls.key";
const CLIENT_CA: &str = "tls.client_ca";

/// What clients may speak, in our order.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What is served with, and from where.
pub(crate) struct Serving {
    files: Tls,
    current: RwLock<Arc<ServerConfig>>,
    /// What was tried last, so that one bad file is told once.
    tried: RwLock<Result<Content, TlsFault>>,
}

/// What came of a look at the files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// They are as they were.
    Same,
    /// They are served with from now on.
    Replaced,
    /// They can't be served with; the old ones are.
    Refused(TlsFault),
}

/// The files' content.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Content {
    certificate: Pem,
    key: Pem,
    client_ca: Option<Pem>,
}

impl Serving {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub(crate) fn load(files: &Tls, now: UnixTime) -> Result<Self, TlsFault> {
        let client_ca = files.client_ca.as_deref();
        let content = Content {
            certificate: Pem::read(CERTIFICATE, &files.certificate)?,
            key: Pem::read(KEY, &files.key)?,
            client_ca: client_ca
                .map(|path| Pem::read(CLIENT_CA, path))
                .transpose()?,
        };
        Ok(Self {
            files: files.clone(),
            current: RwLock::new(Arc::new(content.server(now)?)),
            tried: RwLock::new(Ok(content)),
        })
    }

    /// What a connection that begins now is accepted by.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.read()))
    }

    /// Looks at the files, and serves with them if they have changed for something that can be served with. By content:
    /// times and inodes say little of files behind links, as those of a Kubernetes Secret are.
    pub(crate) async fn look(&self, now: UnixTime) -> Look {
        let found = self.read().await;
        if *self.tried.read() == found {
            return Look::Same;
        }
        let server = found.as_ref().map_err(TlsFault::clone);
        let server = server.and_then(|content| content.server(now));
        *self.tried.write() = found;
        match server {
            Ok(server) => {
                *self.current.write() = Arc::new(server);
                Look::Replaced
            }
            Err(fault) => Look::Refused(fault),
        }
    }

    async fn read(&self) -> Result<Content, TlsFault> {
        let client_ca = match &self.files.client_ca {
            Some(path) => Some(Pem::read_aside(CLIENT_CA, path).await?),
            None => None,
        };
        Ok(Content {
            certificate: Pem::read_aside(CERTIFICATE, &self.files.certificate).await?,
            key: Pem::read_aside(KEY, &self.files.key).await?,
            client_ca,
        })
    }
}

impl Content {
    fn server(&self, now: UnixTime) -> Result<ServerConfig, TlsFault> {
        let chain = self.certificate.certificates()?;
        self.certificate.in_date(now)?;
        let unusable = |error: rustls::Error| {
            let wrong = format!("TLS cannot be set up: {error}");
            TlsFault::new(CERTIFICATE, wrong, "give another certificate")
        };
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(unusable)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let roots = Arc::new(ca.roots()?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(|error| {
                        ca.fault(
                            &format!("cannot be used: {error}"),
                            "give the certificates of authorities",
                        )
                    })?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut server = builder
            .with_single_cert(chain, self.key.private_key()?)
            .map_err(|error| self.key.mismatch(&self.certificate, &error))?;
        server.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(server)
    }
}

#[cfg(test)]
mod tests;
