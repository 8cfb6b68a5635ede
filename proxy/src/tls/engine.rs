//! TLS to the engine: whom to trust, what to call it, and who we are.

use super::pem::{Pem, TlsFault, provider};
use config::EngineTls;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};

const CA: &str = "upstream.tls.ca";
const SERVER_NAME: &str = "upstream.tls.server_name";
const CERTIFICATE: &str = "upstream.tls.certificate";
const KEY: &str = "upstream.tls.key";

/// How TLS is spoken to the engine that is reached by the name `host`. The files are read once: an engine's authority
/// changes with a deployment.
///
/// # Errors
/// The first thing that is wrong with the files or the name.
pub(crate) fn engine_tls(host: &str, settings: &EngineTls) -> Result<upstream::Tls, TlsFault> {
    let roots = match &settings.ca {
        Some(path) => Pem::read(CA, path)?.roots()?,
        None => roots_of_the_system()?,
    };
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|error| TlsFault::new(CA, format!("TLS cannot be set up: {error}"), "report it"))?
        .with_root_certificates(roots);
    let client = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certificate = Pem::read(CERTIFICATE, &identity.certificate)?;
            let key = Pem::read(KEY, &identity.key)?;
            builder
                .with_client_auth_cert(certificate.certificates()?, key.private_key()?)
                .map_err(|error| key.mismatch(&certificate, &error))?
        }
    };
    let name = settings.server_name.as_deref().unwrap_or(host).to_owned();
    let name = ServerName::try_from(name.clone()).map_err(|_| {
        TlsFault::new(
            SERVER_NAME,
            format!("{name} is no name that a certificate can have"),
            "give a DNS name or an address that stands in the engine's certificate",
        )
    })?;
    Ok(upstream::Tls::new(&client, name))
}

/// Those that the operator of this system trusts: they know of an authority of the house, and are kept up to date by others.
fn roots_of_the_system() -> Result<RootCertStore, TlsFault> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(TlsFault::new(
            CA,
            "not given, and this system has no certificates of authorities that it trusts",
            "give a file with the certificate of the authority that signed the engine's",
        ));
    }
    Ok(roots)
}
