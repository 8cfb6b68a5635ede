//! The routes: generating ones through the engine or a script, the others in place.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, SERVER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use wire::Endpoint;

use crate::answer::Voice;
use crate::call::Call;
use crate::driver::EngineQueue;
use crate::engine::Load;
use crate::exchange::{Book, Exchange, Opening};
use crate::fault::{FAULT_HEADER, Faults};
use crate::link::Link;
use crate::outbox::{AnswerBody, BrokeOff};
use crate::pace::Pacing;
use crate::request::{header_list, sim_id};

/// What a request may meet.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) voice: Arc<Voice>,
    pub(crate) queue: EngineQueue,
    pub(crate) book: Arc<Book>,
    pub(crate) pacing: Pacing,
    max_model_len: u32,
}

/// An answer, or a connection that ends without one.
pub(crate) type Answer = Result<Response<AnswerBody>, BrokeOff>;

impl Routes {
    pub(crate) fn new(
        voice: Voice,
        max_model_len: u32,
        queue: EngineQueue,
        (book, pacing): (Arc<Book>, Pacing),
    ) -> Self {
        Self {
            voice: Arc::new(voice),
            max_model_len,
            queue,
            book,
            pacing,
        }
    }

    pub(crate) fn load(&self) -> Load {
        self.queue.load()
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, link: &Arc<Link>, request: Request<Incoming>) -> Answer {
        match spoken(request.method(), request.uri().path()) {
            Some(endpoint) => Box::pin(self.generate(link, endpoint, request)).await,
            None => Ok(self.plain(link, request.method(), request.uri().path())),
        }
    }

    /// The routes that generate nothing.
    fn plain(&self, link: &Arc<Link>, method: &Method, path: &str) -> Response<AnswerBody> {
        let (status, content_type, body) = match (path, method) {
            ("/v1/completions" | "/v1/chat/completions", _) => not_allowed(),
            ("/health" | "/v1/models" | "/version" | "/metrics", method)
                if method != Method::GET =>
            {
                not_allowed()
            }
            ("/health", _) => (StatusCode::OK, None, String::new()),
            ("/version", _) => (
                StatusCode::OK,
                Some(JSON),
                r#"{"version":"0.33.0+sim"}"#.to_owned(),
            ),
            ("/v1/models", _) => (StatusCode::OK, Some(JSON), self.models()),
            ("/metrics", _) => (
                StatusCode::OK,
                Some("text/plain; version=0.0.4; charset=utf-8"),
                self.metrics(),
            ),
            _ => (
                StatusCode::NOT_FOUND,
                Some(JSON),
                r#"{"detail":"Not Found"}"#.to_owned(),
            ),
        };
        let mut response = Response::new(AnswerBody::whole(link, None, body.into(), Vec::new()));
        *response.status_mut() = status;
        response.headers_mut().insert(SERVER, UVICORN);
        if let Some(content_type) = content_type {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        response
    }

    fn models(&self) -> String {
        let (created, max_model_len) = (self.voice.created, self.max_model_len);
        let model = serde_json::Value::from(self.voice.model.as_str());
        format!(
            concat!(
                r#"{{"object":"list","data":[{{"id":{model},"object":"model","created":{created},"owned_by":"vllm","#,
                r#""root":{model},"parent":null,"max_model_len":{max_model_len}}}]}}"#
            ),
            model = model,
            created = created,
            max_model_len = max_model_len
        )
    }

    /// A few of vLLM's gauges.
    fn metrics(&self) -> String {
        let Load {
            running, waiting, ..
        } = self.load();
        let label = self
            .voice
            .model
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        let gauge = |name: &str, help: &str, value: u32| {
            format!(
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{engine=\"0\",model_name=\"{label}\"}} {value}.0\n"
            )
        };
        gauge(
            "vllm:num_requests_running",
            "Number of requests in model execution batches.",
            running,
        ) + &gauge(
            "vllm:num_requests_waiting",
            "Number of requests waiting to be processed.",
            waiting,
        )
    }

    async fn generate(
        &self,
        link: &Arc<Link>,
        endpoint: Endpoint,
        request: Request<Incoming>,
    ) -> Answer {
        let (head, body) = request.into_parts();
        let faults = header_list(&head.headers, FAULT_HEADER);
        let opening = Opening {
            id: sim_id(&head.headers),
            endpoint,
            connection: link.number,
            faults: faults.clone(),
            head_read_ns: link.last_read_ns(),
        };
        let exchange = Exchange::open(&self.book, opening);
        let faults = Faults::parse(&faults);
        let call = Call {
            routes: self,
            link,
            exchange,
            endpoint,
            faults: Faults::default(),
            head,
        };
        match faults {
            Ok(faults) => Call { faults, ..call }.run(body).await,
            Err(unknown) => Ok(call.bad_request(&unknown.to_string(), Some(FAULT_HEADER))),
        }
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const UVICORN: HeaderValue = HeaderValue::from_static("uvicorn");

/// The generating route, if it is one of those that this engine has.
fn spoken(method: &Method, path: &str) -> Option<Endpoint> {
    Endpoint::of(method.as_str(), path).filter(|endpoint| {
        matches!(endpoint, Endpoint::Completions | Endpoint::ChatCompletions)
            && endpoint.as_str() == path
    })
}

fn not_allowed() -> (StatusCode, Option<&'static str>, String) {
    (
        StatusCode::METHOD_NOT_ALLOWED,
        Some(JSON),
        r#"{"detail":"Method Not Allowed"}"#.to_owned(),
    )
}
