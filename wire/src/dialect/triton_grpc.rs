//! `ModelStreamInfer` of Triton's gRPC service (`inference.GRPCInferenceService`), grpc_service.proto.
//!
//! One stream can carry many requests; [`crate::CallAnswers`] tells their answers apart. Here the first id that comes is
//! taken for the answer's own, and what has another one is passed over. The text is the output named `text_output`, or else the first of texts; of its elements the first. Errors
//! leave the call's status OK. The end is a response with the parameter `triton_final_response`, for those who asked for it.

#![deny(clippy::indexing_slicing)]

use super::text::{LastText, TextMode};
use super::{Asked, Ending, Evidence, Outcome, Shows, Tally};
use crate::proto::{Value, fields};
use crate::{Anomaly, Reason, Terminator, TransportEnd, limits};

/// State of an answer.
#[derive(Debug)]
pub(crate) struct TritonGrpc {
    /// Known not to have been asked for.
    end_unasked: bool,
    mode: TextMode,
    text: LastText,
}

/// `ModelStreamInferResponse`
#[derive(Default)]
struct Message<'a> {
    error: &'a [u8],
    response: Response<'a>,
}

/// `ModelInferResponse`
#[derive(Default)]
struct Response<'a> {
    model: &'a [u8],
    id: &'a [u8],
    is_final: bool,
    text: &'a [u8],
}

/// The outputs seen so far, and where the text is among them.
#[derive(Default)]
struct Outputs<'a> {
    count: usize,
    named: Option<usize>,
    first: Option<usize>,
    /// The text, where an output holds it itself.
    inside: &'a [u8],
}

/// `InferOutputTensor`
#[derive(Default)]
struct Output<'a> {
    name: &'a [u8],
    datatype: &'a [u8],
    inside: &'a [u8],
}

// ---- TritonGrpc

impl TritonGrpc {
    pub(super) fn new(asked: Asked) -> Self {
        Self {
            end_unasked: asked.end_asked == Some(false),
            mode: TextMode::new(asked.text_mode),
            text: LastText::default(),
        }
    }

    /// Judges one message.
    pub(super) fn event(&mut self, data: &[u8], tally: &mut Tally) -> Evidence {
        let Some(Message { error, response }) = Message::read(data) else {
            tally.anomaly(Anomaly::BadJson);
            return Evidence::none(Reason::Unreadable);
        };
        tally.name_plain(response.model, response.id);
        if !is_own(tally.response_id.as_deref(), response.id) {
            return Evidence::none(Reason::OtherRequest);
        }
        let mut reason = Reason::Empty;
        if response.is_final {
            tally.mark = Some(Terminator::TritonFinalResponse);
            reason = Reason::EndMark;
        }
        if !error.is_empty() {
            tally.error_plain(error);
            reason = Reason::Error;
        }
        let shows = Shows::text(self.mode.shows(&mut self.text, response.text));
        Evidence::of_shown(shows, reason)
    }

    /// What is known at the end, after so many events.
    pub(super) fn finish(&self, end: TransportEnd, events: u64) -> Outcome {
        let at_eof = self.end_unasked && end == TransportEnd::Clean && events > 0;
        Outcome {
            ending: if at_eof { Ending::AtEof } else { Ending::Open },
            ..Outcome::default()
        }
    }
}

/// Whether a response with this id belongs to the answer whose first id was `own`.
fn is_own(own: Option<&str>, id: &[u8]) -> bool {
    id.is_empty() || is_id(own.unwrap_or_default(), id)
}

/// Whether `kept` is what is kept of this id.
pub(crate) fn is_id(kept: &str, id: &[u8]) -> bool {
    let kept = kept.as_bytes();
    id == kept || (id.len() > limits::TEXT_BYTES && id.starts_with(kept))
}

/// The id of a response, and whether nothing comes after it: it is the last, or an error.
pub(crate) fn id_of(data: &[u8]) -> Option<(&[u8], bool)> {
    let Message { error, response } = Message::read(data)?;
    Some((response.id, response.is_final || !error.is_empty()))
}

// ---- Message

impl<'a> Message<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let mut message = Self::default();
        fields(data, |number, value| {
            match (number, value) {
                (1, Value::Bytes(error)) => message.error = error,
                (2, Value::Bytes(response)) => message.response = Response::read(response)?,
                _ => {}
            }
            Some(())
        })?;
        Some(message)
    }
}

impl<'a> Response<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let mut response = Self::default();
        let mut outputs = Outputs::default();
        fields(data, |number, value| {
            match (number, value) {
                (1, Value::Bytes(model)) => response.model = model,
                (3, Value::Bytes(id)) => response.id = id,
                (4, Value::Bytes(entry)) => {
                    response.is_final |= says(entry, b"triton_final_response")?;
                }
                (5, Value::Bytes(output)) => outputs.take(&Output::read(output)?),
                _ => {}
            }
            Some(())
        })?;
        response.text = outputs.text(data)?;
        Some(response)
    }
}

impl<'a> Outputs<'a> {
    fn take(&mut self, output: &Output<'a>) {
        let (place, is_text) = (self.count, output.datatype == b"BYTES");
        self.count += 1;
        let named = output.name == b"text_output";
        if is_text && (named || self.first.is_none()) {
            self.inside = output.inside;
            self.first = self.first.or(Some(place));
        }
        if is_text && named {
            self.named = Some(place);
        }
    }

    /// The text of the response with these outputs. The contents come one for each output, in their order.
    fn text(&self, response: &'a [u8]) -> Option<&'a [u8]> {
        let Some(place) = self.named.or(self.first) else {
            return Some(b"");
        };
        let (mut at, mut text) = (0, self.inside);
        fields(response, |number, value| {
            if let (6, Value::Bytes(content)) = (number, value) {
                if at == place {
                    text = element(content);
                }
                at += 1;
            }
            Some(())
        })?;
        Some(text)
    }
}

impl<'a> Output<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let mut output = Self::default();
        fields(data, |number, value| {
            match (number, value) {
                (1, Value::Bytes(name)) => output.name = name,
                (2, Value::Bytes(datatype)) => output.datatype = datatype,
                (5, Value::Bytes(contents)) => output.inside = read_contents(contents)?,
                _ => {}
            }
            Some(())
        })?;
        Some(output)
    }
}

/// The first of `bytes_contents`.
fn read_contents(contents: &[u8]) -> Option<&[u8]> {
    let mut first = None;
    fields(contents, |number, value| {
        if let (8, Value::Bytes(element)) = (number, value) {
            first = first.or(Some(element));
        }
        Some(())
    })?;
    Some(first.unwrap_or_default())
}

/// Whether an entry of `parameters` is this key, with a value of true.
pub(crate) fn says(entry: &[u8], named: &[u8]) -> Option<bool> {
    let (mut key, mut parameter): (&[u8], &[u8]) = (b"", b"");
    fields(entry, |number, value| {
        match (number, value) {
            (1, Value::Bytes(text)) => key = text,
            (2, Value::Bytes(value)) => parameter = value,
            _ => {}
        }
        Some(())
    })?;
    let mut is_true = false;
    fields(parameter, |number, value| {
        is_true |= (number, value) == (1, Value::Number(1));
        Some(())
    })?;
    Some(is_true && key == named)
}

/// The first element of raw contents: four bytes of length, the least significant first, and the text.
fn element(content: &[u8]) -> &[u8] {
    let Some((length, rest)) = content.split_first_chunk() else {
        return b"";
    };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    rest.get(..length).unwrap_or_default()
}
