//! What an engine said of its load.

use crate::Nanos;

/// What the engine said of its load, the last time before an exchange arrived; each figure only where it says so.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EngineLoad {
    /// Requests being decoded, of all its clients.
    pub running: Option<u64>,
    /// Requests that wait for their turn.
    pub waiting: Option<u64>,
    /// Share of the KV cache in use, from 0 to 1.
    pub kv_usage: Option<f64>,
    /// Prompt tokens found in the prefix cache, since the engine's start.
    pub prefix_hits: Option<u64>,
    /// Prompt tokens looked for in it, since then.
    pub prefix_queries: Option<u64>,
    /// How long before the arrival it was asked.
    pub age: Nanos,
}
