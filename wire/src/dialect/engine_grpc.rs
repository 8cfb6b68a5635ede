//! `Generate` of the gRPC services of vLLM (`vllm.grpc.engine.VllmEngine`) and SGLang
//! (`sglang.grpc.scheduler.SglangScheduler`).
//!
//! Both stream messages with new token ids and counts so far, and one that completes each choice. Their field numbers
//! differ, so that the path has to tell which it is. A number that is absent may be 0 or not stated: it is unknown.
//! No message shows text: tokens are all that there is.

#![deny(clippy::indexing_slicing)]

use super::choices::Choices;
use super::counter::exactly;
use super::sequence::Sequence;
use super::{Asked, Evidence, Outcome, Shows, Tally, keep_plain};
use crate::proto::{Value, fields, numbers};
use crate::{Anomaly, CountSource, Endpoint, Reason, Terminator};

/// Numbers of the fields that differ. No field has the number 0.
#[derive(Debug, Clone, Copy)]
struct Layout {
    request_id: u64,
    chunk: u64,
    complete: u64,
    error: u64,
    chunk_index: u64,
    chunk_reasoning: u64,
    complete_index: u64,
    complete_reasoning: u64,
}

/// smg-grpc-proto 0.4.28, vllm_engine.proto: GenerateResponse.
const VLLM: Layout = Layout {
    request_id: 0,
    chunk: 1,
    complete: 2,
    error: 0,
    chunk_index: 7,
    chunk_reasoning: 0,
    complete_index: 8,
    complete_reasoning: 0,
};

/// smg-grpc-proto 0.4.28, sglang_scheduler.proto: GenerateResponse. Older ones had an error, too.
const SGLANG: Layout = Layout {
    request_id: 1,
    chunk: 2,
    complete: 3,
    error: 4,
    chunk_index: 8,
    chunk_reasoning: 9,
    complete_index: 11,
    complete_reasoning: 12,
};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct EngineGrpc {
    asked: Asked,
    layout: Layout,
    sequences: Choices<Sequence>,
    /// Token ids of all chunks.
    ids: u64,
}

/// One message.
#[derive(Default)]
struct Message<'a> {
    request_id: &'a [u8],
    part: Option<Part<'a>>,
    error: Option<&'a [u8]>,
}

/// A chunk, or what completes a choice.
#[derive(Default)]
struct Part<'a> {
    is_complete: bool,
    index: u64,
    ids: u64,
    prompt: Option<u64>,
    completion: Option<u64>,
    cached: Option<u64>,
    reasoning: Option<u64>,
    finish_reason: &'a [u8],
}

// ---- EngineGrpc

impl EngineGrpc {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            asked,
            layout: match asked.endpoint {
                Endpoint::SglangGrpc => SGLANG,
                _ => VLLM,
            },
            sequences: Choices::default(),
            ids: 0,
        }
    }

    /// Judges one message.
    pub(super) fn event(&mut self, data: &[u8], tally: &mut Tally) -> Evidence {
        let Some(message) = Message::read(data, &self.layout) else {
            tally.anomaly(Anomaly::BadJson);
            return Evidence::none(Reason::Unreadable);
        };
        tally.name_plain(b"", message.request_id);
        if let Some(error) = message.error {
            tally.error_plain(error);
        }
        let Some(part) = message.part else {
            return Evidence::none(match message.error {
                Some(_) => Reason::Error,
                None => Reason::Unrelated,
            });
        };
        let ids = if part.is_complete { 0 } else { part.ids };
        self.ids = self.ids.saturating_add(ids);
        self.note(&part, ids, tally);
        Evidence {
            tokens: exactly(ids),
            reason: match (ids, part.is_complete) {
                (0, true) => Reason::Finish,
                (0, false) => Reason::Empty,
                _ => Reason::TokenIds,
            },
            shows: Shows::default(),
        }
    }

    /// What is known at the end.
    pub(super) fn finish(&self) -> Outcome {
        let mut totals = self.sequences.totals(&self.asked);
        let by_ids = (self.ids > 0).then_some((self.ids, CountSource::TokenIds));
        totals.output = totals.output.or(by_ids);
        Outcome {
            totals,
            finish_reasons: self
                .sequences
                .finish_reasons()
                .into_iter()
                .filter(Option::is_some)
                .collect(),
            ending: self.sequences.ending().without_mark(),
        }
    }

    /// Keeps what a part says about its choice.
    fn note(&mut self, part: &Part<'_>, ids: u64, tally: &mut Tally) {
        let Some(sequence) = self.sequences.at(part.index) else {
            tally.anomaly(Anomaly::TooManyChoices);
            return;
        };
        sequence.prompt = part.prompt.or(sequence.prompt);
        sequence.cached = part.cached.or(sequence.cached);
        sequence.reasoning = part.reasoning.or(sequence.reasoning);
        sequence.ended |= part.is_complete;
        keep_plain(&mut sequence.finish_reason, part.finish_reason);
        if sequence.counter.judge(part.completion, ids > 0).went_back {
            tally.anomaly(Anomaly::CounterWentBack);
        }
        if part.is_complete
            && self
                .sequences
                .are_all(&self.asked, |sequence| sequence.ended)
        {
            tally.mark = Some(Terminator::GrpcComplete);
        }
    }
}

// ---- Message

impl<'a> Message<'a> {
    fn read(data: &'a [u8], layout: &Layout) -> Option<Self> {
        let mut message = Self::default();
        fields(data, |number, value| {
            let Value::Bytes(bytes) = value else {
                return Some(());
            };
            if number == layout.chunk {
                message.part = Some(Part::read_chunk(bytes, layout)?);
            } else if number == layout.complete {
                message.part = Some(Part::read_complete(bytes, layout)?);
            } else if number == layout.request_id {
                message.request_id = bytes;
            } else if number == layout.error {
                message.error = Some(read_error(bytes)?);
            }
            Some(())
        })?;
        Some(message)
    }
}

fn read_error(error: &[u8]) -> Option<&[u8]> {
    let mut message: &[u8] = b"";
    fields(error, |number, value| {
        if let (1, Value::Bytes(text)) = (number, value) {
            message = text;
        }
        Some(())
    })?;
    Some(message)
}

impl<'a> Part<'a> {
    fn read_chunk(chunk: &'a [u8], layout: &Layout) -> Option<Self> {
        let mut part = Self::default();
        fields(chunk, |number, value| {
            match (number, value) {
                (1, value) => part.ids = part.ids.saturating_add(numbers(value)?),
                (2, Value::Number(count)) => part.prompt = Some(count),
                (3, Value::Number(count)) => part.completion = Some(count),
                (4, Value::Number(count)) => part.cached = Some(count),
                (number, Value::Number(index)) if number == layout.chunk_index => {
                    part.index = index;
                }
                (number, Value::Number(count)) if number == layout.chunk_reasoning => {
                    part.reasoning = Some(count);
                }
                _ => {}
            }
            Some(())
        })?;
        Some(part)
    }

    fn read_complete(complete: &'a [u8], layout: &Layout) -> Option<Self> {
        let mut part = Self {
            is_complete: true,
            ..Self::default()
        };
        fields(complete, |number, value| {
            match (number, value) {
                (2, Value::Bytes(reason)) => part.finish_reason = reason,
                (3, Value::Number(count)) => part.prompt = Some(count),
                (4, Value::Number(count)) => part.completion = Some(count),
                (5, Value::Number(count)) => part.cached = Some(count),
                (number, Value::Number(index)) if number == layout.complete_index => {
                    part.index = index;
                }
                (number, Value::Number(count)) if number == layout.complete_reasoning => {
                    part.reasoning = Some(count);
                }
                _ => {}
            }
            Some(())
        })?;
        Some(part)
    }
}
