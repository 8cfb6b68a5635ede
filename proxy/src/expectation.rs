//! A client that waits for `100 Continue` before it sends its body.
//!
//! hyper says it as soon as somebody asks for the body, and the connection to the engine asks at once. So the body is not
//! asked for before the engine has said it, which may rather refuse the request by its head; or has said nothing for a
//! while, since there are engines that never say it.

use crate::paced_body::PacedBody;
use bytes::Bytes;
use http::{HeaderMap, Version, header};
use http_body::{Body, Frame, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use upstream::{BodyError, RequestBody};

/// How long the engine's word is waited for.
const LIMIT: Duration = Duration::from_secs(1);

/// Whether a client waits for a word before it sends its body. HTTP/1.0 knows no such word.
pub(crate) fn stands(version: Version, fields: &HeaderMap) -> bool {
    version > Version::HTTP_10 && fields.contains_key(header::EXPECT)
}

/// A body that waits for the engine's word, which is `said`.
pub(crate) fn held(body: PacedBody, said: &CancellationToken) -> RequestBody {
    let word = Box::pin(timeout(LIMIT, said.clone().cancelled_owned()));
    RequestBody::new(HeldBody {
        body,
        word: Some(word),
    })
}

struct HeldBody<W> {
    body: PacedBody,
    word: Option<Pin<Box<W>>>,
}

impl<W: Future> Body for HeldBody<W> {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(word) = &mut this.word {
            ready!(word.as_mut().poll(cx));
            this.word = None;
        }
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
