//! What watches an exchange go by: a copy of the bytes goes in, exactly one record comes out.
//!
//! Nothing here can hurt the traffic: a panic while decoding is caught, the exchange goes on unobserved, and says so. The
//! record is made at the end, whatever the end is; also on drop.

use crate::upload::UploadState;
use crate::watch::{Waits, Watch};
use crate::{Client, Clock, Live, SocketStamps, UsageInjection, stamped};
use http::{HeaderMap, HeaderName};
use measure::{End, Exchange, Flag, Nanos, Recorder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wire::{
    Accumulation, AnswerContext, CallRequest, Decoder, Endpoint, EngineKind, EngineTimes, Event,
    Tokens, TransportEnd,
};

/// TGI counts in the head of an answer that is not streamed.
const GENERATED_TOKENS: HeaderName = HeaderName::from_static("x-generated-tokens");
const PROMPT_TOKENS: HeaderName = HeaderName::from_static("x-prompt-tokens");

/// How a gRPC call ended.
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Running token counts are handed on at most this often for each exchange.
const PROGRESS_EVERY: Nanos = Nanos::from_millis(100);

/// How the engine says what the protocols leave open.
#[derive(Debug, Clone, Default)]
pub struct Habits {
    /// See [`AnswerContext::text_mode`].
    pub text_mode: Option<Accumulation>,
    /// See [`AnswerContext::num_output_tokens`].
    pub num_output_tokens: Option<Accumulation>,
    /// If streams may be made to ask for usage.
    pub usage: Option<Arc<UsageInjection>>,
}

/// An exchange to be observed, as its owner hands it in.
pub struct Observed {
    /// The state machine, begun at the arrival.
    pub exchange: Exchange,
    /// Who gets the record.
    pub recorder: Arc<dyn Recorder>,
    /// What others see of it meanwhile.
    pub live: Arc<Live>,
    /// What the engine is, as far as known.
    pub engine: Option<EngineKind>,
}

pub(crate) struct Observer {
    exchange: Option<Exchange>,
    decoder: Option<Decoder>,
    events: Vec<Event>,
    /// Stamp of the read after which the pending event was whole.
    whole_at: Option<Nanos>,
    progress_at: Nanos,
    recorder: Arc<dyn Recorder>,
    live: Arc<Live>,
    engine: Option<EngineKind>,
    sockets: Option<Arc<SocketStamps>>,
    upload: UploadState,
    clock: Clock,
    client: Arc<dyn Client>,
    habits: Habits,
    /// See [`AnswerContext::end_asked`].
    end_asked: Option<bool>,
}

impl Observer {
    pub(crate) fn new(
        observed: Observed,
        upload: UploadState,
        clock: Clock,
        client: Arc<dyn Client>,
    ) -> Self {
        Self {
            progress_at: observed.exchange.arrival(),
            exchange: Some(observed.exchange),
            decoder: None,
            events: Vec::new(),
            whole_at: None,
            recorder: observed.recorder,
            live: observed.live,
            engine: observed.engine,
            sockets: None,
            upload,
            clock,
            client,
            habits: Habits::default(),
            end_asked: None,
        }
    }

    pub(crate) fn with_habits(mut self, habits: Habits) -> Self {
        self.habits = habits;
        self
    }

    /// The request is one message of a call.
    pub(crate) fn on_call_request(&mut self, request: CallRequest) {
        // Whether it asked for the last response, nobody knows of one that can't be read.
        self.end_asked = request.facts.whole.then_some(request.end_asked);
        if let Some(exchange) = &mut self.exchange {
            exchange.on_request(request.facts, request.bytes);
        }
    }

    /// That message was handed to the engine's socket.
    pub(crate) fn on_call_sent(&mut self, at: Nanos) {
        if let Some(exchange) = &mut self.exchange {
            exchange.on_head_sent(at);
            exchange.on_body_sent(at);
        }
    }

    /// A message of its answer, in the read stamped `at`.
    pub(crate) fn on_message(&mut self, at: Nanos, data: &[u8]) {
        let bytes = data.len() as u64;
        self.live.on_read(at, bytes);
        self.guarded(|this| {
            this.events.clear();
            if let Some(decoder) = &mut this.decoder {
                decoder.push_message(data, &mut this.events);
            }
            this.on_events(at, bytes);
            this.hand_on_progress(at);
        });
    }

    /// Its answer is whole, though the call goes on.
    pub(crate) fn on_answered(&mut self, at: Nanos) {
        self.guarded(|this| this.finish(at, End::Clean));
    }

    /// Its answers can't be told from others', or not be read.
    pub(crate) fn on_lost_sight(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.flag(Flag::Unobserved);
        }
    }

    /// What others see of it.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    fn on_events(&mut self, at: Nanos, bytes: u64) {
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        let early = self.events.iter().take_while(|event| event.early).count();
        let (before, now) = self.events.split_at(early);
        if !before.is_empty() {
            exchange.on_read(self.whole_at.unwrap_or(at), 0, before);
        }
        exchange.on_read(at, bytes, now);
        if exchange.answer_model().is_none()
            && let Some(name) = self.decoder.as_ref().and_then(Decoder::model)
        {
            exchange.on_answer_model(name);
        }
        let tokens = self
            .events
            .iter()
            .map(|event| tokens_at_least(event.tokens))
            .sum();
        self.live.on_tokens(exchange.first_token(), tokens);
    }

    fn hand_on_progress(&mut self, at: Nanos) {
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if at.since(self.progress_at) >= PROGRESS_EVERY {
            self.progress_at = at;
            if let Some(progress) = exchange.poll_progress() {
                self.recorder.progress(&progress);
            }
        }
    }

    fn on_request_sent(&mut self) {
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if let Some((facts, bytes)) = self.upload.take_facts() {
            exchange.on_request(facts, bytes);
        }
        let Some(sockets) = &self.sockets else { return };
        if let Some(at) = sockets.first_write() {
            exchange.on_head_sent(at);
        }
        if let (Some(at), true) = (sockets.last_write(), self.upload.is_whole()) {
            exchange.on_body_sent(at);
        }
    }

    fn finish(&mut self, at: Nanos, end: End) {
        let Some(mut exchange) = self.exchange.take() else {
            return;
        };
        self.events.clear();
        let transport = if end == End::Clean {
            TransportEnd::Clean
        } else {
            TransportEnd::Cut
        };
        let answer = self
            .decoder
            .take()
            .map(|mut decoder| decoder.finish(transport, &mut self.events));
        if !self.events.is_empty() {
            exchange.on_read(self.whole_at.unwrap_or(at), 0, &self.events);
        }
        if let (Some(usage), Some(answer)) = (&self.habits.usage, &answer) {
            usage.learn(self.live.endpoint, exchange.request(), answer);
        }
        let holds = |engine: EngineKind| engine.holds_back(self.live.endpoint, exchange.request());
        if self.engine.is_some_and(holds) && answer.as_ref().is_some_and(|answer| answer.streamed) {
            exchange.flag(Flag::BufferedUpstream);
        }
        exchange.on_end(at, end);
        self.recorder.record(exchange.finish(answer));
    }

    /// Runs `observe`; if it panics, observation of this exchange is over and the record says so.
    fn guarded(&mut self, observe: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| observe(self))).is_err() {
            self.decoder = None;
            self.recorder.panicked();
            if let Some(exchange) = &mut self.exchange {
                exchange.flag(Flag::Unobserved);
            }
        }
    }
}

impl Watch for Observer {
    fn endpoint(&self) -> Endpoint {
        self.live.endpoint
    }

    fn on_connection(&mut self, sockets: Arc<SocketStamps>, took: Option<Nanos>) {
        self.sockets = Some(sockets);
        if let Some(took) = took {
            self.recorder.connected(took);
        }
    }

    fn on_head(&mut self, at: Nanos, head: &http::response::Parts) {
        self.on_request_sent();
        self.guarded(|this| {
            let Some(exchange) = &mut this.exchange else {
                return;
            };
            exchange.on_response_head(at, head.status.as_u16());
            if let Some(code) = call_status(&head.headers) {
                exchange.on_call_status(code);
            }
            let facts = exchange.request();
            let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
            let count = |name| text(name).and_then(|count| count.parse().ok());
            this.decoder = Some(Decoder::new(AnswerContext {
                content_type: text(http::header::CONTENT_TYPE),
                content_encoding: text(http::header::CONTENT_ENCODING),
                stream_requested: facts.stream,
                n: facts.n,
                prompts: facts.prompts,
                echo: facts.echo,
                text_mode: this.habits.text_mode,
                num_output_tokens: this.habits.num_output_tokens,
                end_asked: this.end_asked,
                generated_tokens: count(GENERATED_TOKENS),
                prompt_tokens: count(PROMPT_TOKENS),
                engine_times: EngineTimes::of_head(|name| {
                    head.headers.get(name).and_then(|value| value.to_str().ok())
                }),
                ..AnswerContext::new(this.live.endpoint, head.status.as_u16())
            }));
        });
    }

    fn on_frame(&mut self, at: Nanos, bytes: &[u8]) {
        self.live.on_read(at, bytes.len() as u64);
        self.guarded(|this| {
            this.events.clear();
            if let Some(decoder) = &mut this.decoder {
                decoder.push(bytes, &mut this.events);
            }
            this.on_events(at, bytes.len() as u64);
            let pending = this.decoder.as_ref().is_some_and(Decoder::pending_whole);
            this.whole_at = pending.then(|| {
                this.whole_at
                    .filter(|_| this.events.is_empty())
                    .unwrap_or(at)
            });
            this.hand_on_progress(at);
        });
    }

    fn on_trailers(&mut self, fields: &HeaderMap) {
        if let (Some(exchange), Some(code)) = (&mut self.exchange, call_status(fields)) {
            exchange.on_call_status(code);
        }
    }

    fn on_usage_injected(&mut self) {
        self.habits.usage = None;
        if let Some(exchange) = &mut self.exchange {
            exchange.flag(Flag::UsageInjected);
        }
    }

    fn on_usage_not_asked(&mut self) {
        self.recorder.usage_not_asked();
    }

    fn on_client_limited(&mut self) {
        self.guarded(|this| {
            if let Some(exchange) = &mut this.exchange {
                exchange.flag(Flag::ClientLimited);
            }
        });
    }

    fn on_undelivered(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.flag(Flag::Undelivered);
        }
    }

    fn on_end(&mut self, at: Nanos, end: End) {
        self.on_request_sent();
        let end = match &self.exchange {
            // The end of a gRPC call is its status: without one it broke off, however well its frames ended.
            Some(exchange)
                if end == End::Clean
                    && exchange.identity().endpoint.is_grpc()
                    && exchange.call_status().is_none() =>
            {
                End::Truncated
            }
            _ => end,
        };
        self.guarded(|this| this.finish(at, end));
    }

    fn on_end_now(&mut self, end: End) {
        let end = match end {
            End::ClientGone => self.client.parting(),
            other => other,
        };
        self.on_end(stamped::stamp_now(&self.clock), end);
    }

    fn waits(&self) -> Waits {
        let has_token = self.live.first_token().is_some();
        Waits {
            first_token: !has_token,
            since: None,
            more: has_token,
        }
    }
}

/// The status that ends a gRPC call; one that is no number is gRPC's `UNKNOWN`.
fn call_status(fields: &HeaderMap) -> Option<u32> {
    const UNKNOWN: u32 = 2;
    let text = fields.get(GRPC_STATUS)?.to_str().ok();
    Some(text.and_then(|code| code.parse().ok()).unwrap_or(UNKNOWN))
}

impl Drop for Observer {
    fn drop(&mut self) {
        if self.exchange.is_some() {
            self.on_end_now(End::ClientGone);
        }
    }
}

fn tokens_at_least(tokens: Tokens) -> u64 {
    match tokens {
        Tokens::None => 0,
        Tokens::AtLeastOne => 1,
        Tokens::Exactly(count) => u64::from(count),
    }
}
