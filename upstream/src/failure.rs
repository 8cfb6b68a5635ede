//! Why an exchange with the engine failed: with its cause, and the end it means for the exchange.

use measure::End;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What kept an answer from coming, or from coming whole.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// No connection.
    #[error("cannot connect to the engine at {place}")]
    Connect {
        /// Where it was tried.
        place: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// No connection within the limit.
    #[error("connecting to the engine at {place} took longer than {limit:?}")]
    ConnectTimeout {
        /// Where it was tried.
        place: String,
        /// `upstream.connect_timeout`.
        limit: Duration,
    },
    /// The connection broke before the response head, or was reset.
    #[error("the engine's connection broke")]
    Reset(#[source] Arc<hyper::Error>),
    /// The body ended without its framing's end.
    #[error("the engine's answer ended before its end")]
    Truncated(#[source] Arc<hyper::Error>),
    /// The client's upload broke.
    #[error("the request's body broke off")]
    UploadBroke,
    /// The request's body grew over the limit.
    #[error("the request's body is larger than {limit} bytes (limits.body_bytes)")]
    UploadTooLarge {
        /// `limits.body_bytes`.
        limit: u64,
    },
    /// No token within `upstream.ttft_timeout`.
    #[error("the engine gave no token within {0:?} (upstream.ttft_timeout)")]
    TimeoutTtft(Duration),
    /// Silence mid-stream for `upstream.silence_timeout`.
    #[error("the engine was silent for {0:?} (upstream.silence_timeout)")]
    TimeoutIdle(Duration),
    /// The exchange was dropped: shutdown, or its task was ended.
    #[error("the exchange was abandoned")]
    Abandoned,
}

impl Failure {
    /// How the exchange ended.
    pub fn end(&self) -> End {
        match self {
            Self::Connect { .. } | Self::ConnectTimeout { .. } => End::ConnectFailed,
            Self::Reset(_) => End::Reset,
            Self::Truncated(_) => End::Truncated,
            Self::UploadBroke | Self::Abandoned => End::ClientGone,
            Self::UploadTooLarge { .. } => End::RejectedLimit,
            Self::TimeoutTtft(_) => End::TimeoutTtft,
            Self::TimeoutIdle(_) => End::TimeoutIdle,
        }
    }

    /// A failure of the body: a reset if the system or the engine says so, else the framing's end is missing.
    pub(crate) fn of_body(error: hyper::Error) -> Self {
        let reset = causes(&error).any(|cause| {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return matches!(
                    io.kind(),
                    io::ErrorKind::ConnectionReset
                        | io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::BrokenPipe
                );
            }
            cause
                .downcast_ref::<h2::Error>()
                .is_some_and(|error| error.is_reset() || error.is_go_away())
        });
        let error = Arc::new(error);
        if reset {
            Self::Reset(error)
        } else {
            Self::Truncated(error)
        }
    }
}

fn causes<'e>(error: &'e hyper::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let first: &'e (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |error| Error::source(*error))
}
