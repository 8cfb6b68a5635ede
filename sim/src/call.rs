//! One generating request, from its head to its answer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, SERVER, VARY};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::watch;
use wire::Endpoint;
use wire::encode::ErrorObject;

use crate::answer::{NoWhole, Story};
use crate::driver::Progress;
use crate::engine::Refusal;
use crate::exchange::Exchange;
use crate::fault::{Faults, Instead};
use crate::link::{Link, Note};
use crate::outbox::{AnswerBody, BrokeOff, Framing, Outbox, Teller};
use crate::pace::Pace;
use crate::request::{Ask, header_list};
use crate::routes::{Answer, JSON, Routes, UVICORN};
use crate::script::{SCRIPT_HEADER, Script};
use crate::telling::Telling;
use crate::truth::Ended;

/// Longest request body, in bytes.
const REQUEST_BYTES: usize = 64 << 20;

/// One generating request under way.
pub(crate) struct Call<'a> {
    pub(crate) routes: &'a Routes,
    pub(crate) link: &'a Arc<Link>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) endpoint: Endpoint,
    pub(crate) faults: Faults,
    pub(crate) head: Parts,
}

impl Call<'_> {
    /// Answers it.
    pub(crate) async fn run(self, body: Incoming) -> Answer {
        if self.faults.instead == Some(Instead::EarlyTooLarge) {
            return Ok(self.too_large());
        }
        let Some(body) = self.read(body).await? else {
            return Ok(self.too_large());
        };
        let arrived_ns = self.link.last_read_ns();
        self.exchange
            .note(|record| record.request_read_ns = Some(arrived_ns));
        if self.faults.early_hints {
            self.link.send_interim(
                b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n",
            );
        }
        if let Some(pause) = self.faults.delay_head {
            tokio::time::sleep(pause).await;
        }
        match self.faults.instead {
            Some(Instead::Status(status)) => Ok(self.refuse(status, "as the request asked", None)),
            Some(instead) => self.leave(instead).await,
            None => match Ask::parse(self.endpoint, &self.head.headers, &body) {
                Ok(ask) => self.ask(ask, arrived_ns).await,
                Err(error) => Ok(self.bad_request(&error.to_string(), error.param())),
            },
        }
    }

    /// The request's body, `None` if it is too long.
    async fn read(&self, mut body: Incoming) -> Result<Option<Bytes>, BrokeOff> {
        let mut whole = BytesMut::new();
        loop {
            if let Some(pause) = self.faults.slow_read {
                tokio::time::sleep(pause).await;
            }
            let Some(frame) = body.frame().await else {
                return Ok(Some(whole.freeze()));
            };
            // A body that breaks off is a client that has gone.
            let frame = frame.map_err(|_| BrokeOff)?;
            if let Some(data) = frame.data_ref() {
                if whole.len() + data.len() > REQUEST_BYTES {
                    return Ok(None);
                }
                whole.extend_from_slice(data);
            }
        }
    }

    /// Ends without an answer.
    async fn leave(&self, instead: Instead) -> Answer {
        match instead {
            Instead::Hang => return std::future::pending().await,
            Instead::Reset => {
                self.exchange.ends_as(Ended::Reset);
                self.link.reset_at_the_end();
            }
            _ => self.exchange.ends_as(Ended::Died),
        }
        Err(BrokeOff)
    }

    async fn ask(self, ask: Ask, arrived_ns: u64) -> Answer {
        if let Some(model) = ask
            .model
            .as_ref()
            .filter(|model| **model != self.routes.voice.model)
        {
            let message = format!("The model `{model}` does not exist.");
            return Ok(self.refuse(StatusCode::NOT_FOUND, &message, Some("model")));
        }
        let tokens = ask.prompt_tokens();
        self.exchange
            .note(|record| record.prompt_tokens = Some(tokens));
        let script = header_list(&self.head.headers, SCRIPT_HEADER);
        if ask.stream && self.head.headers.contains_key(SCRIPT_HEADER) {
            return Ok(match Script::parse(&script) {
                Ok(script) => self.scripted(ask, script, arrived_ns),
                Err(error) => self.bad_request(&error.to_string(), Some(SCRIPT_HEADER)),
            });
        }
        match self.routes.queue.submit(ask.requests()).await {
            Some(Ok(progress)) => self.tell(ask, progress).await,
            Some(Err(refusal @ Refusal::QueueFull { .. })) => {
                Ok(self.refuse(StatusCode::SERVICE_UNAVAILABLE, &refusal.to_string(), None))
            }
            Some(Err(refusal)) => Ok(self.bad_request(&refusal.to_string(), None)),
            None => Ok(self.internal_error("the engine is not running")),
        }
    }

    /// Answers with what the engine generates.
    async fn tell(self, ask: Ask, progress: watch::Receiver<Vec<Progress>>) -> Answer {
        let stream = ask.stream;
        let story = self.story(ask);
        if stream {
            return Ok(self.stream(|outbox| Box::pin(Telling::new(story, outbox, progress).tell())));
        }
        match story.whole(progress).await {
            Ok((body, notes)) => Ok(self.respond(StatusCode::OK, body, notes)),
            Err(NoWhole::Died) => self.leave(Instead::Die).await,
            Err(NoWhole::Reset) => self.leave(Instead::Reset).await,
            Err(NoWhole::Error) => {
                self.exchange.ends_as(Ended::Errored);
                Ok(self.internal_error("EngineCore encountered an issue"))
            }
        }
    }

    fn scripted(&self, ask: Ask, script: Script, arrived_ns: u64) -> Response<AnswerBody> {
        let story = self.story(ask);
        let clock = self.routes.book.clock.clone();
        let pace = Pace::new(clock.clone(), self.routes.pacing);
        self.stream(|outbox| Box::pin(script.tell(story, outbox, (clock, pace), arrived_ns)))
    }

    fn story(&self, ask: Ask) -> Story {
        let prefix = match self.endpoint {
            Endpoint::ChatCompletions => "chatcmpl",
            _ => "cmpl",
        };
        let given = self
            .head
            .headers
            .get("x-request-id")
            .and_then(|id| id.to_str().ok());
        let id = match given {
            Some(id) => format!("{prefix}-{id}"),
            None => format!("{prefix}-{}", self.exchange.id()),
        };
        Story {
            voice: Arc::clone(&self.routes.voice),
            endpoint: self.endpoint,
            id,
            ask,
            faults: self.faults.clone(),
            exchange: Arc::clone(&self.exchange),
        }
    }

    fn stream(&self, tell: impl FnOnce(Outbox) -> Teller) -> Response<AnswerBody> {
        let framing = match self.head.version {
            Version::HTTP_10 => Framing::Raw,
            _ if self.faults.http10 => Framing::Raw,
            _ => Framing::Chunked,
        };
        self.exchange
            .note(|record| record.status = Some(StatusCode::OK.as_u16()));
        let body = AnswerBody::stream(
            self.link,
            Arc::clone(&self.exchange),
            (framing, self.faults.dress),
            tell,
        );
        let mut response = self.dressed(body);
        let fields = response.headers_mut();
        fields.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream; charset=utf-8"),
        );
        fields.insert(VARY, HeaderValue::from_static("Origin"));
        if self.faults.dress.gzip {
            fields.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }

    fn too_large(&self) -> Response<AnswerBody> {
        let mut response = self.refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request is too large",
            None,
        );
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        response
    }

    /// Refuses it as one that can never be served.
    pub(crate) fn bad_request(&self, message: &str, param: Option<&str>) -> Response<AnswerBody> {
        self.refuse(StatusCode::BAD_REQUEST, message, param)
    }

    fn internal_error(&self, message: &str) -> Response<AnswerBody> {
        self.refuse(StatusCode::INTERNAL_SERVER_ERROR, message, None)
    }

    /// Answers with vLLM's error object.
    fn refuse(
        &self,
        status: StatusCode,
        message: &str,
        param: Option<&str>,
    ) -> Response<AnswerBody> {
        let kind = match status {
            StatusCode::NOT_FOUND => "NotFoundError",
            status if status.is_server_error() => "InternalServerError",
            _ => "BadRequestError",
        };
        let mut body = Vec::new();
        ErrorObject {
            message,
            r#type: kind,
            param,
            code: status.as_u16(),
        }
        .compact(&mut body);
        let mut response = self.respond(status, body.into(), Vec::new());
        if matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    /// Answers with one JSON body.
    fn respond(&self, status: StatusCode, body: Bytes, notes: Vec<Note>) -> Response<AnswerBody> {
        self.exchange
            .note(|record| record.status = Some(status.as_u16()));
        let body = AnswerBody::whole(self.link, Some(Arc::clone(&self.exchange)), body, notes);
        let mut response = self.dressed(body);
        *response.status_mut() = status;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        response
    }

    fn dressed(&self, body: AnswerBody) -> Response<AnswerBody> {
        // The answer's head is marked by now, so that nothing but a request after it is refused.
        if self.faults.close_on_reuse {
            self.link.refuse_reuse();
        }
        let mut response = Response::new(body);
        if self.faults.http10 {
            *response.version_mut() = Version::HTTP_10;
        }
        response.headers_mut().insert(SERVER, UVICORN);
        response
    }
}
