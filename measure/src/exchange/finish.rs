//! The end of an exchange: what follows from all that it was told, as one record.

use super::{Ended, Exchange};
use crate::ending::Ending;
use crate::{End, InFlightMeans, Nanos, Outcome, Record};
use wire::{Anomaly, Answer, CountSource, EngineTimes};

/// A gap below this is no decode step: see [`crate::Flags::buffered_upstream`].
const NO_DECODE_STEP: Nanos = Nanos::from_millis(1);
/// Bursts whose median gap is judged.
const BUFFERED_BURSTS: u64 = 8;
/// Token-bearing events that one decode step does not give: two for each of two choices are the most that was seen.
const BUFFERED_EVENTS: u64 = 4;
/// Tokens that one decode step does not give, speculation included.
const BUFFERED_TOKENS: u64 = 16;

// Exchange: command

impl Exchange {
    /// Command: makes the record. `answer` is what the decoder knows at the end, `None` if there was none.
    ///
    /// Without an [`Exchange::on_end`] before, nobody but us let it go: it ends as [`End::Drained`] at its latest stamp.
    pub fn finish(mut self, answer: Option<Answer>) -> Record {
        let ended = match self.ended {
            Some(ended) => ended,
            None => self.leave(self.latest, End::Drained),
        };
        self.bursts.close();
        self.set_final_flags(ended.end, answer.as_ref());
        let outcome = self.outcome(ended.end, answer.as_ref());
        if outcome == Outcome::Ok && ended.end == End::ClientGone {
            // It hung up on the terminal mark. The stream ended with the mark, not when the client got round to leaving.
            self.stamps.end = self.latest;
        }
        self.assert_stamps();
        self.into_record(ended.in_flight, outcome, answer)
    }

    pub(super) fn leave(&mut self, at: Nanos, end: End) -> Ended {
        self.stamps.end = at;
        Ended {
            end,
            in_flight: self.presence.leave(at),
        }
    }

    fn outcome(&self, end: End, answer: Option<&Answer>) -> Outcome {
        let ending = Ending {
            end,
            status: self.status,
            call_status: self.call_status,
            answer,
            seen_token: self.stamps.first_token.is_some(),
            sight_lost: self.flags.sight_lost(),
            undelivered: self.flags.undelivered,
        };
        ending.outcome()
    }

    /// The flags that follow from the bytes and stamps.
    fn set_final_flags(&mut self, end: End, answer: Option<&Answer>) {
        let anomaly = |which| {
            answer.is_some_and(|answer| answer.anomalies.iter().any(|&(kind, _)| kind == which))
        };
        let good_status = self.status.is_some_and(|status| status < 300);
        let total = answer.and_then(|answer| answer.output_tokens);
        let exact = self.bursts.all_exact();
        let first_exact = self.bursts.first().is_some_and(|first| first.exact);
        let buffered = answer.is_some_and(|answer| self.was_held_back(answer));
        let flags = &mut self.flags;
        flags.opaque = anomaly(Anomaly::Opaque);
        flags.oversize_event = anomaly(Anomaly::OversizeEvent);
        flags.unobserved |= good_status && answer.is_none();
        flags.truncated = self.status.is_some() && matches!(end, End::Truncated | End::Reset);
        flags.buffered_upstream |= buffered;
        flags.tpot_estimated =
            self.bursts.count() >= 2 && !(first_exact && (exact || total.is_some()));
        flags.usage_mismatch = match (total, answer.map(|answer| answer.output_source)) {
            (Some(total), Some(CountSource::Usage)) if exact => total != self.bursts.tokens(),
            (Some(total), Some(CountSource::Usage)) => total < self.bursts.tokens(),
            _ => false,
        };
    }

    /// See [`crate::Flags::buffered_upstream`].
    fn was_held_back(&self, answer: &Answer) -> bool {
        if !answer.streamed {
            return false;
        }
        let (first, last) = (self.stamps.first_token, self.stamps.last_token);
        let at_once = match (first, last) {
            (Some(first), Some(last)) => last.since(first) < NO_DECODE_STEP,
            _ => false,
        };
        let several =
            answer.token_events >= BUFFERED_EVENTS || answer.output_tokens >= Some(BUFFERED_TOKENS);
        let median = self.bursts.gaps().quantile(0.5);
        let brisk = median.is_some_and(|median| median < NO_DECODE_STEP);
        (at_once && several) || (brisk && self.bursts.count() >= BUFFERED_BURSTS)
    }

    fn assert_stamps(&self) {
        let stamps = &self.stamps;
        debug_assert!(
            stamps.first_token.is_some() == (self.bursts.count() > 0),
            "a first token is a first burst"
        );
        debug_assert!(
            stamps
                .first_answer
                .is_none_or(|answer| Some(answer) >= stamps.first_token),
            "an answer is a token"
        );
        debug_assert!(
            stamps.last_token.is_none_or(|last| last <= stamps.end),
            "the end is last"
        );
        debug_assert!(
            stamps
                .first_token
                .is_none_or(|first| stamps.body_sent.is_none_or(|sent| sent <= first)),
            "latency begins before the first token"
        );
    }

    fn into_record(
        self,
        in_flight: InFlightMeans,
        outcome: Outcome,
        mut answer: Option<Answer>,
    ) -> Record {
        let input = answer.as_ref().and_then(|answer| answer.input_tokens);
        let input_source = match (input, self.request.prompt_tokens) {
            (Some(_), _) => CountSource::Usage,
            (None, Some(_)) => CountSource::TokenIds,
            (None, None) => CountSource::None,
        };
        let answered_min = answer.as_ref().map_or(0, |answer| answer.output_tokens_min);
        Record {
            status: self.status,
            streamed: answer.as_ref().is_some_and(|answer| answer.streamed),
            stamps: self.stamps,
            in_flight,
            engine_load: self.engine_load,
            outcome,
            input_tokens: input.or(self.request.prompt_tokens),
            input_source,
            output_tokens: answer.as_ref().and_then(|answer| answer.output_tokens),
            output_tokens_min: self.bursts.tokens().max(answered_min),
            output_source: answer
                .as_ref()
                .map_or(CountSource::None, |answer| answer.output_source),
            counts_exact: self.bursts.all_exact(),
            counted_tokens: self.taken_exact.saturating_add(self.taken_at_least),
            cached_tokens: answer.as_ref().and_then(|answer| answer.cached_tokens),
            reasoning_tokens: answer.as_ref().and_then(|answer| answer.reasoning_tokens),
            engine_times: answer
                .as_ref()
                .map_or_else(EngineTimes::default, |answer| answer.engine_times),
            first_burst_tokens: self.bursts.first().map_or(0, |first| first.tokens),
            events: self.events,
            bursts: self.bursts.count(),
            response_bytes: self.response_bytes,
            request_bytes: self.request_bytes,
            gaps: self.bursts.into_gaps(),
            flags: self.flags,
            answer_model: answer
                .as_mut()
                .and_then(|answer| answer.model.take())
                .or(self.answer_model),
            anomalies: answer.map_or_else(Vec::new, |answer| answer.anomalies),
            identity: self.identity,
            request: self.request,
        }
    }
}
