//! What the numbers mean: every quantity of a record, with its formula.
//!
//! The words are those of the field: TTFT and TPOT as engines, load generators and the telemetry conventions for
//! generative AI name them. Tools that use one name differ in the formula, hence each is written out here.
//!
//! Latency begins at the last write of the request (`body_sent`): the engine can't start earlier, and the time that the
//! client takes to upload is not the engine's. Where the engine answered before it had the whole request, latency begins
//! at the request's head. Where it was never sent, none has passed.
//!
//! An exchange has a quantity, was cut before it had it, or can't have one: see [`Defined`]. Nothing is ever 0 for want
//! of a value.

use crate::{Defined, GapHistogram, Nanos, Outcome, Record};

impl Record {
    /// Time to first token: first_token − body_sent.
    ///
    /// The first token is a generated one of any kind (text, reasoning, tool call), not a head, a role or a heartbeat.
    /// Censored at end − body_sent if no token came, whatever the outcome. Not applicable to an answer that was not
    /// streamed, whose one read says nothing of its first token, and where the answer could not be read. If something
    /// held the answer back (`buffered_upstream`), it is the time to what was let go: see [`Self::first_token_is_engines`].
    pub fn ttft(&self) -> Defined<Nanos> {
        self.time_to(self.stamps.first_token)
    }

    /// Time to the first event of any kind: first_event − body_sent. It may hold no token at all, and is never TTFT; its
    /// distance from TTFT shows what an engine sends ahead. Applicable and censored as [`Self::ttft`].
    pub fn time_to_first_event(&self) -> Defined<Nanos> {
        self.time_to(self.stamps.first_event)
    }

    /// Time to first answer token: first_answer − body_sent, reasoning excluded.
    ///
    /// As [`Self::ttft`], and not applicable to a whole answer that is nothing but reasoning.
    pub fn ttfa(&self) -> Defined<Nanos> {
        let only_reasoning =
            self.stamps.first_answer.is_none() && self.stamps.first_token.is_some();
        if only_reasoning && self.is_ok() {
            return Defined::NotApplicable;
        }
        self.time_to(self.stamps.first_answer)
    }

    /// Whether the first token was seen when the engine gave it: not if something above it held the answer back. Such a
    /// TTFT belongs into no percentile of an engine.
    pub fn first_token_is_engines(&self) -> bool {
        !self.flags.buffered_upstream
    }

    /// Why TTFT is censored, if it is: the outcome. [`Outcome::Ok`] is a whole answer in which nothing proved a token.
    pub fn without_first_token(&self) -> Option<Outcome> {
        self.ttft().is_censored().then_some(self.outcome)
    }

    /// Time per output token, in seconds: (last_token − first_token) / (N − n_1), with N the output tokens and n_1 those
    /// of the first burst.
    ///
    /// The tokens of the first burst were made before the span began, so they do not divide it. With n_1 = 1 this is the
    /// usual (last − first) / (N − 1). N is the total stated by the engine, else what was counted; if either count is
    /// only a lower bound, the flag `tpot_estimated` is set. Not applicable to a whole answer of fewer than two bursts,
    /// or with N ≤ n_1; nor where the client or a buffer set the pace. Censored at its observed value if the exchange failed, at 0 if
    /// there is none.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count of 2⁵³ tokens has no record"
    )]
    pub fn tpot(&self) -> Defined<f64> {
        let divisor = self
            .output_tokens_seen()
            .saturating_sub(self.first_burst_tokens);
        let span = self.decode_span().filter(|_| divisor > 0);
        self.while_decoding(span.map(|span| span.as_secs_f64() / divisor as f64), 0.0)
    }

    /// The largest gap between two token-bearing bursts: the longest that the reader saw nothing new.
    ///
    /// Applicable and censored as [`Self::tpot`].
    pub fn max_stall(&self) -> Defined<Nanos> {
        self.while_decoding(self.gaps.max(), Nanos::ZERO)
    }

    /// End to end: end − body_sent. Censored there unless the outcome is `ok`. Streamed or not.
    pub fn e2e(&self) -> Defined<Nanos> {
        let observed = self.since_sent(self.stamps.end);
        if self.is_ok() {
            Defined::Value(observed)
        } else {
            Defined::Censored(observed)
        }
    }

    /// Time until the engine had the whole request: body_sent − arrival. It holds the client's upload and the connect,
    /// and is never part of TTFT. Censored at the end if the request was never whole.
    pub fn upload(&self) -> Defined<Nanos> {
        match self.stamps.body_sent {
            Some(sent) => Defined::Value(sent.since(self.stamps.arrival)),
            None => Defined::Censored(self.stamps.end.since(self.stamps.arrival)),
        }
    }

    /// What came after the last token: end − last_token. The usage event, the end mark, or the wait before an abort.
    ///
    /// Not applicable without a token, to an answer that was not streamed, or where the client set the pace.
    pub fn tail(&self) -> Defined<Nanos> {
        match self.stamps.last_token {
            Some(last) if self.streamed && self.paced_by_engine() => {
                Defined::Value(self.stamps.end.since(last))
            }
            _ => Defined::NotApplicable,
        }
    }

    /// Mean tokens a burst: counted tokens / bursts. Above 1 where the engine or something above it sends several at
    /// once. Censored where the count is only a lower bound; not applicable without a token.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count of 2⁵³ tokens has no record"
    )]
    pub fn tokens_per_burst(&self) -> Defined<f64> {
        if self.bursts == 0 {
            return Defined::NotApplicable;
        }
        let mean = self.output_tokens_min as f64 / self.bursts as f64;
        if self.counts_exact {
            Defined::Value(mean)
        } else {
            Defined::Censored(mean)
        }
    }

    /// The gaps, where they are the engine's: not those of a client that set the pace, nor of a buffer that was emptied.
    pub fn engine_gaps(&self) -> Option<&GapHistogram> {
        let others = self.flags.client_limited || self.flags.buffered_upstream;
        (!others).then_some(&self.gaps)
    }

    /// Generated tokens: the total stated, else those that the token events prove.
    pub fn output_tokens_seen(&self) -> u64 {
        self.output_tokens.unwrap_or(self.output_tokens_min)
    }

    /// Generated tokens that no progress has handed out yet: what a counter still lacks.
    pub fn uncounted_tokens(&self) -> u64 {
        self.output_tokens_seen()
            .saturating_sub(self.counted_tokens)
    }

    fn is_ok(&self) -> bool {
        self.outcome == Outcome::Ok
    }

    /// The zero of latency.
    fn since_sent(&self, instant: Nanos) -> Nanos {
        let stamps = &self.stamps;
        let answered = stamps.response_head.or(stamps.first_token);
        let zero = match (stamps.body_sent, answered) {
            (Some(sent), _) => sent,
            (None, Some(_)) => stamps.head_sent.unwrap_or(stamps.arrival),
            (None, None) => instant,
        };
        instant.since(zero)
    }

    fn time_to(&self, first: Option<Nanos>) -> Defined<Nanos> {
        match first {
            _ if !self.streams() => Defined::NotApplicable,
            Some(first) => Defined::Value(self.since_sent(first)),
            None if self.flags.sight_lost() => Defined::NotApplicable,
            None => Defined::Censored(self.since_sent(self.stamps.end)),
        }
    }

    /// It was streamed, or would have been, had it not failed.
    fn streams(&self) -> bool {
        let asked = self.request.stream.unwrap_or(!self.request.whole);
        self.streamed || (asked && !self.is_ok())
    }

    fn decode_span(&self) -> Option<Nanos> {
        let span = self.stamps.last_token?.since(self.stamps.first_token?);
        (self.bursts >= 2).then_some(span)
    }

    fn paced_by_engine(&self) -> bool {
        !self.flags.client_limited && !self.flags.sight_lost()
    }

    /// A quantity of the whole decode: its value if it was whole, at least what was seen (or `least`) if not.
    fn while_decoding<T>(&self, seen: Option<T>, least: T) -> Defined<T> {
        match seen {
            _ if !self.streams() || !self.paced_by_engine() => Defined::NotApplicable,
            _ if self.flags.buffered_upstream => Defined::NotApplicable,
            Some(seen) if self.is_ok() => Defined::Value(seen),
            None if self.is_ok() => Defined::NotApplicable,
            seen => Defined::Censored(seen.unwrap_or(least)),
        }
    }
}
