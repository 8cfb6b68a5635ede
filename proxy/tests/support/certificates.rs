//! An authority, the certificates that it signs, and the clients and servers that they are for.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Somebody who signs.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for `name`, from `first` year on until `last`.
    pub(crate) fn sign_for(&self, name: &str, first: i32, last: i32) -> Signed {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(first, 1, 1);
        params.not_after = date_time_ymd(last, 12, 31);
        let key = KeyPair::generate().unwrap();
        Signed {
            certificate: params.signed_by(&key, &self.0).unwrap().pem(),
            key: key.serialize_pem(),
        }
    }

    /// A certificate for `name` that is valid now.
    pub(crate) fn sign(&self, name: &str) -> Signed {
        self.sign_for(name, 2020, 2100)
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Whoever trusts it.
    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        roots
    }

    /// A client that trusts this authority, and shows `identity`.
    pub(crate) fn client(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        identity: Option<&Signed>,
    ) -> ClientConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(self.roots());
        match identity {
            None => builder.with_no_client_auth(),
            Some(signed) => builder
                .with_client_auth_cert(signed.chain(), signed.key())
                .unwrap(),
        }
    }
}

impl Signed {
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }

    /// Writes both into `folder`.
    pub(crate) fn write(&self, folder: &Path) -> (PathBuf, PathBuf) {
        let paths = (folder.join("tls.crt"), folder.join("tls.key"));
        std::fs::write(&paths.0, &self.certificate).unwrap();
        std::fs::write(&paths.1, &self.key).unwrap();
        paths
    }
}
