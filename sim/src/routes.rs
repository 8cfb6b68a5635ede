//! The routes: generating ones through the engine or a script, the others in place.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use wire::encode;
use wire::{Endpoint, EngineKind};

use crate::answer::Voice;
use crate::call::Call;
use crate::driver::EngineQueue;
use crate::engine::Load;
use crate::exchange::{Book, Exchange, Opening};
use crate::fault::{FAULT_HEADER, Faults};
use crate::identity::{Identity, Said};
use crate::link::Link;
use crate::outbox::{AnswerBody, BrokeOff};
use crate::pace::Pacing;
use crate::profile::Profile;
use crate::request::{header_list, sim_id};

/// What a request may meet.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) voice: Arc<Voice>,
    pub(crate) queue: EngineQueue,
    pub(crate) book: Arc<Book>,
    pub(crate) pacing: Pacing,
    profile: Profile,
}

/// An answer, or a connection that ends without one.
pub(crate) type Answer = Result<Response<AnswerBody>, BrokeOff>;

impl Routes {
    pub(crate) fn new(
        voice: Voice,
        profile: Profile,
        queue: EngineQueue,
        (book, pacing): (Arc<Book>, Pacing),
    ) -> Self {
        Self {
            voice: Arc::new(voice),
            profile,
            queue,
            book,
            pacing,
        }
    }

    pub(crate) fn load(&self) -> Load {
        self.queue.state().0
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, link: &Arc<Link>, request: Request<Incoming>) -> Answer {
        let path = request.uri().path();
        let endpoint = Endpoint::of(request.method().as_str(), path);
        match endpoint.filter(|endpoint| self.speaks(*endpoint, path)) {
            Some(endpoint) => Box::pin(self.generate(link, endpoint, request)).await,
            None => Ok(self.plain(link, request.method(), request.uri().path())),
        }
    }

    /// The routes that generate nothing.
    fn plain(&self, link: &Arc<Link>, method: &Method, path: &str) -> Response<AnswerBody> {
        let identity = Identity {
            voice: &self.voice,
            profile: &self.profile,
            state: self.queue.state(),
        };
        let generates =
            Endpoint::of("POST", path).is_some_and(|endpoint| self.speaks(endpoint, path));
        let (status, (content_type, body)) = match identity.say(path) {
            Some(said) if method == Method::GET => (StatusCode::OK, said),
            None if !generates => (StatusCode::NOT_FOUND, detail("Not Found")),
            _ => (StatusCode::METHOD_NOT_ALLOWED, detail("Method Not Allowed")),
        };
        let mut response = Response::new(AnswerBody::whole(link, None, body.into(), Vec::new()));
        *response.status_mut() = status;
        let fields = response.headers_mut();
        self.voice.personality.dress(fields);
        if let Some(content_type) = content_type {
            fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        response
    }

    /// Whether this engine generates on this path; the endpoint is the path's.
    fn speaks(&self, endpoint: Endpoint, path: &str) -> bool {
        let engine = self.voice.personality.engine;
        // Only llama.cpp has some routes under a second name.
        let own_name = path == endpoint.as_str()
            || endpoint.as_str().contains('*')
            || engine == EngineKind::LlamaCpp;
        own_name && encode::speaks(engine, endpoint)
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
/// What FastAPI's servers say of a path that they don't have; the others' own words say no more.
fn detail(message: &str) -> Said {
    (Some(JSON), format!(r#"{{"detail":"{message}"}}"#))
}
