//! Durations of a row, in nanoseconds, by the definitions of `measure`. Absent where the exchange had none.

use crate::Row;

impl Row {
    /// Time to the first token, from the moment the engine had the whole request.
    pub fn ttft_ns(&self) -> Option<u64> {
        self.first_token_ns?.checked_sub(self.body_sent_ns?)
    }

    /// Time to the end, from the same moment.
    pub fn e2e_ns(&self) -> Option<u64> {
        self.end_ns.checked_sub(self.body_sent_ns?)
    }

    /// Time per token after the first burst: (last token − first token) ÷ (output tokens − tokens of the first burst).
    pub fn tpot_ns(&self) -> Option<f64> {
        let span = self.last_token_ns?.checked_sub(self.first_token_ns?)?;
        let after = self.output_tokens?.checked_sub(self.first_burst_tokens)?;
        (self.bursts > 1 && after > 0).then(|| span as f64 / after as f64)
    }

    /// The engine was never asked: we refused the request, or found no engine.
    pub fn never_sent(&self) -> bool {
        matches!(
            self.outcome.as_str(),
            "rejected_malformed" | "rejected_limit" | "connect_failed"
        )
    }

    /// It ended, by what is known of it, and ended well.
    pub fn is_ok(&self) -> bool {
        self.outcome == "ok"
    }
}
