//! One question to the engine: a GET with a deadline, and a limit on its answer.

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use upstream::{Failure, RequestBody, Upstream};

/// Longest that an answer may take, from the question to its last byte.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// Longest answer that says who the engine is, in bytes.
pub const ANSWER_BYTES: usize = 1024 * 1024;

/// Longest exposition of metrics, in bytes. It is not kept: a line at a time is read.
pub const METRICS_BYTES: usize = 16 * 1024 * 1024;

/// Whom to ask, and in which version of HTTP.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) engine: &'a Upstream,
    pub(crate) version: Version,
}

/// Why a question got no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// No connection, or it broke before an answer.
    #[error(transparent)]
    Unreachable(#[from] Failure),
    /// The answer was not whole in time.
    #[error("no whole answer within {DEADLINE:?}")]
    Timeout,
    /// An answer that is none.
    #[error("the engine answered {0}")]
    Status(StatusCode),
    /// Longer than the limit.
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
    /// It broke off.
    #[error("the answer broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The question can't be put.
    #[error("the request could not be made")]
    Request(#[from] http::Error),
}

impl Unanswered {
    /// Nobody was there, or nobody who could say anything yet: engines answer 503 while they load a model.
    pub(crate) fn is_down(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Timeout => true,
            Self::Status(status) => status.is_server_error(),
            Self::TooLarge(_) | Self::Broken(_) | Self::Request(_) => false,
        }
    }

    /// The engine doesn't know the route, or doesn't let us: it won't know it in a minute either.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Status(status) if status.is_client_error())
    }
}

/// Asks for `path`; the body goes to `take` as it comes, up to `limit` bytes.
pub(crate) async fn get(
    engine: Asked<'_>,
    path: &str,
    limit: usize,
    take: impl FnMut(&[u8]),
) -> Result<(), Unanswered> {
    let asked = ask(engine, path, limit, take);
    tokio::time::timeout(DEADLINE, asked)
        .await
        .unwrap_or(Err(Unanswered::Timeout))
}

async fn ask(
    engine: Asked<'_>,
    path: &str,
    limit: usize,
    mut take: impl FnMut(&[u8]),
) -> Result<(), Unanswered> {
    let body = RequestBody::new(Empty::<Bytes>::new().map_err(|never: Infallible| match never {}));
    let authority = engine.engine.authority();
    let request = match engine.version {
        Version::HTTP_2 => Request::get(format!("{}://{authority}{path}", engine.engine.scheme())),
        _ => Request::get(path).header(http::header::HOST, authority),
    };
    let request = request
        .version(engine.version)
        .header(http::header::USER_AGENT, "loadproof")
        .body(body)?;
    let (running, answer) = engine.engine.begin(request, None, Arc::new(()));
    let read = async {
        let response = answer.await?;
        if response.status() != StatusCode::OK {
            return Err(Unanswered::Status(response.status()));
        }
        let mut body = pin!(response.into_body());
        let mut left = limit;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Unanswered::Broken(error.into()))?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            left = left
                .checked_sub(data.len())
                .ok_or(Unanswered::TooLarge(limit))?;
            take(data);
        }
        Ok(())
    };
    // Whatever ends the reading drops the answer, and that ends the engine's side.
    let ((), read) = tokio::join!(running, read);
    read
}

/// Asks for `path` and keeps the whole answer.
pub(crate) async fn get_whole(engine: Asked<'_>, path: &str) -> Result<Vec<u8>, Unanswered> {
    let mut body = Vec::new();
    get(engine, path, ANSWER_BYTES, |bytes| {
        body.extend_from_slice(bytes);
    })
    .await?;
    Ok(body)
}
