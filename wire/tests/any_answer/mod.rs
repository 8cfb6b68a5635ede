//! What holds for any bytes that are taken for an answer, on any route, in any framing, compressed or not.
//!
//! It panics where something doesn't hold. The fuzz targets run it on what a fuzzer makes up, the ordinary tests on recorded
//! answers and damaged ones. An input is three bytes and the body: the length of a read, the route, and where the body is cut.

#![allow(
    dead_code,
    reason = "each of those who include this module uses a part of it"
)]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use wire::{
    Accumulation, Anomaly, Answer, AnswerContext, CountSource, Decoder, Endpoint, Event,
    FinishState, Reason, Tokens, TransportEnd,
};

/// What the head may say of the body: one for each framing.
pub(crate) const CONTENT_TYPES: [&str; 4] = [
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/grpc",
];

/// Bodies up to this length are also read compressed: they are no bombs, whatever they unpack to.
const PACKED_BYTES: usize = 60 * 1024;

/// One input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) size: usize,
    pub(crate) endpoint: Endpoint,
    /// In 256ths of the body.
    cut: u8,
    pub(crate) body: &'a [u8],
}

type Reading = (Vec<Event>, Answer);

impl<'a> Input<'a> {
    /// Takes an input apart; `None` for one that is too short.
    pub(crate) fn parse(data: &'a [u8]) -> Option<Self> {
        let [size, route, cut, body @ ..] = data else {
            return None;
        };
        let routes = routes();
        Some(Self {
            size: usize::from(*size).max(1),
            endpoint: routes[usize::from(*route) % routes.len()],
            cut: *cut,
            body,
        })
    }

    /// The input of a body on this route, as a seed.
    pub(crate) fn seed(endpoint: Endpoint, body: &[u8]) -> Vec<u8> {
        let route = routes().iter().position(|route| *route == endpoint);
        let route = route.and_then(|place| u8::try_from(place).ok());
        [&[7, route.unwrap_or(0), 128], body].concat()
    }
}

/// Every route whose answers are decoded.
pub(crate) fn routes() -> Vec<Endpoint> {
    [&Endpoint::ALL[..], &Endpoint::GRPC].concat()
}

/// Reads the body in every framing; whether a token was seen in one of them.
pub(crate) fn check(input: Input<'_>) -> bool {
    let mut saw_token = false;
    for content_type in CONTENT_TYPES {
        let context = context(input.endpoint, content_type);
        let whole = read(context, input.body, input.body.len(), TransportEnd::Clean);
        let again = read(context, input.body, input.size, TransportEnd::Clean);
        assert_eq!(again, whole, "cuts change nothing");
        check_claims(&whole);
        let length = input.body.len() * usize::from(input.cut) / 256;
        let (begin, rest) = input.body.split_at(length);
        let again = read_pushes(context, [begin, rest].into_iter(), TransportEnd::Clean);
        assert_eq!(again, whole, "no cut changes anything");
        let cut = read(context, input.body, input.size, TransportEnd::Cut);
        assert_eq!(cut.0, whole.0, "the end adds and takes no event");
        check_cut(&cut);
        check_cut(&read(context, begin, input.size, TransportEnd::Cut));
        if input.body.len() < PACKED_BYTES {
            check_packed(context, input, &whole);
        }
        saw_token |= whole.1.token_events > 0;
    }
    saw_token
}

/// Reads the body as if it were compressed, which it hardly is.
pub(crate) fn check_as_packed(input: Input<'_>) {
    for coding in ["gzip", "deflate"] {
        let context = AnswerContext {
            content_encoding: Some(coding),
            ..context(input.endpoint, CONTENT_TYPES[0])
        };
        let whole = read(context, input.body, input.body.len(), TransportEnd::Clean);
        let again = read(context, input.body, input.size, TransportEnd::Clean);
        assert_eq!(again, whole, "cuts change nothing");
        check_claims(&whole);
        check_cut(&read(context, input.body, input.size, TransportEnd::Cut));
    }
}

/// A compressed answer says what the plain one does; half of it claims no end.
fn check_packed(plain: AnswerContext<'_>, input: Input<'_>, whole: &Reading) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder
        .write_all(input.body)
        .and_then(|()| encoder.finish())
        .unwrap_or_default();
    let context = AnswerContext {
        content_encoding: Some("gzip"),
        ..plain
    };
    let read_packed = |bytes, end| read(context, bytes, input.size, end);
    assert_eq!(
        &read_packed(&packed, TransportEnd::Clean),
        whole,
        "packing changes nothing"
    );
    let half = &packed[..packed.len() * usize::from(input.cut) / 256];
    let cut = read_packed(half, TransportEnd::Clean);
    check_claims(&cut);
    // Messages that can't be read end the decoding before the coding does.
    let has = |wanted| cut.1.anomalies.iter().any(|(kind, _)| *kind == wanted);
    let told = has(Anomaly::CorruptCoding) || has(Anomaly::BadJson) || was_stopped(&cut.1);
    assert!(half.is_empty() || told, "a coding that broke off is told");
    check_cut(&read_packed(half, TransportEnd::Cut));
}

fn context(endpoint: Endpoint, content_type: &'static str) -> AnswerContext<'static> {
    AnswerContext {
        content_type: Some(content_type),
        stream_requested: Some(true),
        n: Some(2),
        num_output_tokens: Some(Accumulation::Cumulative),
        generated_tokens: Some(7),
        ..AnswerContext::new(endpoint, 200)
    }
}

fn read(context: AnswerContext<'_>, bytes: &[u8], size: usize, end: TransportEnd) -> Reading {
    read_pushes(context, bytes.chunks(size.max(1)), end)
}

fn read_pushes<'b>(
    context: AnswerContext<'_>,
    pushes: impl Iterator<Item = &'b [u8]>,
    end: TransportEnd,
) -> Reading {
    let (mut decoder, mut events) = (Decoder::new(context), Vec::new());
    for push in pushes {
        let (known, was_whole) = (events.len(), decoder.pending_whole());
        decoder.push(push, &mut events);
        let early = |event: &Event| event.early;
        assert!(
            was_whole || !events[known..].iter().any(early),
            "early is what was whole before"
        );
        assert!(
            !events[known..].iter().skip(1).any(early),
            "one event of a push at most is early"
        );
    }
    let answer = decoder.finish(end, &mut events);
    // The only thing about an event that depends on the cuts.
    events.iter_mut().for_each(|event| event.early = false);
    (events, answer)
}

/// An answer counts what its events were, and claims no end that it has not seen.
pub(crate) fn check_claims((events, answer): &Reading) {
    let proven: u64 = events
        .iter()
        .map(|event| match event.tokens {
            Tokens::None => 0,
            Tokens::AtLeastOne => 1,
            Tokens::Exactly(count) => u64::from(count),
        })
        .sum();
    assert_eq!(answer.output_tokens_min, proven);
    assert_eq!(answer.events, events.len() as u64);
    for event in events {
        use Reason::{Counter, Logprobs, OneEach, Reasoning, Text, TokenIds, ToolCall};
        let counts = matches!(event.reason, TokenIds | Logprobs | Counter | OneEach);
        let shows = matches!(event.reason, Text | Reasoning | ToolCall);
        assert_eq!(
            counts,
            matches!(event.tokens, Tokens::Exactly(1..)),
            "{event:?}"
        );
        assert_eq!(shows, event.tokens == Tokens::AtLeastOne, "{event:?}");
    }
    let complete = answer.state == FinishState::Complete;
    assert!(!complete || was_stopped(answer) || answer.terminator.is_some());
    assert_eq!(
        answer.output_tokens.is_none(),
        answer.output_source == CountSource::None
    );
    assert!(
        !was_stopped(answer) || answer.output_tokens.is_none(),
        "half a count is none"
    );
}

/// The same of an answer whose transport broke off: only its own words can make it whole.
fn check_cut(reading: &Reading) {
    check_claims(reading);
    let answer = &reading.1;
    assert!(answer.state != FinishState::Complete || answer.terminator.is_some());
}

/// Decoding ended before the body did.
fn was_stopped(answer: &Answer) -> bool {
    answer
        .anomalies
        .iter()
        .any(|(kind, _)| matches!(kind, Anomaly::OversizeEvent | Anomaly::Opaque))
}
