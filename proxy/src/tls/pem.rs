//! Certificates and keys from PEM files.

use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is wrong with a file that a key of the configuration names, or with what is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {wrong}; {fix}")]
pub struct TlsFault {
    /// Path of the key in the configuration.
    pub key: &'static str,
    /// What is wrong.
    pub wrong: String,
    /// What to do about it.
    pub fix: String,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pem {
    pub(crate) key: &'static str,
    path: PathBuf,
    bytes: Vec<u8>,
}

/// The one implementation of the algorithms that is built in. ring, since it needs no more than a C compiler.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl TlsFault {
    pub(crate) fn new(key: &'static str, wrong: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            key,
            wrong: wrong.into(),
            fix: fix.into(),
        }
    }
}

impl Pem {
    /// Reads the file before anything is served.
    pub(crate) fn read(key: &'static str, path: &Path) -> Result<Self, TlsFault> {
        Self::of(key, path, std::fs::read(path))
    }

    /// Reads the file beside traffic: off the workers.
    pub(crate) async fn read_aside(key: &'static str, path: &Path) -> Result<Self, TlsFault> {
        Self::of(key, path, tokio::fs::read(path).await)
    }

    fn of(key: &'static str, path: &Path, read: io::Result<Vec<u8>>) -> Result<Self, TlsFault> {
        match read {
            Ok(bytes) => Ok(Self {
                key,
                path: path.to_owned(),
                bytes,
            }),
            Err(error) => Err(TlsFault::new(
                key,
                format!("{} cannot be read: {error}", path.display()),
                "correct the path, or the file's rights",
            )),
        }
    }

    /// Its certificates, at least one, in their order.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        match read {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            Ok(_) => Err(self.fault(
                "holds no certificate",
                "give a file with BEGIN CERTIFICATE in it",
            )),
            Err(error) => Err(self.fault(
                &format!("is not readable as PEM: {error}"),
                "give a file with whole BEGIN CERTIFICATE … END CERTIFICATE blocks",
            )),
        }
    }

    /// Its first private key.
    pub(crate) fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsFault> {
        PrivateKeyDer::from_pem_slice(&self.bytes).map_err(|_| {
            self.fault(
                "holds no private key that can be read",
                "give an unencrypted key in PEM: PKCS #8, PKCS #1 or SEC 1",
            )
        })
    }

    /// Its certificates, as those of authorities to be trusted.
    pub(crate) fn roots(&self) -> Result<RootCertStore, TlsFault> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots.add(certificate).map_err(|error| {
                self.fault(
                    &format!("holds a certificate that no authority can have: {error}"),
                    "give the certificates of authorities only",
                )
            })?;
        }
        Ok(roots)
    }

    /// Whether its first certificate is in its time. That of its authority is the peer's business.
    pub(crate) fn in_date(&self, now: UnixTime) -> Result<(), TlsFault> {
        let chain = self.certificates()?;
        let unusable = |error: &dyn std::fmt::Display| {
            self.fault(
                &format!("holds a certificate that cannot be used: {error}"),
                "give a certificate of X.509 version 3",
            )
        };
        let Some((first, others)) = chain.split_first() else {
            return Ok(());
        };
        let first = ParsedCertificate::try_from(first).map_err(|error| unusable(&error))?;
        // Without an authority that is trusted this always fails; but first of all for the dates.
        let judged = verify_server_cert_signed_by_trust_anchor(
            &first,
            &RootCertStore::empty(),
            others,
            now,
            provider().signature_verification_algorithms.all,
        );
        match judged {
            Err(Error::InvalidCertificate(
                error @ (CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }),
            )) => Err(self.fault(
                &format!("holds a certificate that is not in its time: {error}"),
                "give one that is valid now, or correct the system's date",
            )),
            Err(Error::InvalidCertificate(error @ CertificateError::BadEncoding)) => {
                Err(unusable(&error))
            }
            _ => Ok(()),
        }
    }

    /// Something is wrong with the file.
    pub(crate) fn fault(&self, wrong: &str, fix: &str) -> TlsFault {
        TlsFault::new(self.key, format!("{} {wrong}", self.path.display()), fix)
    }

    /// `key` is not that of `certificate`, or neither can be used.
    pub(crate) fn mismatch(&self, certificate: &Self, error: &Error) -> TlsFault {
        match error {
            Error::InconsistentKeys(_) => self.fault(
                &format!(
                    "holds a key that is not that of the certificate in {}",
                    certificate.path.display()
                ),
                "give the key that the certificate was made with",
            ),
            error => self.fault(
                &format!("holds a key that cannot be used: {error}"),
                "give a key of RSA (2048 bits or more), ECDSA (P-256, P-384, P-521) or Ed25519",
            ),
        }
    }
}
