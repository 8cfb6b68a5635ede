//! Bytes to meaning: what LLM engines say, read without sockets, clocks or files.
//!
//! An answer goes through a [`Decoder`]: `push` each read's bytes, get [`Event`]s; `finish` once, get an [`Answer`].
//! A request's body goes through a [`RequestScan`] the same way and ends as [`RequestFacts`].
//! Nothing here returns an error: traffic is not ours to judge. What can't be understood is skipped, counted as an
//! [`Anomaly`], and the fact in question is `None`.
//!
//! Invariants: no tokio, no `std::fs`, no `std::net`, no clock. No buffer grows with the stream: every kept thing has a
//! limit in [`limits`].

pub mod encode;
pub mod limits;
pub mod sse;

mod answer;
mod call_answers;
mod coding;
mod context;
mod decoder;
mod dialect;
mod endpoint;
mod engine_kind;
mod engine_times;
mod event;
mod grpc;
mod json;
mod ndjson;
mod passing;
mod prompt;
mod proto;
mod reason;
mod request;
mod usage;

pub use answer::{Anomaly, Answer, CountSource, FinishState, Terminator, TransportEnd};
pub use call_answers::{CallAnswer, CallAnswers};
pub use context::{Accumulation, AnswerContext, Framing};
pub use decoder::Decoder;
pub use endpoint::Endpoint;
pub use engine_kind::EngineKind;
pub use engine_times::EngineTimes;
pub use event::{Event, Tokens};
pub use passing::Passing;
pub use prompt::{Canonical, Piece, Prompt};
pub use reason::Reason;
pub use request::{AnswerForm, CallRequest, CallScan, RequestDetails, RequestFacts, RequestScan};
pub use usage::{AskedUsage, UsageStrip, ask_for_usage};
