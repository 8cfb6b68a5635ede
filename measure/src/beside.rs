//! Our figures beside those that the engine states of the same request.
//!
//! The difference is what lies between the engine's clock and ours: its front-end, the network, our own read. It is the
//! check on both: a clock of ours that ran short would show as a difference below 0.

use crate::{Nanos, Record};

/// A quantity that both may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Beside {
    /// TTFT. The engine's: from the request taken in to the first token, its queue included.
    Ttft,
    /// TTFT beside the engine's prefill alone, where it does not state how long the request was queued: the difference
    /// holds that wait too.
    Prefill,
    /// TPOT. The engine's: its decode span / (output tokens − 1).
    Tpot,
    /// e2e. The engine's ends with the last token or with its own last work on the request; ours with the last byte.
    E2e,
}

impl Beside {
    /// Each of them, once.
    pub const ALL: [Self; 4] = [Self::Ttft, Self::Prefill, Self::Tpot, Self::E2e];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Prefill => "prefill",
            Self::Tpot => "tpot",
            Self::E2e => "e2e",
        }
    }
}

impl Record {
    /// Ours − the engine's, in seconds; `None` where either has none. Of a whole exchange, and of its end only where the
    /// client did not set the pace.
    pub fn engine_difference(&self, quantity: Beside) -> Option<f64> {
        let seconds = |nanos: Nanos| nanos.as_secs_f64();
        let (ours, engine) = match quantity {
            Beside::Ttft => (self.ttft().value().map(seconds), self.engine_ttft()?),
            Beside::Prefill if self.engine_ttft().is_some() => return None,
            Beside::Prefill => (
                self.ttft().value().map(seconds),
                self.engine_times.prefill.map(Nanos)?,
            ),
            Beside::Tpot => return Some(self.tpot().value()? - self.engine_tpot()?),
            Beside::E2e if self.flags.client_limited => return None,
            Beside::E2e => (self.e2e().value().map(seconds), self.engine_e2e()?),
        };
        ours.map(|ours| ours - seconds(engine))
    }

    fn engine_ttft(&self) -> Option<Nanos> {
        let times = &self.engine_times;
        let summed = || Some(times.queue?.saturating_add(times.prefill?));
        times.ttft.or_else(summed).map(Nanos)
    }

    fn engine_e2e(&self) -> Option<Nanos> {
        let times = &self.engine_times;
        let summed = || Some(self.engine_ttft()?.0.saturating_add(times.decode?));
        times.e2e.or_else(summed).map(Nanos)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a count of 2⁵³ tokens has no record"
    )]
    fn engine_tpot(&self) -> Option<f64> {
        let later = self
            .output_tokens?
            .checked_sub(1)
            .filter(|later| *later > 0)?;
        Some(Nanos(self.engine_times.decode?).as_secs_f64() / later as f64)
    }
}
