//! Gaps between bursts, as a bounded histogram.

/// Placeholder shape; the room's author fills it in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GapHistogram {}
