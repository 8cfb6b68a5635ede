//! What an engine says about the times of one request: the check on a clock that stands outside of it.
//!
//! Nanoseconds, on the engine's own clock; only what was stated. The words are ours, since engines use one name for
//! different spans: vLLM's `time_to_first_token_ms` begins when the request leaves the queue, and is a prefill here.

use std::time::Duration;

/// Spans of one request, in nanoseconds, each only where the engine states it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineTimes {
    /// From the request taken in to its work begun.
    pub queue: Option<u64>,
    /// From its work begun to the first token.
    pub prefill: Option<u64>,
    /// From the request taken in to the first token.
    pub ttft: Option<u64>,
    /// From the first token to the last.
    pub decode: Option<u64>,
    /// From the request taken in to its end.
    pub e2e: Option<u64>,
}

// ---- EngineTimes

impl EngineTimes {
    /// What the fields of a response's head state: TGI's whole milliseconds, on answers that are not streamed. `field`
    /// gives the value of a field by its name.
    pub fn of_head<'h>(field: impl Fn(&str) -> Option<&'h str>) -> Self {
        let stated = |name| nanos(field(name)?.as_bytes(), PER_MILLISECOND);
        Self {
            queue: stated("x-queue-time"),
            e2e: stated("x-total-time"),
            ..Self::default()
        }
    }

    /// Something is stated.
    pub fn is_stated(&self) -> bool {
        *self != Self::default()
    }

    /// Takes what `later` states; what it doesn't state stays.
    pub(crate) fn update(&mut self, later: Self) {
        *self = Self {
            queue: later.queue.or(self.queue),
            prefill: later.prefill.or(self.prefill),
            ttft: later.ttft.or(self.ttft),
            decode: later.decode.or(self.decode),
            e2e: later.e2e.or(self.e2e),
        };
    }
}

// ---- Figures

/// Units in a second, of a figure in seconds.
pub(crate) const PER_SECOND: f64 = 1.0;
/// The same of one in milliseconds.
pub(crate) const PER_MILLISECOND: f64 = 1e3;

/// Nanoseconds of a figure as it is written; `None` if it is no number, negative, or centuries.
pub(crate) fn nanos(figure: &[u8], units_per_second: f64) -> Option<u64> {
    let figure: f64 = std::str::from_utf8(figure).ok()?.trim().parse().ok()?;
    let span = Duration::try_from_secs_f64(figure / units_per_second).ok()?;
    u64::try_from(span.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_in_every_spelling() {
        for (figure, units, expected) in [
            ("55.2", PER_MILLISECOND, Some(55_200_000)),
            ("0", PER_MILLISECOND, Some(0)),
            ("71", PER_MILLISECOND, Some(71_000_000)),
            ("1e-05", PER_SECOND, Some(10_000)),
            ("0.3", PER_SECOND, Some(300_000_000)),
            ("-1", PER_SECOND, None),
            ("1e300", PER_SECOND, None),
            ("20000000000", PER_SECOND, None),
            ("NaN", PER_SECOND, None),
            ("inf", PER_SECOND, None),
            ("soon", PER_SECOND, None),
            ("", PER_SECOND, None),
        ] {
            assert_eq!(nanos(figure.as_bytes(), units), expected, "{figure}");
        }
    }

    #[test]
    fn what_is_not_stated_later_stays() {
        let mut times = EngineTimes {
            queue: Some(1),
            e2e: Some(9),
            ..EngineTimes::default()
        };
        times.update(EngineTimes {
            queue: Some(2),
            decode: Some(3),
            ..EngineTimes::default()
        });
        assert_eq!(
            times,
            EngineTimes {
                queue: Some(2),
                decode: Some(3),
                e2e: Some(9),
                ..EngineTimes::default()
            }
        );
    }
}
