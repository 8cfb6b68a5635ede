//! An answer, played through the decoder and the state machine that the proxy uses.
//!
//! The body is handed on line by line, so that each event is known by its bytes: what the decoder says does not depend on how
//! bytes are cut, which its own tests hold. What came in one read keeps that read's stamp.

use crate::recording::Recorded;
use crate::report::{AnswerReport, EventReport, First, Marks};
use crate::{Error, Options, excerpt, route, words};
use measure::{End, Exchange, Identity, InFlight, Nanos, Role};
use std::ops::Range;
use std::sync::Arc;
use wire::{
    AnswerContext, Decoder, Endpoint, Event, Framing, RequestFacts, RequestScan, Tokens,
    TransportEnd,
};

/// What takes the reads of one answer.
struct Player {
    decoder: Decoder,
    exchange: Exchange,
    framing: Framing,
    /// The body is compressed, so that it has no lines to be known by.
    packed: bool,
    /// The recording has times.
    timed: bool,
    /// Stamp of the read after which the pending event was whole.
    whole_at: Option<Nanos>,
    /// The body so far, and where in it the pending event begins.
    body: Vec<u8>,
    begin: usize,
    fresh: Vec<Event>,
    marks: Marks,
    events: Vec<EventReport>,
}

/// Plays one answer.
pub(crate) fn play(recorded: &Recorded, options: &Options<'_>) -> Result<AnswerReport, Error> {
    let (endpoint, endpoint_from) = route::tell(recorded, options)?;
    let request = options.request.or(recorded.request.as_deref());
    let facts = request.map(|body| scan(endpoint, body)).unwrap_or_default();
    let mut player = Player::new(recorded, endpoint, &facts);
    if let Some(bytes) = request {
        player.exchange.on_request(facts, bytes.len() as u64);
    }
    for read in &recorded.reads {
        player.read(read.at, &read.bytes);
    }
    let transport = match recorded.end {
        End::Clean => TransportEnd::Clean,
        _ => TransportEnd::Cut,
    };
    let at = recorded.end_at.unwrap_or_default();
    let answer = player.decoder.finish(transport, &mut player.fresh);
    player.take(player.whole_at.unwrap_or(at), 0, player.body.len());
    player.exchange.on_end(at, recorded.end);
    let record = player.exchange.finish(Some(answer.clone()));
    Ok(AnswerReport {
        entry: recorded.entry,
        path: recorded.path.clone(),
        endpoint: endpoint.as_str(),
        endpoint_from,
        status: recorded.head.status,
        framing: words::framing(player.framing),
        timed: player.timed,
        notes: recorded.notes.clone(),
        summary: words::summary(&record, &answer, recorded.end, player.timed),
        events: player.events,
    })
}

fn scan(endpoint: Endpoint, body: &[u8]) -> RequestFacts {
    let mut scan = RequestScan::new(endpoint);
    scan.push(body);
    scan.finish()
}

/// What a body without a head is.
fn content_type(endpoint: Endpoint, body: &[u8]) -> &'static str {
    let is_json = serde_json::from_slice::<serde_json::Value>(body).is_ok();
    match endpoint {
        _ if Endpoint::GRPC.contains(&endpoint) => "application/grpc",
        Endpoint::OllamaChat | Endpoint::OllamaGenerate if !is_stream(body) => {
            if is_json && !body.trim_ascii().contains(&b'\n') {
                "application/json"
            } else {
                "application/x-ndjson"
            }
        }
        _ if is_json => "application/json",
        _ => "text/event-stream",
    }
}

fn is_stream(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"data:")
}

// ---- Player

impl Player {
    fn new(recorded: &Recorded, endpoint: Endpoint, facts: &RequestFacts) -> Self {
        let head = &recorded.head;
        let guessed = content_type(endpoint, &recorded.body());
        let decoder = Decoder::new(AnswerContext {
            content_type: head.content_type.as_deref().or(Some(guessed)),
            content_encoding: head.content_encoding.as_deref(),
            stream_requested: facts.stream,
            n: facts.n,
            prompts: facts.prompts,
            echo: facts.echo,
            generated_tokens: head.generated_tokens,
            prompt_tokens: head.prompt_tokens,
            engine_times: head.engine_times,
            ..AnswerContext::new(endpoint, head.status)
        });
        let identity = Identity {
            id: 1,
            role: Role::Replay,
            endpoint,
        };
        let mut exchange = Exchange::begin(identity, Nanos::ZERO, Arc::new(InFlight::new()));
        exchange.on_head_sent(Nanos::ZERO);
        exchange.on_body_sent(Nanos::ZERO);
        exchange.on_response_head(recorded.head_at.unwrap_or_default(), head.status);
        let framing = decoder.framing();
        Self {
            decoder,
            exchange,
            framing,
            packed: head
                .content_encoding
                .as_deref()
                .is_some_and(|coding| coding != "identity"),
            timed: recorded.end_at.is_some(),
            whole_at: None,
            body: Vec::new(),
            begin: 0,
            fresh: Vec::new(),
            marks: Marks::default(),
            events: Vec::new(),
        }
    }

    fn read(&mut self, at: Nanos, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(self.piece(rest));
            rest = after;
            let before = self.body.len();
            self.body.extend_from_slice(piece);
            self.decoder.push(piece, &mut self.fresh);
            // A line may show that the event before it has ended, where no blank line does.
            let is_line = self.framing == Framing::Events && !self.packed;
            let is_next = is_line && !piece.trim_ascii().is_empty();
            let end = if is_next { before } else { self.body.len() };
            let none = self.fresh.is_empty();
            self.take(at, piece.len() as u64, end);
            let pending = self.decoder.pending_whole();
            self.whole_at = pending.then(|| self.whole_at.filter(|_| none).unwrap_or(at));
        }
    }

    /// Length of the first piece that holds the end of one event at most.
    fn piece(&self, bytes: &[u8]) -> usize {
        let line = match bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) if bytes.get(end..end + 2) == Some(b"\r\n") => end + 2,
            Some(end) => end + 1,
            None => bytes.len(),
        };
        match self.framing {
            _ if self.packed => bytes.len(),
            Framing::Events | Framing::Lines => line,
            Framing::Messages => 1,
            Framing::Body => bytes.len(),
        }
    }

    /// Takes the events of a piece of a read, the last of which ended at `end` of the body.
    fn take(&mut self, at: Nanos, bytes: u64, end: usize) {
        let early = self.fresh.iter().take_while(|event| event.early).count();
        let (before, now) = self.fresh.split_at(early);
        let early_at = self.whole_at.unwrap_or(at);
        if !before.is_empty() {
            self.exchange.on_read(early_at, 0, before);
        }
        self.exchange.on_read(at, bytes, now);
        for (place, event) in std::mem::take(&mut self.fresh).into_iter().enumerate() {
            let range = self.begin..end.max(self.begin);
            self.begin = range.end;
            self.list(event, range, if place < early { early_at } else { at });
        }
    }

    fn list(&mut self, event: Event, range: Range<usize>, at: Nanos) {
        let bytes = self.body.get(range.clone()).filter(|_| !self.packed);
        let excerpt = match bytes {
            Some(bytes) => excerpt::of(bytes, self.framing),
            None => String::new(),
        };
        let first = self.marks.take(&event);
        self.events.push(EventReport {
            index: self.events.len(),
            at_ms: self.timed.then(|| words::ms(at)),
            offset: range.start,
            length: range.len(),
            tokens: match event.tokens {
                Tokens::None => Some(0),
                Tokens::AtLeastOne => None,
                Tokens::Exactly(count) => Some(count),
            },
            shows: words::shows(&event),
            reason: event.reason.as_str(),
            why: words::why(event.reason),
            first,
            data: excerpt,
        });
    }
}

impl Marks {
    /// What this event is the first of.
    fn take(&mut self, event: &Event) -> Vec<First> {
        let is = [
            (First::Event, true),
            (First::Token, event.tokens != Tokens::None),
            (First::Answer, event.answer),
        ];
        let mut first = Vec::new();
        for (kind, is) in is {
            if is && !self.seen.contains(&kind) {
                self.seen.push(kind);
                first.push(kind);
            }
        }
        first
    }
}
