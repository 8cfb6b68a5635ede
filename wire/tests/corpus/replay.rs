//! A case, played to a decoder read by read.

use super::http1::{Head, Response};
use super::{Case, Framing};
use std::error::Error;
use std::fmt;
use wire::{Answer, AnswerContext, Decoder, Endpoint, Event, Tokens, TransportEnd};

/// How a file is cut into reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reads<'a> {
    /// One read.
    Whole,
    /// Reads end at these offsets, and at the end of the file.
    EndAt(&'a [usize]),
    /// Reads of so many bytes.
    Of(usize),
}

/// What the decoder said.
pub(crate) struct Observed {
    pub(crate) status: u16,
    pub(crate) events: Vec<Event>,
    pub(crate) answer: Answer,
}

/// What a decoder gets of a case: body bytes, once the head is known.
struct Player<'a> {
    case: &'a Case,
    endpoint: Endpoint,
    decoder: Option<(u16, Decoder)>,
    events: Vec<Event>,
}

/// Plays `bytes` in the given reads.
pub(crate) fn run(
    case: &Case,
    endpoint: Endpoint,
    (bytes, reads): (&[u8], Reads<'_>),
) -> Result<Observed, Box<dyn Error>> {
    let mut player = Player {
        case,
        endpoint,
        decoder: None,
        events: Vec::new(),
    };
    let end = match case.framing {
        Framing::Http1 => player.play_http1(reads.of(bytes))?,
        Framing::Sse
        | Framing::SseGzip
        | Framing::Json
        | Framing::Lines
        | Framing::Grpc
        | Framing::Other => {
            reads.of(bytes).for_each(|read| player.push(read));
            case.transport_end()
        }
    };
    let (status, mut decoder) = player
        .decoder
        .take()
        .ok_or("the response has no whole head")?;
    let answer = decoder.finish(end, &mut player.events);
    Ok(Observed {
        status,
        events: player.events,
        answer,
    })
}

impl Observed {
    /// Index of the first token event.
    pub(crate) fn first_token_event(&self) -> Option<usize> {
        self.events
            .iter()
            .position(|event| event.tokens != Tokens::None)
    }
}

impl Reads<'_> {
    /// The reads of these bytes; an empty file is one empty read.
    pub(crate) fn of(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let ends: Vec<usize> = match self {
            Self::Whole => vec![bytes.len()],
            Self::EndAt(ends) => ends.iter().copied().chain([bytes.len()]).collect(),
            Self::Of(size) => (1..=bytes.len().div_ceil(size))
                .map(|read| (read * size).min(bytes.len()))
                .collect(),
        };
        let ends = if ends.is_empty() { vec![0] } else { ends };
        let mut start = 0;
        ends.into_iter()
            .map(move |end| &bytes[std::mem::replace(&mut start, end)..end])
    }
}

impl fmt::Display for Reads<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => out.write_str("in one read"),
            Self::EndAt(_) => out.write_str("in its own reads"),
            Self::Of(size) => write!(out, "in reads of {size}"),
        }
    }
}

impl Player<'_> {
    fn push(&mut self, bytes: &[u8]) {
        let content_type = match self.case.framing {
            Framing::Json => "application/json",
            Framing::Lines => "application/x-ndjson",
            Framing::Grpc => "application/grpc",
            _ => "text/event-stream",
        };
        // Where the case holds no head, its status is one of the things that are known beforehand.
        let status = self.case.expected["http_status"]
            .as_u64()
            .and_then(|status| status.try_into().ok());
        let head = Head {
            status: status.unwrap_or(200),
            content_type: Some(content_type.to_owned()),
            content_encoding: (self.case.framing == Framing::SseGzip).then(|| "gzip".to_owned()),
            ..Head::default()
        };
        self.push_body(&head, bytes);
    }

    fn push_body(&mut self, head: &Head, bytes: &[u8]) {
        let (_, decoder) = self.decoder.get_or_insert_with(|| {
            let context = AnswerContext {
                content_type: head.content_type.as_deref(),
                content_encoding: head.content_encoding.as_deref(),
                generated_tokens: head.generated_tokens,
                prompt_tokens: head.prompt_tokens,
                engine_times: head.engine_times,
                ..self.case.context(self.endpoint, head.status)
            };
            (head.status, Decoder::new(context))
        });
        decoder.push(bytes, &mut self.events);
    }

    fn play_http1<'b>(
        &mut self,
        reads: impl Iterator<Item = &'b [u8]>,
    ) -> Result<TransportEnd, Box<dyn Error>> {
        let mut response = Response::default();
        for read in reads {
            response.push(read, |head, piece| self.push_body(head, piece))?;
        }
        if let (None, Some(head)) = (&self.decoder, response.head()) {
            self.push_body(head, b"");
        }
        Ok(response.end())
    }
}
