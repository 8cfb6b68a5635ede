//! The objects in which engines state the times of one request; they come at its end.

#![deny(clippy::indexing_slicing)]

use crate::EngineTimes;
use crate::engine_times::{PER_MILLISECOND, nanos};
use crate::json::Cursor;

/// llama.cpp's `timings`: its counts, and its times. They begin when a slot takes the request up; how long it waited for
/// one is not told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Timings {
    /// Prompt tokens from the cache.
    pub(super) cached: Option<u64>,
    /// Prompt tokens that were processed; those from the cache are not among them.
    pub(super) processed: Option<u64>,
    /// Generated tokens so far.
    pub(super) predicted: Option<u64>,
    pub(super) times: EngineTimes,
}

impl Timings {
    /// Reads the object; nothing for any other value.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let mut timings = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"cache_n" => timings.cached = cursor.count()?,
                b"prompt_n" => timings.processed = cursor.count()?,
                b"predicted_n" => timings.predicted = cursor.count()?,
                // The clock of generating starts with the first token in hand.
                b"prompt_ms" => timings.times.prefill = milliseconds(cursor)?,
                b"predicted_ms" => timings.times.decode = milliseconds(cursor)?,
                _ => cursor.skip()?,
            }
            Some(())
        })?;
        if timings.predicted == Some(0) {
            timings.times = EngineTimes::default();
        }
        Some(timings)
    }
}

/// vLLM's `metrics` (`--enable-per-request-metrics`). Its "time to first token" begins when the request is scheduled.
pub(super) fn read_vllm(cursor: &mut Cursor<'_>) -> Option<EngineTimes> {
    let mut times = EngineTimes::default();
    cursor.object(|cursor, key| {
        match key {
            b"queue_time_ms" => times.queue = milliseconds(cursor)?,
            b"time_to_first_token_ms" => times.prefill = milliseconds(cursor)?,
            b"generation_time_ms" => times.decode = milliseconds(cursor)?,
            _ => cursor.skip()?,
        }
        Some(())
    })?;
    Some(times)
}

fn milliseconds(cursor: &mut Cursor<'_>) -> Option<Option<u64>> {
    let figure = cursor.figure()?;
    Some(figure.and_then(|figure| nanos(figure, PER_MILLISECOND)))
}
