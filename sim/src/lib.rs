//! An LLM engine that is none: it answers as vLLM does, as fast or slow and as badly as it is told to, and writes down
//! what it truly emitted and when.
//!
//! It is the ground truth for everything that measures, so it shares no definition with the measuring side: it uses
//! `wire`'s encoders and nothing else of ours.
//!
//! * [`Engine`]: continuous batching as a pure, seeded step.

mod engine;
mod kv;
mod profile;

pub use engine::{Emission, Engine, Finish, Load, Refusal, Request, RequestId, Step};
pub use profile::{PrefixCache, Profile, Speculation};
