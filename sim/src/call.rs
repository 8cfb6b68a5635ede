//! One generating request, from its head to its answer.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::watch;
use wire::encode::{self, RefusedStream, Writer};
use wire::{Endpoint, EngineKind};

use crate::answer::{NoWhole, Story, Whole};
use crate::driver::Progress;
use crate::engine::Refusal;
use crate::exchange::Exchange;
use crate::fault::{Faults, Instead, Midway};
use crate::link::{Link, Note};
use crate::outbox::{AnswerBody, BrokeOff, Framing, Outbox, Signs, Teller};
use crate::pace::Pace;
use crate::personality::{HeadTime, Personality};
use crate::request::{Ask, header_list};
use crate::routes::{Answer, JSON, Routes};
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

/// What came of waiting for the moment of a head.
#[derive(Debug, PartialEq, Eq)]
enum Waited {
    UntilDue,
    InVain,
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
            None => {
                let (personality, headers) = (self.personality(), &self.head.headers);
                match Ask::parse(personality, self.endpoint, headers, &body) {
                    Ok(ask) => self.ask(ask, arrived_ns).await,
                    Err(error) => Ok(self.bad_request(&error.to_string(), error.param())),
                }
            }
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
        if let Some(refused) = self.unknown_model(&ask) {
            return Ok(refused);
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
            Some(Err(refusal)) => Ok(self.refuse_ask(&ask, &refusal)),
            None => Ok(self.internal_error("the engine is not running")),
        }
    }

    /// A refusal if the request is for another model than the served one, and the engine minds.
    fn unknown_model(&self, ask: &Ask) -> Option<Response<AnswerBody>> {
        let served = self.routes.voice.model.as_str();
        if let Some(model) = in_path(self.head.uri.path()).filter(|model| *model != served) {
            let message = format!("Request for unknown model: '{model}' is not found");
            return Some(self.bad_request(&message, None));
        }
        let model = ask.model.as_deref().filter(|model| *model != served)?;
        let message = format!("The model `{model}` does not exist.");
        self.personality()
            .knows_its_model()
            .then(|| self.refuse(StatusCode::NOT_FOUND, &message, Some("model")))
    }

    /// Refuses what the engine doesn't take: on some routes by an event, if events were asked for.
    fn refuse_ask(&self, ask: &Ask, refusal: &Refusal) -> Response<AnswerBody> {
        let full = matches!(refusal, Refusal::QueueFull { .. });
        let status = match self.personality().engine {
            EngineKind::Tgi if full => StatusCode::TOO_MANY_REQUESTS,
            _ if full => StatusCode::SERVICE_UNAVAILABLE,
            _ => self.bad_status(),
        };
        let message = refusal.to_string();
        let spelled = encode::Refusal {
            status: status.as_u16(),
            message: &message,
            param: None,
        };
        let stream = spelled
            .of_stream(self.personality().engine, self.endpoint)
            .filter(|_| ask.stream);
        match stream {
            Some(stream) => self.refuse_stream(stream),
            None => self.refuse(status, &message, None),
        }
    }

    fn refuse_stream(&self, refused: RefusedStream) -> Response<AnswerBody> {
        let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::OK);
        if status.is_success() {
            self.exchange.ends_as(Ended::Errored);
        }
        let body = self.body(status, refused.events.into(), Vec::new());
        let mut response = self.dressed(body);
        *response.status_mut() = status;
        self.personality()
            .dress_stream(self.endpoint, response.headers_mut());
        response
    }

    /// Answers with what the engine generates.
    async fn tell(self, ask: Ask, mut progress: watch::Receiver<Vec<Progress>>) -> Answer {
        let stream = ask.stream;
        let Some(story) = self.story(ask) else {
            return Ok(self.internal_error("the engine has no such route"));
        };
        if stream {
            if self.wait_for_head(&mut progress).await? == Waited::InVain {
                self.exchange.ends_as(Ended::Errored);
                return Ok(self.internal_error("EngineCore encountered an issue"));
            }
            return Ok(self.stream(|outbox| Box::pin(Telling::new(story, outbox, progress).tell())));
        }
        match story.whole(progress).await {
            Ok(whole) => Ok(self.whole(whole)),
            Err(NoWhole::Died) => self.leave(Instead::Die).await,
            Err(NoWhole::Reset) => self.leave(Instead::Reset).await,
            Err(NoWhole::Error) => {
                self.exchange.ends_as(Ended::Errored);
                Ok(self.internal_error("EngineCore encountered an issue"))
            }
        }
    }

    /// Waits until the head of a stream is due. An error that is to come before any token takes its place where there was
    /// something to wait for.
    async fn wait_for_head(
        &self,
        progress: &mut watch::Receiver<Vec<Progress>>,
    ) -> Result<Waited, BrokeOff> {
        let due: fn(&Progress) -> bool = match self.personality().head_time(self.endpoint) {
            HeadTime::AtOnce => return Ok(Waited::UntilDue),
            HeadTime::Admitted => |choice| choice.admitted,
            HeadTime::FirstToken => |choice| choice.tokens > 0,
        };
        if matches!(self.faults.midway, Some((0, Midway::ErrorEvent))) {
            return Ok(Waited::InVain);
        }
        let waited = progress
            .wait_for(|choices| choices.iter().any(due))
            .await
            .map(drop);
        waited.map(|()| Waited::UntilDue).map_err(|_| BrokeOff)
    }

    fn whole(&self, whole: Whole) -> Response<AnswerBody> {
        let body = self.body(StatusCode::OK, whole.body, whole.notes);
        let mut response = self.json(StatusCode::OK, body);
        if self.personality().engine == EngineKind::Tgi {
            let times = whole.times;
            let e2e_ms = times.last_token_ns / 1_000_000;
            let queue_ms = times.admitted_ns / 1_000_000;
            let inference_ms = times.last_token_ns.saturating_sub(times.admitted_ns) / 1_000_000;
            let tokens = whole.total.completion;
            put_numbers(
                response.headers_mut(),
                [
                    ("x-total-time", e2e_ms),
                    ("x-validation-time", 0),
                    ("x-queue-time", queue_ms),
                    ("x-inference-time", inference_ms),
                    ("x-time-per-token", inference_ms / tokens.max(1)),
                    ("x-prompt-tokens", whole.total.prompt),
                    ("x-generated-tokens", tokens),
                ],
            );
        }
        response
    }

    fn scripted(&self, ask: Ask, script: Script, arrived_ns: u64) -> Response<AnswerBody> {
        let Some(story) = self.story(ask) else {
            return self.internal_error("the engine has no such route");
        };
        let clock = self.routes.book.clock.clone();
        let pace = Pace::new(clock.clone(), self.routes.pacing);
        self.stream(|outbox| Box::pin(script.tell(story, outbox, (clock, pace), arrived_ns)))
    }

    fn story(&self, ask: Ask) -> Option<Story> {
        let given = match self.personality().engine {
            EngineKind::Vllm => self
                .head
                .headers
                .get("x-request-id")
                .and_then(|id| id.to_str().ok())
                .map(str::to_owned),
            EngineKind::Sglang => ask.rid.clone(),
            _ => None,
        };
        let id = given.unwrap_or_else(|| self.exchange.id());
        let manner = self
            .routes
            .voice
            .manner((self.endpoint, id), &ask, &self.faults);
        let keep_alive = self.faults.keep_alive;
        Some(Story {
            writer: Writer::new(manner)?,
            ask,
            faults: Faults {
                keep_alive: keep_alive.or(self.personality().keep_alive()),
                ..self.faults.clone()
            },
            exchange: Arc::clone(&self.exchange),
        })
    }

    fn stream(&self, tell: impl FnOnce(Outbox) -> Teller) -> Response<AnswerBody> {
        let framing = match self.head.version {
            Version::HTTP_10 => Framing::Raw,
            _ if self.faults.http10 => Framing::Raw,
            _ => Framing::Chunked,
        };
        self.exchange
            .note(|record| record.status = Some(StatusCode::OK.as_u16()));
        let personality = self.personality();
        let signs = Signs {
            comment: encode::keep_alive(personality.engine, self.endpoint),
            together: personality.writes_together(),
        };
        let body = AnswerBody::stream(
            self.link,
            Arc::clone(&self.exchange),
            (framing, self.faults.dress, signs),
            tell,
        );
        let mut response = self.dressed(body);
        let fields = response.headers_mut();
        personality.dress_stream(self.endpoint, fields);
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
        self.refuse(self.bad_status(), message, param)
    }

    fn internal_error(&self, message: &str) -> Response<AnswerBody> {
        self.refuse(StatusCode::INTERNAL_SERVER_ERROR, message, None)
    }

    /// Answers with the engine's error object.
    fn refuse(
        &self,
        status: StatusCode,
        message: &str,
        param: Option<&str>,
    ) -> Response<AnswerBody> {
        let refusal = encode::Refusal {
            status: status.as_u16(),
            message,
            param,
        };
        let body = refusal.body(self.personality().engine, self.endpoint);
        let body = self.body(status, body.into(), Vec::new());
        let mut response = self.json(status, body);
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

    fn body(&self, status: StatusCode, body: Bytes, notes: Vec<Note>) -> AnswerBody {
        self.exchange
            .note(|record| record.status = Some(status.as_u16()));
        AnswerBody::whole(self.link, Some(Arc::clone(&self.exchange)), body, notes)
    }

    /// Answers with one JSON body.
    fn json(&self, status: StatusCode, body: AnswerBody) -> Response<AnswerBody> {
        let mut response = self.dressed(body);
        *response.status_mut() = status;
        let fields = response.headers_mut();
        self.personality().dress(fields);
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
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
        response
    }

    fn personality(&self) -> Personality {
        self.routes.voice.personality
    }

    /// The status of a request that can never be served.
    fn bad_status(&self) -> StatusCode {
        match self.personality().engine {
            EngineKind::Tgi => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

/// The model's name in Triton's paths.
fn in_path(path: &str) -> Option<&str> {
    path.strip_prefix("/v2/models/")?.split('/').next()
}

fn put_numbers<const N: usize>(fields: &mut HeaderMap, numbers: [(&'static str, u64); N]) {
    for (name, number) in numbers {
        fields.insert(HeaderName::from_static(name), number.into());
    }
}
