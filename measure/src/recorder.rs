//! What receives the finished records, and the tokens of those not yet finished.

use crate::{Identity, Nanos, Record};
use wire::RequestFacts;

/// Tokens read since the last time somebody asked, so that token counters move while a stream runs.
///
/// What was handed out this way stands in [`Record::counted_tokens`] at the end; the record's receiver adds only
/// [`Record::uncounted_tokens`].
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Whose tokens.
    pub identity: &'a Identity,
    /// What it asked for.
    pub request: &'a RequestFacts,
    /// The model that answers, as the engine spells it; `None` while it has not said.
    pub answer_model: Option<&'a str>,
    /// Tokens of events that said how many they carried.
    pub exact: u64,
    /// One for each event that proved tokens without saying how many.
    pub at_least: u64,
}

impl Progress<'_> {
    /// All of them: never more than were generated.
    pub fn tokens(&self) -> u64 {
        self.exact.saturating_add(self.at_least)
    }
}

/// What receives records. It is called between two tokens of somebody's stream: it must not block, and a failure of its
/// own must end inside it.
pub trait Recorder: Send + Sync {
    /// Tokens of an exchange that goes on.
    fn progress(&self, progress: &Progress<'_>);

    /// An exchange is over. Called once for each.
    fn record(&self, record: Record);

    /// A connection to the engine was made for an exchange, and took so long.
    fn connected(&self, took: Nanos);

    /// A request should have been made to ask for usage, and was too long for that.
    fn usage_not_asked(&self) {}

    /// Observing an exchange panicked, and was stopped for that exchange.
    fn panicked(&self);
}
