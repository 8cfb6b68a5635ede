//! What the decoder and the record say, in the words of the report. Nothing is judged here.

use crate::report::{AnomalyReport, Count, OutputCount, Summary, Times};
use measure::{End, Flags, Nanos, Outcome, Record};
use wire::{Answer, CountSource, Event, FinishState, Framing, Reason, Terminator};

/// How a body is cut.
pub(crate) fn framing(framing: Framing) -> &'static str {
    match framing {
        Framing::Events => "events",
        Framing::Lines => "lines",
        Framing::Messages => "messages",
        Framing::Body => "body",
    }
}

/// Milliseconds.
pub(crate) fn ms(span: Nanos) -> f64 {
    span.as_secs_f64() * 1e3
}

/// What an event shows.
pub(crate) fn shows(event: &Event) -> Option<&'static str> {
    match (event.answer, event.visible) {
        (true, _) => Some("answer"),
        (false, true) => Some("reasoning"),
        (false, false) => None,
    }
}

/// The rule in a sentence.
pub(crate) fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::TokenIds => "it lists ids of generated tokens",
        Reason::Logprobs => "it lists log-probabilities of generated tokens",
        Reason::Counter => "its counter of generated tokens grew",
        Reason::OneEach => "this dialect sends one token an event",
        Reason::Text => "its text is not empty; nothing counts its tokens",
        Reason::Reasoning => "its reasoning text is not empty; nothing counts its tokens",
        Reason::ToolCall => "a tool's name or arguments are not empty; nothing counts their tokens",
        Reason::NoGrowth => {
            "the counter stood still: an echo of the request, or counted with the event before"
        }
        Reason::Role => "a role and no content",
        Reason::Opening => "it only opens the answer, or a part of it",
        Reason::Progress => "it reports how far the prompt is",
        Reason::Empty => "it shows nothing new, and nothing counts",
        Reason::Closing => "it closes a part, or repeats what came in pieces",
        Reason::Finish => "it only says why the answer ended",
        Reason::Usage => "it states the counts, and has no choices",
        Reason::EndMark => "the end mark",
        Reason::Error => "it reports an error",
        Reason::Heartbeat => "a heartbeat",
        Reason::Unrelated => "nothing in it speaks of tokens",
        Reason::Unreadable => "it is not to be read: neither JSON nor a mark",
        Reason::OtherRequest => "it answers another request on this stream",
        Reason::Untracked => "it belongs to a choice above the limit",
    }
}

/// The whole answer.
pub(crate) fn summary(record: &Record, answer: &Answer, end: End, timed: bool) -> Summary {
    Summary {
        outcome: record.outcome.as_str(),
        outcome_why: outcome_why(record),
        state: state(answer.state),
        end_mark: answer.terminator.map(end_mark),
        transport: transport(end),
        events: answer.events,
        comments: answer.comments,
        token_events: answer.token_events,
        visible_events: answer.visible_events,
        input_tokens: Count {
            count: record.input_tokens,
            source: record.input_source.as_str(),
        },
        output_tokens: OutputCount {
            count: answer.output_tokens,
            at_least: record.output_tokens_min,
            source: answer.output_source.as_str(),
            why: output_why(answer),
        },
        cached_tokens: answer.cached_tokens,
        reasoning_tokens: answer.reasoning_tokens,
        finish_reasons: answer.finish_reasons.clone(),
        error: answer.error.clone(),
        model: answer.model.clone(),
        response_id: answer.response_id.clone(),
        anomalies: answer
            .anomalies
            .iter()
            .map(|(kind, count)| AnomalyReport {
                name: kind.as_str(),
                count: *count,
            })
            .collect(),
        flags: flags(record.flags, timed),
        times: timed.then(|| times(record)),
    }
}

fn times(record: &Record) -> Times {
    let gaps = &record.gaps;
    let mean = |sum: Nanos, count: u64| (count > 0).then(|| ms(Nanos(sum.0 / count)));
    // A buffer that was emptied has gaps of its own, not the engine's.
    let gap = |mean: Option<f64>| mean.filter(|_| record.engine_gaps().is_some());
    let per_token = mean(gaps.token_sum(), gaps.tokens()).filter(|_| record.counts_exact);
    Times {
        first_event_ms: record.time_to_first_event().value().map(ms),
        ttft_ms: record.ttft().value().map(ms),
        first_answer_ms: record.ttfa().value().map(ms),
        tpot_ms: record.tpot().value().map(|seconds| seconds * 1e3),
        gap_mean_ms: gap(mean(gaps.sum(), gaps.bursts())),
        gap_per_token_ms: gap(per_token),
        max_stall_ms: record.max_stall().value().map(ms),
        e2e_ms: record.e2e().value().map(ms),
        bursts: record.bursts,
    }
}

fn flags(flags: Flags, timed: bool) -> Vec<&'static str> {
    let names = [
        (flags.truncated, "truncated"),
        (flags.opaque, "opaque"),
        (flags.oversize_event, "oversize_event"),
        (flags.usage_mismatch, "usage_mismatch"),
        (timed && flags.buffered_upstream, "buffered_upstream"),
        (timed && flags.tpot_estimated, "tpot_estimated"),
    ];
    names
        .into_iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| name)
        .collect()
}

fn output_why(answer: &Answer) -> String {
    let events = answer.token_events;
    match answer.output_source {
        CountSource::Usage => "stated for the whole answer".to_owned(),
        CountSource::Continuous => {
            "last values of the running usage, added over choices".to_owned()
        }
        CountSource::TokenIds => "the lists of token ids, one on every token event".to_owned(),
        CountSource::Logprobs => {
            "the lists of log-probabilities, one on every token event".to_owned()
        }
        CountSource::Counter => "last value of the engine's own counter".to_owned(),
        CountSource::Headers => "stated in the head".to_owned(),
        CountSource::None if is_unread(answer) => "decoding stopped before the end".to_owned(),
        CountSource::None if !answer.streamed => "the body states no usage".to_owned(),
        CountSource::None if events == 0 => "no usage came, and no event proves a token".to_owned(),
        CountSource::None => format!(
            "no usage came, and not all of the {events} token events say how many they carry"
        ),
    }
}

fn is_unread(answer: &Answer) -> bool {
    use wire::Anomaly::{Opaque, OversizeEvent};
    answer
        .anomalies
        .iter()
        .any(|(kind, _)| matches!(kind, Opaque | OversizeEvent))
}

fn outcome_why(record: &Record) -> &'static str {
    match record.outcome {
        Outcome::Ok if record.flags.sight_lost() => {
            "the transport ended whole; the answer itself was not read to its end"
        }
        Outcome::Ok => "the end mark came, and the transport ended whole",
        Outcome::SseErrorEvent => "an error came inside a good status, whatever follows it",
        Outcome::SseNoDone => "the transport ended whole, and no end mark came",
        Outcome::UpstreamTruncated => "the body ended before its framing says",
        Outcome::UpstreamReset => "the connection was reset",
        Outcome::Upstream4xx | Outcome::Upstream429 | Outcome::Upstream5xx => {
            "the status says so, however the body ended"
        }
        Outcome::ClientAbortPrefill
        | Outcome::ClientAbortDecode
        | Outcome::SlowClient
        | Outcome::RejectedMalformed
        | Outcome::RejectedLimit
        | Outcome::ConnectFailed
        | Outcome::TimeoutTtft
        | Outcome::TimeoutIdle
        | Outcome::Drained => "a recording has no such end",
    }
}

fn transport(end: End) -> &'static str {
    match end {
        End::Clean => "clean",
        End::Reset => "reset",
        _ => "truncated",
    }
}

fn state(state: FinishState) -> &'static str {
    match state {
        FinishState::Rejected => "rejected",
        FinishState::Errored => "errored",
        FinishState::Aborted => "aborted",
        FinishState::Complete => "complete",
        FinishState::Cut => "cut",
    }
}

fn end_mark(mark: Terminator) -> &'static str {
    match mark {
        Terminator::Done => "[DONE]",
        Terminator::ResponseCompleted => "response.completed",
        Terminator::ResponseIncomplete => "response.incomplete",
        Terminator::ResponseFailed => "response.failed",
        Terminator::MessageStop => "message_stop",
        Terminator::Stop => "stop",
        Terminator::OllamaDone => "done",
        Terminator::GrpcComplete => "complete",
        Terminator::TritonFinalResponse => "triton_final_response",
        Terminator::Eof => "eof",
        Terminator::Body => "body",
        Terminator::Missing => "missing",
    }
}

/// How many tokens an event carries, as a person reads it.
pub(crate) fn tokens(tokens: Option<u32>) -> String {
    match tokens {
        Some(0) => "–".to_owned(),
        Some(count) => count.to_string(),
        None => "≥1".to_owned(),
    }
}
