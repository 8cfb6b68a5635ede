//! What was observed of a case against what it expects, field by field.

use super::replay::{Observed, Reads};
use serde_json::{Map, Value, json};
use std::fmt;
use wire::{CountSource, Event, FinishState, Terminator, Tokens};

/// A field that is not as expected.
pub(crate) struct Difference {
    pub(crate) field: String,
    pub(crate) expected: Value,
    pub(crate) observed: Value,
    /// How the bytes were cut.
    pub(crate) reads: String,
}

/// Every field but `truth`, which says what the bytes can't show.
pub(crate) fn differences(
    expected: &Map<String, Value>,
    observed: &Observed,
    reads: Reads<'_>,
) -> Vec<Difference> {
    let facts = facts(observed);
    let listed = expected
        .iter()
        .filter(|(field, _)| *field != "truth")
        .filter_map(|(field, expected)| {
            let observed = facts
                .get(field)
                .cloned()
                .unwrap_or_else(|| json!("(no such field)"));
            (observed != *expected).then(|| (field.clone(), expected.clone(), observed))
        });
    listed
        .chain(contradictions(observed))
        .map(|(field, expected, observed)| Difference {
            field,
            expected,
            observed,
            reads: reads.to_string(),
        })
        .collect()
}

/// The answer counts what its events were; that has to agree with the events that were handed out.
fn contradictions(observed: &Observed) -> Vec<(String, Value, Value)> {
    let answer = &observed.answer;
    let count =
        |is: fn(&Event) -> bool| observed.events.iter().filter(|event| is(event)).count() as u64;
    let handed_out = [
        ("events", answer.events, observed.events.len() as u64),
        ("token_events", answer.token_events, count(is_token)),
        (
            "visible_events",
            answer.visible_events,
            count(|event| event.visible),
        ),
    ];
    handed_out
        .into_iter()
        .filter(|(_, answer, events)| answer != events)
        .map(|(field, answer, events)| {
            (format!("{field} handed out"), json!(answer), json!(events))
        })
        .collect()
}

fn facts(observed: &Observed) -> Map<String, Value> {
    let (answer, events) = (&observed.answer, &observed.events);
    let first = |is: fn(&Event) -> bool| events.iter().position(is);
    let tokens_per_event: Vec<Option<u32>> = events
        .iter()
        .filter_map(|event| known_count(event.tokens))
        .collect();
    let facts = json!({
        "http_status": observed.status,
        "events": answer.events,
        "comments": answer.comments,
        "token_events": answer.token_events,
        "visible_events": answer.visible_events,
        "first_token_event": first(is_token),
        "first_visible_event": first(|event| event.visible),
        "first_answer_event": first(|event| event.answer),
        "tokens_per_event": tokens_per_event,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "output_tokens_min": answer.output_tokens_min,
        "output_source": source(answer.output_source),
        "cached_tokens": answer.cached_tokens,
        "reasoning_tokens": answer.reasoning_tokens,
        "finish_reasons": answer.finish_reasons,
        "finish_state": state(answer.state),
        "terminator": answer.terminator.map(terminator),
        "error": answer.error,
        "model": answer.model,
        "response_id": answer.response_id,
    });
    facts.as_object().cloned().unwrap_or_default()
}

fn is_token(event: &Event) -> bool {
    event.tokens != Tokens::None
}

fn known_count(tokens: Tokens) -> Option<Option<u32>> {
    match tokens {
        Tokens::None => None,
        Tokens::AtLeastOne => Some(None),
        Tokens::Exactly(count) => Some(Some(count)),
    }
}

fn source(source: CountSource) -> &'static str {
    match source {
        CountSource::Usage => "usage",
        CountSource::Continuous => "continuous",
        CountSource::TokenIds => "token_ids",
        CountSource::Logprobs => "logprobs",
        CountSource::Counter => "counter",
        CountSource::Headers => "headers",
        CountSource::None => "none",
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

fn terminator(terminator: Terminator) -> &'static str {
    match terminator {
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

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            expected,
            observed,
            reads,
        } = self;
        write!(
            out,
            "{field}: expected {expected}, observed {observed} ({reads})"
        )
    }
}
