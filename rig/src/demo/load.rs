//! Sends the planned requests through the proxy, each at its time, whatever became of the others (open loop).
//!
//! The client is hyper-util's, as anybody would use it: keep-alive, a pool, ordinary HTTP. It is a stranger to the measuring
//! side on purpose: what both sides of a comparison share, a comparison can't find. It reads no clock.
//!
//! Limit: at most [`OPEN_MOST`] requests are open; what is due beyond is not sent, and counted.

use crate::clock::OneClock;
use crate::demo::mix::{Form, Leaving, Plan, Planned};
use crate::demo::parcel::Parcel;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use measure::Nanos;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::task::JoinSet;
use wire::encode::{Prompt, RequestShape, Streaming};
use wire::{AnswerContext, Decoder, Event, Tokens};

/// Requests open at once, at most.
pub(crate) const OPEN_MOST: u64 = 2048;

/// The model that is asked for, which is the one that the engine says it has.
pub(crate) const MODEL: &str = "demo";

/// What clients have come to. Each request is counted once in `sent`, and once in `answered`, `left` or `failed`.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Due and sent.
    pub(crate) sent: AtomicU64,
    /// Due but not sent, since too many were open.
    pub(crate) held_back: AtomicU64,
    /// Answered to the end.
    pub(crate) answered: AtomicU64,
    /// The client left, as planned.
    pub(crate) left: AtomicU64,
    /// No answer, or a broken one, or one with an error's status.
    pub(crate) failed: AtomicU64,
    /// Tokens that reached clients.
    pub(crate) tokens: AtomicU64,
}

/// The clients of one proxy.
#[derive(Clone)]
pub(crate) struct Clients {
    client: Client<HttpConnector, Parcel>,
    proxy: SocketAddr,
    tally: Arc<Tally>,
}

/// What went wrong with a request, for the count alone: the proxy's records say what.
#[derive(Clone, Copy)]
struct Failed;

impl Tally {
    /// Requests whose end has not been counted.
    pub(crate) fn open(&self) -> u64 {
        self.sent.load(Relaxed).saturating_sub(self.done())
    }

    /// Requests whose end has been counted.
    pub(crate) fn done(&self) -> u64 {
        [&self.answered, &self.left, &self.failed]
            .map(|count| count.load(Relaxed))
            .iter()
            .sum()
    }
}

impl Clients {
    /// Clients of the proxy at `proxy`, who count in `tally`.
    pub(crate) fn new(proxy: SocketAddr, tally: Arc<Tally>) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self {
            client,
            proxy,
            tally,
        }
    }

    /// Sends all of `plan`, whose times count from `start`, and leaves in `open` what is not answered yet.
    pub(crate) async fn send(
        &self,
        plan: Plan,
        (clock, start): (OneClock, Nanos),
        open: &mut JoinSet<()>,
    ) {
        for planned in plan {
            tokio::time::sleep_until(clock.instant(start + planned.at)).await;
            while open.try_join_next().is_some() {}
            if self.tally.open() >= OPEN_MOST {
                self.tally.held_back.fetch_add(1, Relaxed);
                continue;
            }
            self.tally.sent.fetch_add(1, Relaxed);
            open.spawn(self.clone().ask(planned));
        }
    }

    /// Waits for the last answer.
    pub(crate) async fn finish(open: &mut JoinSet<()>) {
        while open.join_next().await.is_some() {}
    }

    async fn ask(self, planned: Planned) {
        let (parcel, on_its_way) = Parcel::new(body(&planned));
        let exchange = self.exchange(&planned, parcel);
        let count = match planned.leaving {
            Leaving::After(patience) => {
                let impatience = async {
                    match on_its_way.await {
                        Ok(()) => tokio::time::sleep(patience).await,
                        // It failed before; the exchange tells.
                        Err(_) => std::future::pending().await,
                    }
                };
                tokio::select! {
                    ended = exchange => self.counter(ended),
                    () = impatience => &self.tally.left,
                }
            }
            Leaving::Never | Leaving::AtToken(_) => self.counter(exchange.await),
        };
        count.fetch_add(1, Relaxed);
    }

    fn counter(&self, ended: Result<Leaving, Failed>) -> &AtomicU64 {
        match ended {
            Ok(Leaving::Never) => &self.tally.answered,
            Ok(_) => &self.tally.left,
            Err(Failed) => &self.tally.failed,
        }
    }

    /// One request to the end of its answer, or to the token at which its client leaves.
    async fn exchange(&self, planned: &Planned, parcel: Parcel) -> Result<Leaving, Failed> {
        let response = self.request(planned, parcel).await.map_err(|_| Failed)?;
        if !response.status().is_success() {
            return Err(Failed);
        }
        let (head, mut body) = response.into_parts();
        let mut decoder = Decoder::new(context(planned, &head));
        let (mut events, mut tokens) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame.map_err(|_| Failed)?.into_data() else {
                continue;
            };
            decoder.push(&bytes, &mut events);
            let new = events.drain(..).map(count).sum::<u32>();
            self.tally.tokens.fetch_add(u64::from(new), Relaxed);
            tokens += new;
            if matches!(planned.leaving, Leaving::AtToken(enough) if tokens >= enough) {
                return Ok(planned.leaving);
            }
        }
        let answer = decoder.finish(wire::TransportEnd::Clean, &mut events);
        if planned.form == Form::Whole {
            self.tally
                .tokens
                .fetch_add(answer.output_tokens.unwrap_or(0), Relaxed);
        }
        Ok(Leaving::Never)
    }

    async fn request(
        &self,
        planned: &Planned,
        parcel: Parcel,
    ) -> Result<Response<Incoming>, Error> {
        let mut request = Request::new(parcel);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri(self.proxy, planned.class.endpoint().as_str());
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("x-sim-id", planned.number.into());
        headers.insert("x-sim-input-tokens", planned.input_tokens.into());
        self.client.request(request).await
    }
}

fn context<'a>(planned: &Planned, head: &'a http::response::Parts) -> AnswerContext<'a> {
    AnswerContext {
        content_type: head
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok()),
        stream_requested: Some(planned.form == Form::Stream),
        ..AnswerContext::new(planned.class.endpoint(), head.status.as_u16())
    }
}

fn count(event: Event) -> u32 {
    match event.tokens {
        Tokens::None => 0,
        Tokens::AtLeastOne => 1,
        Tokens::Exactly(count) => count,
    }
}

fn uri(address: SocketAddr, path: &str) -> Uri {
    let parts = http::uri::Builder::new()
        .scheme("http")
        .authority(address.to_string())
        .path_and_query(path);
    // An address and a route of ours always make one.
    parts.build().unwrap_or_default()
}

/// The body: text of about the length that so many tokens have, which no other request shares, so that nothing is found in
/// the engine's prefix cache.
fn body(planned: &Planned) -> Vec<u8> {
    let words = usize::try_from(planned.input_tokens).unwrap_or(0);
    let text = format!("Request {}: {}", planned.number, "word ".repeat(words));
    let shape = RequestShape {
        model: Some(MODEL),
        prompt: Prompt::Text(&text),
        max_tokens: Some(planned.output_tokens),
        streaming: match planned.form {
            Form::Stream => Streaming::Usage,
            Form::Whole => Streaming::Whole,
        },
        n: 1,
        ignore_eos: true,
        seed: i64::try_from(planned.number).ok(),
    };
    shape.body(planned.class.endpoint())
}
