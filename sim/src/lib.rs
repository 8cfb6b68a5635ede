//! An LLM engine that is none: it answers as the one does that it is told to be, as fast or slow and as badly as it is told
//! to, and writes down what it truly emitted and when.
//!
//! It is the ground truth for everything that measures, so it shares no definition with the measuring side: of our rooms
//! it uses `wire`, and of that the encoders and the table of routes.
//!
//! * [`Engine`]: continuous batching as a pure, seeded step, at the speed of a [`Profile`].
//! * [`Personality`]: which engine it plays; the bytes are written by `wire::encode`.
//! * [`Server`]: the HTTP routes around it; [`request`], [`fault`] and [`script`] say which headers steer it.
//! * [`Truth`]: one [`Record`] for each request, on the [`Clock`] of whoever runs the simulator.

mod answer;
mod call;
mod clock;
mod driver;
mod engine;
mod exchange;
pub mod fault;
mod gauges;
mod identity;
mod kv;
mod link;
mod outbox;
mod pace;
mod personality;
mod profile;
pub mod request;
mod routes;
pub mod script;
mod server;
mod socket;
mod telling;
mod text;
mod truth;

pub use clock::Clock;
pub use engine::{Emission, Engine, Finish, Load, Refusal, Request, RequestId, Step, Work};
pub use pace::Pacing;
pub use personality::Personality;
pub use profile::{PrefixCache, Profile, Speculation};
pub use script::Stamp;
pub use server::{Options, Server};
pub use truth::{Emitted, Ended, Kind, Live, Record, Truth};
