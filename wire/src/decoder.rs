//! An answer, from the first byte of its body to its end: framing, dialect, facts.

use crate::dialect::{Dialect, Tally, Totals};
use crate::sse::{Frame, Framer, Rest};
use crate::{
    Anomaly, Answer, CountSource, Endpoint, Event, FinishState, Terminator, TransportEnd, limits,
};

/// What is known of an answer before its body: the head of the response, and what the request asked for.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'a> {
    /// The route that answers.
    pub endpoint: Endpoint,
    /// HTTP status.
    pub status: u16,
    /// `content-type`, with its parameters.
    pub content_type: Option<&'a str>,
    /// `content-encoding`
    pub content_encoding: Option<&'a str>,
    /// Whether a stream was asked for.
    pub stream_requested: Option<bool>,
    /// Answers asked for per prompt; 1 if not known.
    pub n: Option<u32>,
    /// Prompts in the request; 1 if not known.
    pub prompts: Option<u32>,
    /// Whether the answer repeats the prompt; no if not known.
    pub echo: Option<bool>,
}

/// Decodes one answer. Bytes go in as they come from the transport, after its own framing (chunked coding) was undone.
///
/// The events, apart from [`Event::early`], and the answer don't depend on how the bytes were cut into pushes.
#[derive(Debug)]
pub struct Decoder {
    body: Body,
    dialect: Dialect,
    tally: Tally,
    streamed: bool,
    rejected: bool,
    comments: u64,
    /// The body was one JSON object that is no error.
    whole: bool,
    /// Decoding ended before the body did.
    stopped: bool,
}

/// What the bytes of the body are.
#[derive(Debug)]
enum Body {
    Events(Framer),
    /// One JSON text, as far as it has come.
    Json(Vec<u8>),
    /// Not decoded, or not any more.
    Unread,
}

// ---- Decoder

impl Decoder {
    /// A decoder for the answer with this head.
    ///
    /// The body is an event stream if its content type says so, or if a stream was asked for, the status is no error and
    /// the type is not JSON. Anything else is one JSON body. Encoded bodies (gzip and the like) are not decoded.
    pub fn new(context: AnswerContext<'_>) -> Self {
        let streamed = is_stream(&context);
        let rejected = context.status >= 400;
        let encoded = context
            .content_encoding
            .is_some_and(|encoding| !is_plain(encoding));
        let mut tally = Tally::default();
        if encoded {
            tally.anomaly(Anomaly::Opaque);
        }
        if !streamed && !rejected && context.stream_requested == Some(true) {
            tally.anomaly(Anomaly::BodyOnStream);
        }
        let body = match (encoded, streamed) {
            (true, _) => Body::Unread,
            (false, true) => Body::Events(Framer::default()),
            (false, false) => Body::Json(Vec::new()),
        };
        Self {
            body,
            dialect: Dialect::of(&context),
            tally,
            streamed,
            rejected,
            comments: 0,
            whole: false,
            stopped: encoded,
        }
    }

    /// Takes the next bytes of the body; the events that they complete are added to `events`.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        match &mut self.body {
            Body::Events(framer) => {
                framer.push(bytes, |frame| {
                    events.push(judge(frame, &mut self.dialect, &mut self.tally));
                });
                if framer.is_oversize() {
                    self.comments = framer.comments();
                    self.stop();
                }
            }
            Body::Json(body) if body.len() + bytes.len() > limits::WHOLE_BODY_BYTES => self.stop(),
            Body::Json(body) => body.extend_from_slice(bytes),
            Body::Unread => {}
        }
    }

    /// The model that the answer has named so far.
    pub fn model(&self) -> Option<&str> {
        self.tally.model.as_deref()
    }

    /// Whether an event is pending whose data is whole JSON or `[DONE]`, so that only line ends are missing.
    ///
    /// It dates tokens: ask after each push and keep the stamp of the push after which it became true. An event that is
    /// [early](Event::early) has that stamp. A push that yields events ends what was pending before it; what is pending
    /// after it is another event, with that push's stamp.
    pub fn pending_whole(&self) -> bool {
        match &self.body {
            Body::Events(framer) => framer.pending_whole(),
            Body::Json(_) | Body::Unread => false,
        }
    }

    /// Takes the end of the body. An event that lacks nothing but its line ends is added to `events`, the rest is dropped.
    pub fn finish(&mut self, end: TransportEnd, events: &mut Vec<Event>) -> Answer {
        match std::mem::replace(&mut self.body, Body::Unread) {
            Body::Events(mut framer) => {
                let rest = framer
                    .finish(|frame| events.push(judge(frame, &mut self.dialect, &mut self.tally)));
                if rest == Rest::Dropped {
                    self.tally.anomaly(Anomaly::BadJson);
                }
                if framer.is_oversize() {
                    self.stop();
                }
                self.comments = framer.comments();
            }
            Body::Json(body) => self.whole = self.dialect.body(&body, &mut self.tally),
            Body::Unread => {}
        }
        self.answer(end)
    }

    fn stop(&mut self) {
        self.tally.anomaly(Anomaly::OversizeEvent);
        self.body = Body::Unread;
        self.stopped = true;
    }

    fn answer(&mut self, end: TransportEnd) -> Answer {
        let outcome = self.dialect.finish();
        // What was counted until decoding stopped is no total.
        let totals = if self.stopped {
            Totals::default()
        } else {
            outcome.totals
        };
        let mark = self.mark();
        let state = match outcome.ending.state(mark) {
            _ if self.rejected => FinishState::Rejected,
            _ if self.tally.errored => FinishState::Errored,
            // The content's end was not seen; only the transport can tell.
            FinishState::Cut if self.stopped && end == TransportEnd::Clean => FinishState::Complete,
            state => state,
        };
        let missing = state == FinishState::Complete && !self.stopped;
        Answer {
            streamed: self.streamed,
            events: self.tally.events,
            comments: self.comments,
            token_events: self.tally.token_events,
            visible_events: self.tally.visible_events,
            input_tokens: totals.input,
            output_tokens: totals.output.map(|(tokens, _)| tokens),
            output_tokens_min: self.tally.tokens_min,
            output_source: totals
                .output
                .map_or(CountSource::None, |(_, source)| source),
            cached_tokens: totals.cached,
            reasoning_tokens: totals.reasoning,
            finish_reasons: outcome.finish_reasons,
            state,
            terminator: mark.or(missing.then_some(Terminator::Missing)),
            error: self.tally.error.take(),
            model: self.tally.model.take(),
            response_id: self.tally.response_id.take(),
            anomalies: self.tally.anomalies(),
        }
    }

    /// The end mark that was seen.
    fn mark(&self) -> Option<Terminator> {
        if self.tally.done {
            Some(Terminator::Done)
        } else {
            self.whole.then_some(Terminator::Body)
        }
    }
}

fn judge(frame: Frame<'_>, dialect: &mut Dialect, tally: &mut Tally) -> Event {
    let evidence = dialect.event(frame.field, frame.data, tally);
    tally.take(evidence, frame.early)
}

// ---- The head

fn is_stream(context: &AnswerContext<'_>) -> bool {
    let media_type = context
        .content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let is = |name: &str| media_type.eq_ignore_ascii_case(name);
    let is_json = is("application/json") || media_type.to_ascii_lowercase().ends_with("+json");
    is("text/event-stream")
        || (!is_json && context.stream_requested == Some(true) && context.status < 400)
}

fn is_plain(encoding: &str) -> bool {
    encoding
        .split(',')
        .map(str::trim)
        .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"))
}
