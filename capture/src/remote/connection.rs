//! The clients of the stores, and the one TLS stack below them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{ClientConfigKey, HttpClient, HttpConnector};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::RemoteError;

/// For a connection to be there.
const CONNECT: Duration = Duration::from_secs(10);

/// For a request with its answer: a part of 8 MiB needs 28 KB/s.
const REQUEST: Duration = Duration::from_secs(300);

/// Tries of one request within one try of ours, which are counted.
const RETRIES: usize = 2;

/// Makes clients of [`reqwest`] on rustls and ring.
#[derive(Debug)]
struct Connector;

/// The store of a URL, and the prefix in it.
pub(super) fn open(
    url: &Url,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<(Arc<dyn ObjectStore>, Key), RemoteError> {
    if url.scheme() == "file" {
        return folder(url);
    }
    if !matches!(url.scheme(), "s3" | "gs" | "az") {
        return Err(RemoteError::Url("has another scheme"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(RemoteError::Url("names no bucket or container"));
    }
    let prefix =
        Key::from_url_path(url.path()).map_err(|_| RemoteError::Url("has no usable prefix"))?;
    let store = cloud(url, environment).map_err(|source| RemoteError::Setup {
        url: url.to_string(),
        source,
    })?;
    Ok((store, prefix))
}

/// A folder stands for a store: a mounted share, or a test.
fn folder(url: &Url) -> Result<(Arc<dyn ObjectStore>, Key), RemoteError> {
    let path: PathBuf = url
        .to_file_path()
        .map_err(|()| RemoteError::Url("names no local folder"))?;
    std::fs::create_dir_all(&path).map_err(RemoteError::file("making", &path))?;
    let store = LocalFileSystem::new_with_prefix(&path).map_err(|source| RemoteError::Setup {
        url: url.to_string(),
        source,
    })?;
    Ok((Arc::new(store.with_fsync(true)), Key::default()))
}

fn cloud(
    url: &Url,
    environment: impl IntoIterator<Item = (String, String)>,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    // Each builder takes what begins with its cloud's name and is known to it.
    let known = |start: &'static str| {
        environment
            .into_iter()
            .filter(move |(key, _)| key.starts_with(start))
            .map(|(key, value)| (key.to_ascii_lowercase(), value))
    };
    Ok(match url.scheme() {
        "s3" => {
            let builder = known("AWS_").fold(AmazonS3Builder::new(), |builder, (key, value)| {
                match key.parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                }
            });
            let builder = builder.with_url(url.as_str()).with_retry(retry());
            Arc::new(builder.with_http_connector(Connector).build()?)
        }
        "gs" => {
            let builder =
                known("GOOGLE_").fold(GoogleCloudStorageBuilder::new(), |builder, (key, value)| {
                    match key.parse() {
                        Ok(key) => builder.with_config(key, value),
                        Err(_) => builder,
                    }
                });
            let builder = builder.with_url(url.as_str()).with_retry(retry());
            Arc::new(builder.with_http_connector(Connector).build()?)
        }
        _ => {
            let builder = known("AZURE_").fold(
                MicrosoftAzureBuilder::new(),
                |builder, (key, value)| match key.parse() {
                    Ok(key) => builder.with_config(key, value),
                    Err(_) => builder,
                },
            );
            let builder = builder.with_url(url.as_str()).with_retry(retry());
            Arc::new(builder.with_http_connector(Connector).build()?)
        }
    })
}

fn retry() -> RetryConfig {
    RetryConfig {
        max_retries: RETRIES,
        retry_timeout: REQUEST,
        ..RetryConfig::default()
    }
}

// ---- Connector

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let may_be_plain = options.get_config_value(&ClientConfigKey::AllowHttp);
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(generic)?)
            .https_only(may_be_plain.as_deref() != Some("true"))
            .connect_timeout(CONNECT)
            .timeout(REQUEST)
            .user_agent(concat!("loadproof/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(generic)?;
        Ok(HttpClient::new(client))
    }
}

/// The system's authorities. Where there are none, no store is trusted.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn generic(error: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic {
        store: "client",
        source: Box::new(error),
    }
}
