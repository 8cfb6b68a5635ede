//! Object stores: sealed files go up from the disk that they lie on, and come down for readers.
//!
//! A place is a URL, `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or `file:///FOLDER`. Below it, files
//! lie as in a local folder, so that many pods may share a prefix, and DuckDB, Spark or ClickHouse read it as it is.
//! Credentials and endpoints come from the environment alone, by the names that the clouds' own tools use (`AWS_…`,
//! `GOOGLE_…`, `AZURE_…`); a URL that holds any is refused. TLS is rustls on ring, with the system's authorities.
//!
//! Everything is on disk first. [`Uploader`] is a thread of its own with connections of its own: a store that is dead, slow
//! or breaks off costs nothing but the disk that its files wait on, up to the capture's quota.

mod connection;
mod fetch;
mod pending;
mod put;
mod uploader;

pub use fetch::Fetched;
pub use uploader::{AfterUpload, Uploader, UploaderSettings, Uploads};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path as Key;

/// A prefix in an object store.
#[derive(Debug, Clone)]
pub struct Remote {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    url: String,
}

/// What can go wrong with an object store.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// A URL that names no place. The URL is not repeated: it may hold a secret.
    #[error(
        "capture URL: {0}; it is s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER"
    )]
    Url(&'static str),
    /// The store can't be used with what the environment says.
    #[error("using {url}, with what the environment says of it")]
    Setup {
        /// The place.
        url: String,
        /// What is wrong or lacking.
        source: object_store::Error,
    },
    /// The store failed.
    #[error("{what} {object}")]
    Store {
        /// What was being done.
        what: &'static str,
        /// To which object, or prefix.
        object: String,
        /// Why it failed.
        source: object_store::Error,
    },
    /// The disk failed.
    #[error("{what} {path}")]
    File {
        /// What was being done.
        what: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// An object whose name can't be a file's here.
    #[error("{0:?} is in no folder of a capture: nothing below the prefix may have such a name")]
    Name(String),
    /// No thread or no runtime.
    #[error("starting the uploader")]
    Start(#[source] std::io::Error),
}

// ---- Remote

impl Remote {
    /// The place that a URL names. Nothing is sent yet. `environment` is the process's, or a test's.
    ///
    /// # Errors
    /// The URL is none of those above, or the environment lacks what the store needs.
    pub fn open(
        url: &str,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RemoteError> {
        let parsed = url::Url::parse(url).map_err(|_| RemoteError::Url("no URL"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(RemoteError::Url(
                "holds a name or a password: credentials come from the environment",
            ));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(RemoteError::Url("has a query or a fragment"));
        }
        let (store, prefix) = connection::open(&parsed, environment)?;
        Ok(Self {
            store,
            prefix,
            url: url.trim_end_matches('/').to_owned(),
        })
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The object of a file, by its path below the capture's folder.
    fn key(&self, relative: &str) -> Key {
        relative
            .split('/')
            .fold(self.prefix.clone(), |key, part| key.join(part))
    }
}

impl RemoteError {
    fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File {
            what,
            path: path.to_owned(),
            source,
        }
    }

    fn store(what: &'static str, object: &Key) -> impl FnOnce(object_store::Error) -> Self {
        let object = object.to_string();
        move |source| Self::Store {
            what,
            object,
            source,
        }
    }
}

/// Whether a file is one of those that are handed on.
fn is_sealed(name: &str) -> bool {
    name.ends_with(".parquet") || name.ends_with(".text.tar")
}

/// An error with what it came from, for a line of a log.
fn chain_of(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let region = ("AWS_REGION".to_owned(), "eu-central-1".to_owned());
        let error = Remote::open(url, [region]).unwrap_err();
        assert!(!chain_of(&error).contains("hunter2"), "{error}");
        error.to_string()
    }

    #[test]
    fn a_url_holds_no_credentials() {
        assert!(refused("s3://me:hunter2@bucket/x").contains("environment"));
        assert!(refused("az://container/x?sig=hunter2").contains("query"));
        assert!(refused("s3://bucket/x#hunter2").contains("fragment"));
    }

    #[test]
    fn what_is_no_place_is_refused_with_the_places_that_are() {
        for url in [
            "bucket/x",
            "https://bucket.example/x",
            "ftp://x/y",
            "s3:///x",
            "memory:///",
            "file://host/x",
        ] {
            assert!(refused(url).contains("s3://BUCKET/PREFIX"), "{url}");
        }
    }

    #[test]
    fn each_cloud_is_known_by_its_scheme() {
        let key = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let environment = [
            key("AWS_REGION", "eu-central-1"),
            key("AZURE_STORAGE_ACCOUNT_NAME", "account"),
            key("GOOGLE_SKIP_SIGNATURE", "true"),
            key("PATH", "/bin"),
        ];
        for (url, store) in [
            ("s3://bucket/a/b/", "S3"),
            ("gs://bucket/a/b", "Google"),
            ("az://container/a/b", "Azure"),
        ] {
            let remote = Remote::open(url, environment.clone()).unwrap();
            assert!(
                format!("{}", remote.store).contains(store),
                "{}",
                remote.store
            );
            assert_eq!(
                remote.key("date=2026-01-31/x.parquet").as_ref(),
                "a/b/date=2026-01-31/x.parquet"
            );
            assert!(!remote.url().ends_with('/'));
        }
    }
}
