//! What the engine says of itself: who it is, and how busy.
//!
//! A [`Watch`] asks the engine's own routes, beside the traffic: over connections of its own, one question at a time, each
//! with a deadline and a limit on the answer. Nobody waits for it. What it learned last is in [`Told`]; what happens to it
//! goes to an [`Audience`]. Reading an answer is pure: bytes in, [`Facts`] or a load out.
//!
//! Invariants: what the engine doesn't say is not made up, least of all a precision from a model's name; no answer, however
//! long, slow or wrong, costs more than its limits; nothing of an answer is kept but the facts that are named here.

mod answers;
mod exposition;
mod facts;
mod get;
mod identity;
mod load;
mod told;
mod watch;

pub use exposition::{Lines, Sample};
pub use facts::Facts;
pub use get::{ANSWER_BYTES, DEADLINE, METRICS_BYTES, Unanswered};
pub use identity::{By, Identity, UNSTATED, Word, Words};
pub use load::LoadReader;
pub use told::Told;
pub use watch::{Audience, Plan, Scraped, Watch};

/// Reads what the body of one of the engine's routes says: nothing for a route that isn't known, or a body that isn't what
/// belongs there.
pub fn facts_of(path: &str, body: &[u8]) -> Facts {
    match answers::ROUTES.iter().find(|route| route.path == path) {
        Some(route) => (route.read)(body),
        None => Facts::default(),
    }
}
