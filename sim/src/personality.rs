//! Which engine the simulator plays, and what a server of that engine does around the bytes of its answers: heads and when
//! they come, signs of life, which models it lets itself be asked for.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderName, SERVER, VARY,
};
use http::{HeaderMap, HeaderValue};
use wire::encode::Settings;
use wire::{Accumulation, Endpoint, EngineKind};

/// An engine, and how its server was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Personality {
    /// Whose habits.
    pub engine: EngineKind,
    /// What an event of SGLang's `/generate` and of Triton's `generate_stream` has as its text: what is new
    /// (`--incremental-streaming-output`), or all so far.
    pub text: Accumulation,
    /// vLLM's `--enable-per-request-metrics`: usage comes with the engine's own times of the request.
    pub request_metrics: bool,
}

/// When the head of a stream is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadTime {
    /// As soon as the request is accepted.
    AtOnce,
    /// When the request leaves the queue.
    Admitted,
    /// With the first token.
    FirstToken,
}

impl Personality {
    /// An engine as it is when nothing is said at its start.
    pub const fn of(engine: EngineKind) -> Self {
        let settings = Settings::of(engine);
        Self {
            engine,
            text: settings.text,
            request_metrics: settings.request_metrics,
        }
    }

    pub(crate) fn head_time(self, endpoint: Endpoint) -> HeadTime {
        match (self.engine, endpoint) {
            (EngineKind::Sglang, Endpoint::Completions | Endpoint::ChatCompletions)
            | (EngineKind::Triton, Endpoint::TritonGenerateStream) => HeadTime::FirstToken,
            (EngineKind::LlamaCpp, _) => HeadTime::Admitted,
            _ => HeadTime::AtOnce,
        }
    }

    /// After so much silence a stream has a comment.
    pub(crate) fn keep_alive(self) -> Option<Duration> {
        match self.engine {
            EngineKind::Tgi => Some(Duration::from_secs(15)),
            EngineKind::LlamaCpp => Some(Duration::from_secs(30)),
            _ => None,
        }
    }

    /// Events that are told together share a chunk.
    pub(crate) fn writes_together(self) -> bool {
        self.engine == EngineKind::LlamaCpp
    }

    /// Names of fields begin with capitals.
    pub(crate) fn title_case(self) -> bool {
        matches!(self.engine, EngineKind::LlamaCpp | EngineKind::Triton)
    }

    /// A request for another model than the served one is refused.
    pub(crate) fn knows_its_model(self) -> bool {
        self.engine == EngineKind::Vllm
    }

    /// The model's reasoning is told apart from its answer.
    pub(crate) fn parses_reasoning(self, endpoint: Endpoint) -> bool {
        !matches!(self.engine, EngineKind::Tgi | EngineKind::Triton)
            && matches!(
                endpoint,
                Endpoint::ChatCompletions | Endpoint::Responses | Endpoint::Messages
            )
    }

    /// Its `system_fingerprint`, without what the dialect puts before it.
    pub(crate) fn fingerprint(self, profile: &str) -> String {
        match self.engine {
            EngineKind::Tgi => "3.3.6-dev0-native".to_owned(),
            EngineKind::LlamaCpp => "b9100-0c1e570".to_owned(),
            _ => format!("{VLLM_VERSION}-sim-{profile}"),
        }
    }

    /// Puts the fields of a JSON answer on.
    pub(crate) fn dress(self, fields: &mut HeaderMap) {
        if let Some(server) = self.server() {
            fields.insert(SERVER, HeaderValue::from_static(server));
        }
        if self.engine == EngineKind::LlamaCpp {
            fields.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static(""));
        }
    }

    /// Puts the fields of a stream on.
    pub(crate) fn dress_stream(self, endpoint: Endpoint, fields: &mut HeaderMap) {
        self.dress(fields);
        let list: &[(HeaderName, &'static str)] = match (self.engine, endpoint) {
            (_, Endpoint::OllamaChat | Endpoint::OllamaGenerate) => {
                &[(CONTENT_TYPE, "application/x-ndjson")]
            }
            (EngineKind::Vllm, _) => &[(CONTENT_TYPE, EVENTS_UTF8), (VARY, "Origin")],
            (EngineKind::Sglang, Endpoint::Responses) => {
                &[(CONTENT_TYPE, EVENTS_UTF8), (CACHE_CONTROL, "no-cache")]
            }
            (EngineKind::Tgi, _) => &[
                (CONTENT_TYPE, EVENTS),
                (CACHE_CONTROL, "no-cache"),
                (COMPUTE_TYPE, "gpu+optimized"),
                (ACCEL_BUFFERING, "no"),
            ],
            (EngineKind::LlamaCpp, _) => &[
                (ACCEL_BUFFERING, "no"),
                (CONTENT_TYPE, EVENTS),
                (KEEP_ALIVE, "timeout=5, max=100"),
            ],
            _ => &[(CONTENT_TYPE, EVENTS_UTF8)],
        };
        for (name, value) in list {
            fields.insert(name, HeaderValue::from_static(value));
        }
    }

    fn server(self) -> Option<&'static str> {
        match self.engine {
            EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm => Some("uvicorn"),
            EngineKind::LlamaCpp => Some("llama.cpp"),
            EngineKind::Tgi | EngineKind::Triton => None,
        }
    }
}

pub(crate) const VLLM_VERSION: &str = "0.33.0";

const EVENTS: &str = "text/event-stream";
const EVENTS_UTF8: &str = "text/event-stream; charset=utf-8";
const COMPUTE_TYPE: HeaderName = HeaderName::from_static("x-compute-type");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
