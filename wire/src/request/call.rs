//! Facts of the requests of gRPC calls, message by message.
//!
//! A message is kept until it is whole, up to [`limits::WHOLE_BODY_BYTES`]; of a longer one the fields that end before
//! count. One that is compressed states nothing. Neither keeps the next one from being read.

#![deny(clippy::indexing_slicing)]

use super::RequestFacts;
use crate::dialect::says;
use crate::json::cut_plain;
use crate::proto::{Value, fields, numbers};
use crate::{Endpoint, limits};

/// Whether the message is compressed, and four bytes of its length.
const PREFIX_BYTES: usize = 5;

/// Parameter of Triton's.
const END_ASKED: &[u8] = b"triton_enable_empty_final_response";

/// Cuts the body of a call's requests into messages.
#[derive(Debug)]
pub struct CallScan {
    endpoint: Endpoint,
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that have come.
    have: usize,
    /// Bytes of the message that have not.
    left: u64,
    kept: Vec<u8>,
    /// Bytes of the body so far.
    at: u64,
    /// Where the message at hand begins, its prefix included.
    start: u64,
}

/// One request of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallRequest {
    /// What it asks for.
    pub facts: RequestFacts,
    /// Its name for itself, cut at [`limits::TEXT_BYTES`]; empty if it has none, or if it can't be read.
    pub id: String,
    /// Triton: it asked to be told of the last response, even of one that holds nothing else.
    pub end_asked: bool,
    /// Its length with its prefix, in bytes.
    pub bytes: u64,
    /// Where in the body it ends, in bytes.
    pub end: u64,
}

/// Numbers of the fields of a `Generate` request that differ.
struct Layout {
    text: u64,
    stream: u64,
    n: u64,
}

/// smg-grpc-proto 0.4.28, vllm_engine.proto: GenerateRequest, SamplingParams.
const VLLM: Layout = Layout {
    text: 3,
    stream: 5,
    n: 15,
};

/// smg-grpc-proto 0.4.28, sglang_scheduler.proto: the same. No field has the number 0.
const SGLANG: Layout = Layout {
    text: 0,
    stream: 17,
    n: 17,
};

// ---- CallScan

impl CallScan {
    /// Of a call to this method.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            prefix: [0; PREFIX_BYTES],
            have: 0,
            left: 0,
            kept: Vec::new(),
            at: 0,
            start: 0,
        }
    }

    /// Takes the next bytes of the body and hands on each request that they complete.
    pub fn push(&mut self, bytes: &[u8], mut each: impl FnMut(CallRequest)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.have < PREFIX_BYTES {
                rest = self.take_prefix(rest);
            } else {
                let here = usize::try_from(self.left).unwrap_or(usize::MAX);
                let (piece, after) = rest.split_at(here.min(rest.len()));
                self.keep(piece);
                rest = after;
            }
            if self.have == PREFIX_BYTES && self.left == 0 {
                each(self.request());
                self.kept = Vec::new();
                self.have = 0;
                self.start = self.at;
            }
        }
    }

    fn take_prefix<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (piece, rest) = bytes.split_at((PREFIX_BYTES - self.have).min(bytes.len()));
        for (place, byte) in self.prefix.iter_mut().skip(self.have).zip(piece) {
            *place = *byte;
        }
        self.have += piece.len();
        self.at += piece.len() as u64;
        if self.have == PREFIX_BYTES {
            let [_, length @ ..] = self.prefix;
            self.left = u64::from(u32::from_be_bytes(length));
        }
        rest
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = limits::WHOLE_BODY_BYTES.saturating_sub(self.kept.len());
        if !self.is_compressed() {
            self.kept
                .extend_from_slice(piece.get(..room).unwrap_or(piece));
        }
        self.at += piece.len() as u64;
        self.left = self.left.saturating_sub(piece.len() as u64);
    }

    fn is_compressed(&self) -> bool {
        let [flag, ..] = self.prefix;
        flag != 0
    }

    fn request(&self) -> CallRequest {
        let bytes = self.at - self.start;
        let mut request = CallRequest {
            bytes,
            end: self.at,
            ..CallRequest::default()
        };
        if self.is_compressed() {
            return request;
        }
        request.facts.prompts = Some(1);
        let read = match self.endpoint {
            Endpoint::VllmGrpc => read_generate(&self.kept, &VLLM, &mut request),
            Endpoint::SglangGrpc => read_generate(&self.kept, &SGLANG, &mut request),
            _ => read_infer(&self.kept, &mut request),
        };
        let is_all = bytes == (PREFIX_BYTES + self.kept.len()) as u64;
        request.facts.whole = is_all && read.is_some();
        request
    }
}

fn small(count: u64) -> Option<u32> {
    u32::try_from(count).ok()
}

// ---- Generate

fn read_generate(message: &[u8], layout: &Layout, request: &mut CallRequest) -> Option<()> {
    let facts = &mut request.facts;
    // A field that is absent has its default.
    facts.stream = Some(false);
    fields(message, |number, value| {
        match (number, value) {
            (1, Value::Bytes(id)) => request.id = cut_plain(id),
            (2, Value::Bytes(tokenized)) => read_tokenized(tokenized, facts)?,
            (4, Value::Bytes(sampling)) => read_sampling(sampling, layout, facts)?,
            (number, Value::Bytes(text)) if number == layout.text => {
                facts.prompt_bytes = Some(text.len() as u64);
            }
            (number, Value::Number(stream)) if number == layout.stream => {
                facts.stream = Some(stream != 0);
            }
            _ => {}
        }
        Some(())
    })
}

fn read_tokenized(message: &[u8], facts: &mut RequestFacts) -> Option<()> {
    let mut ids = 0_u64;
    fields(message, |number, value| {
        if number == 2 {
            ids = ids.saturating_add(numbers(value)?);
        }
        Some(())
    })?;
    facts.prompt_tokens = Some(ids);
    Some(())
}

fn read_sampling(message: &[u8], layout: &Layout, facts: &mut RequestFacts) -> Option<()> {
    fields(message, |number, value| {
        match (number, value) {
            (8, Value::Number(count)) => facts.max_tokens = small(count),
            (number, Value::Number(n)) if number == layout.n => facts.n = small(n),
            _ => {}
        }
        Some(())
    })
}

// ---- ModelInferRequest (grpc_service.proto)

/// `InferInputTensor`
#[derive(Default)]
struct Input<'a> {
    name: &'a [u8],
    datatype: &'a [u8],
    /// Elements that the shape multiplies to.
    elements: u64,
    contents: Option<&'a [u8]>,
}

fn read_infer(message: &[u8], request: &mut CallRequest) -> Option<()> {
    request.facts.stream = Some(true);
    let mut inputs = Vec::new();
    let mut raw = Vec::new();
    let read = fields(message, |number, value| {
        match (number, value) {
            (1, Value::Bytes(model)) => request.facts.model = Some(cut_plain(model)),
            (3, Value::Bytes(id)) => request.id = cut_plain(id),
            (4, Value::Bytes(entry)) => request.end_asked |= says(entry, END_ASKED)?,
            (5, Value::Bytes(input)) if inputs.len() < limits::CHOICES => {
                inputs.push(Input::read(input)?);
            }
            (7, Value::Bytes(content)) if raw.len() < limits::CHOICES => raw.push(content),
            _ => {}
        }
        Some(())
    });
    // Raw contents come one for each input, in their order; where there are any, no input has its own.
    for (place, input) in inputs.iter().enumerate() {
        input.state(raw.get(place).copied(), &mut request.facts);
    }
    read
}

impl<'a> Input<'a> {
    fn read(message: &'a [u8]) -> Option<Self> {
        let mut input = Self {
            elements: 1,
            ..Self::default()
        };
        fields(message, |number, value| {
            match (number, value) {
                (1, Value::Bytes(name)) => input.name = name,
                (2, Value::Bytes(datatype)) => input.datatype = datatype,
                (3, Value::Number(size)) => input.elements = input.elements.saturating_mul(size),
                (3, Value::Bytes(sizes)) => {
                    let each = |size| input.elements = input.elements.saturating_mul(size);
                    crate::proto::each_number(sizes, each)?;
                }
                (5, Value::Bytes(contents)) => input.contents = Some(contents),
                _ => {}
            }
            Some(())
        })?;
        Some(input)
    }

    /// What it says, by the names that the models of LLM backends give their inputs.
    fn state(&self, raw: Option<&[u8]>, facts: &mut RequestFacts) {
        match (self.name, self.datatype) {
            (b"text_input", b"BYTES") => {
                facts.prompt_bytes = raw.map_or_else(|| self.text(), text_of_raw);
            }
            (b"input_ids", b"INT32" | b"UINT32") => {
                facts.prompt_tokens = Some(raw.map_or(self.elements, |raw| raw.len() as u64 / 4));
            }
            (b"input_ids", b"INT64" | b"UINT64") => {
                facts.prompt_tokens = Some(raw.map_or(self.elements, |raw| raw.len() as u64 / 8));
            }
            (b"max_tokens" | b"request_output_len", b"INT32" | b"UINT32") => {
                facts.max_tokens = raw.map_or_else(|| self.number(), number_of_raw);
            }
            _ => {}
        }
    }

    /// Bytes of the first of `bytes_contents`.
    fn text(&self) -> Option<u64> {
        let mut found = None;
        fields(self.contents?, |number, value| {
            if let (8, Value::Bytes(text)) = (number, value) {
                found = found.or(Some(text.len() as u64));
            }
            Some(())
        })?;
        found
    }

    /// The first of `int_contents` or `uint_contents`.
    fn number(&self) -> Option<u32> {
        let mut found = None;
        fields(self.contents?, |number, value| {
            match (number, value) {
                (2 | 4, Value::Number(count)) => found = found.or(Some(count)),
                (2 | 4, Value::Bytes(list)) => {
                    crate::proto::each_number(list, |count| found = found.or(Some(count)))?;
                }
                _ => {}
            }
            Some(())
        })?;
        small(found?)
    }
}

/// Bytes of the first element: four bytes of length, the least significant first, and the text.
fn text_of_raw(content: &[u8]) -> Option<u64> {
    let (length, _) = content.split_first_chunk()?;
    Some(u64::from(u32::from_le_bytes(*length)))
}

fn number_of_raw(content: &[u8]) -> Option<u32> {
    let (number, _) = content.split_first_chunk()?;
    Some(u32::from_le_bytes(*number))
}
