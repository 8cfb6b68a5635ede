//! A recorded load, sent again: the same lengths, the same prefixes, the same times, to a target of the operator's.
//!
//! * [`Schedule`]: when each request is to be sent; [`Timeline`] is one on its way.
//! * [`Synthesis`]: prompts with recorded lengths and shared prefixes, where their text was not kept.
//! * [`Sender`]: one request, measured by the ruler that production is measured by, so that both are like for like.
//! * [`play`]: all of it, open loop.
//!
//! Times are nanoseconds of the sender's clock. Nothing here listens, and nothing here judges.

mod runner;
mod schedule;
mod sender;
mod synthesis;
mod timeline;

pub use runner::{Audience, Limits, Sent, Standing, play};
pub use schedule::{Kind, Recorded, Schedule, Start};
pub use sender::{MARK, Outgoing, Reaching, Sender, Tokens};
pub use synthesis::{Synthesis, TooSmall};
pub use timeline::{Due, Timeline};
