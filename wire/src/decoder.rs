//! An answer, from the first byte of its body to its end: framing, dialect, facts.

use crate::coding::{Coding, Fault, Unpacker};
use crate::context::Framing;
use crate::dialect::{Asked, Dialect, Tally, Totals};
use crate::grpc::Messages;
use crate::ndjson::Lines;
use crate::sse::{Field, Frame, Framer, Rest};
use crate::{
    Anomaly, Answer, AnswerContext, CountSource, EngineTimes, Event, FinishState, Terminator,
    TransportEnd, limits,
};

/// Decodes one answer. Bytes go in as they come from the transport, after its own framing (chunked coding) was undone.
///
/// The events, apart from [`Event::early`], and the answer don't depend on how the bytes were cut into pushes.
#[derive(Debug)]
pub struct Decoder {
    /// Undoes the body's compression; `None` for one that has none, and after decoding stopped.
    unpacker: Option<Box<Unpacker>>,
    body: Body,
    dialect: Dialect,
    tally: Tally,
    framing: Framing,
    rejected: bool,
    comments: u64,
    /// The body was one JSON object that is no error.
    whole: bool,
    /// Why decoding ended before the body did.
    stopped: Option<Anomaly>,
}

/// What the bytes of the body are.
#[derive(Debug)]
enum Body {
    Events(Framer),
    Lines(Lines),
    Messages(Messages),
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
    /// the type is not JSON. Anything else is one JSON body. Bodies that are compressed by gzip or deflate are unpacked; by
    /// anything else, they are not decoded.
    pub fn new(context: AnswerContext<'_>) -> Self {
        let asked = Asked::of(&context);
        let framing = context.framing();
        let streamed = framing != Framing::Body;
        let coding = context.coding();
        let encoded = coding == Coding::Unknown;
        let mut tally = Tally::default();
        tally.times.update(context.engine_times);
        if encoded {
            tally.anomaly(Anomaly::Opaque);
        }
        if !streamed && !asked.rejected && context.stream_requested == Some(true) {
            tally.anomaly(Anomaly::BodyOnStream);
        }
        let body = match framing {
            _ if encoded => Body::Unread,
            Framing::Events => Body::Events(Framer::default()),
            Framing::Lines => Body::Lines(Lines::default()),
            Framing::Messages => Body::Messages(Messages::default()),
            Framing::Body => Body::Json(Vec::new()),
        };
        Self {
            unpacker: coding.unpacker(),
            body,
            dialect: Dialect::new(asked, framing),
            tally,
            framing,
            rejected: asked.rejected,
            comments: 0,
            whole: false,
            stopped: encoded.then_some(Anomaly::Opaque),
        }
    }

    /// Takes the next bytes of the body; the events that they complete are added to `events`.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        match self.unpacker.take() {
            None => self.push_plain(bytes, events),
            Some(unpacker) => self.push_packed(unpacker, bytes, events),
        }
    }

    /// Takes one message of a gRPC answer, without its prefix, where somebody else has cut the body.
    pub fn push_message(&mut self, data: &[u8], events: &mut Vec<Event>) {
        if let Body::Messages(_) = self.body {
            let evidence = self.dialect.event(Field::Data, data, &mut self.tally);
            events.push(self.tally.take(evidence, false));
        }
    }

    fn push_packed(&mut self, mut unpacker: Box<Unpacker>, bytes: &[u8], events: &mut Vec<Event>) {
        let (known, was_whole) = (events.len(), self.pending_whole());
        let unpacked = unpacker.push(bytes, |plain| self.push_plain(plain, events));
        // The pieces are no reads: only what was pending before this push can be early.
        for (place, event) in events.iter_mut().skip(known).enumerate() {
            event.early &= was_whole && place == 0;
        }
        match unpacked {
            Ok(()) if self.stopped.is_none() => self.unpacker = Some(unpacker),
            Ok(()) => {}
            Err(fault) => {
                self.tally.anomaly(match fault {
                    Fault::Corrupt => Anomaly::CorruptCoding,
                    Fault::TooDense => Anomaly::DenseCoding,
                });
                self.stop(Anomaly::Opaque);
            }
        }
    }

    fn push_plain(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        match &mut self.body {
            Body::Events(framer) => {
                framer.push(bytes, |frame| {
                    events.push(judge(frame, &mut self.dialect, &mut self.tally));
                });
                if framer.is_oversize() {
                    self.stop(Anomaly::OversizeEvent);
                }
            }
            Body::Lines(lines) => {
                lines.push(bytes, |frame| {
                    events.push(judge(frame, &mut self.dialect, &mut self.tally));
                });
                if lines.is_oversize() {
                    self.stop(Anomaly::OversizeEvent);
                }
            }
            Body::Messages(messages) => {
                messages.push(bytes, |data| {
                    let evidence = self.dialect.event(Field::Data, data, &mut self.tally);
                    events.push(self.tally.take(evidence, false));
                });
                if let Some(anomaly) = messages.stopped() {
                    self.stop(anomaly);
                }
            }
            Body::Json(body) if body.len() + bytes.len() > limits::WHOLE_BODY_BYTES => {
                self.stop(Anomaly::OversizeEvent);
            }
            Body::Json(body) => body.extend_from_slice(bytes),
            Body::Unread => {}
        }
    }

    /// How the body is cut into events, or that it is none.
    pub fn framing(&self) -> Framing {
        self.framing
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
            Body::Lines(lines) => lines.pending_whole(),
            Body::Messages(_) | Body::Json(_) | Body::Unread => false,
        }
    }

    /// Takes the end of the body. An event that lacks nothing but its line ends is added to `events`, the rest is dropped.
    pub fn finish(&mut self, mut end: TransportEnd, events: &mut Vec<Event>) -> Answer {
        if self
            .unpacker
            .take()
            .is_some_and(|unpacker| !unpacker.may_end())
        {
            if end == TransportEnd::Clean {
                self.tally.anomaly(Anomaly::CorruptCoding);
            }
            end = TransportEnd::Cut;
        }
        match std::mem::replace(&mut self.body, Body::Unread) {
            Body::Events(mut framer) => {
                let rest = framer
                    .finish(|frame| events.push(judge(frame, &mut self.dialect, &mut self.tally)));
                if rest == Rest::Dropped {
                    self.tally.anomaly(Anomaly::BadJson);
                }
                self.comments = framer.comments();
                if framer.is_oversize() {
                    self.stop(Anomaly::OversizeEvent);
                }
            }
            Body::Lines(mut lines) => {
                lines.finish(|frame| events.push(judge(frame, &mut self.dialect, &mut self.tally)));
                self.tally.anomalies_of(Anomaly::BadJson, lines.dropped());
            }
            Body::Messages(messages) if messages.may_end() => {}
            Body::Messages(_) => self.tally.anomaly(Anomaly::BadJson),
            Body::Json(body) => self.whole = self.dialect.body(&body, &mut self.tally),
            Body::Unread => {}
        }
        self.answer(end)
    }

    fn stop(&mut self, why: Anomaly) {
        self.tally.anomaly(why);
        match std::mem::replace(&mut self.body, Body::Unread) {
            Body::Events(framer) => self.comments = framer.comments(),
            Body::Lines(lines) => self.tally.anomalies_of(Anomaly::BadJson, lines.dropped()),
            Body::Messages(_) | Body::Json(_) | Body::Unread => {}
        }
        self.stopped = Some(why);
    }

    fn answer(&mut self, end: TransportEnd) -> Answer {
        let outcome = self.dialect.finish(end, self.tally.events);
        // What was counted until decoding stopped is no total, and the choices seen by then need not be all.
        let (totals, ending) = if self.stopped.is_some() {
            (Totals::default(), outcome.ending.unseen())
        } else {
            (outcome.totals, outcome.ending)
        };
        let mark = self.mark();
        let state = match ending.state(mark) {
            _ if self.rejected => FinishState::Rejected,
            _ if self.tally.errored => FinishState::Errored,
            // The content's end was not seen; only the transport can tell.
            FinishState::Cut if self.lost_sight() && end == TransportEnd::Clean => {
                FinishState::Complete
            }
            state => state,
        };
        let implied = ending
            .implied_mark()
            .filter(|_| state == FinishState::Complete);
        Answer {
            streamed: self.framing != Framing::Body,
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
            engine_times: if outcome.finish_reasons.len() <= 1 {
                self.tally.times
            } else {
                EngineTimes::default()
            },
            finish_reasons: outcome.finish_reasons,
            state,
            terminator: mark.or(implied),
            error: self.tally.error.take(),
            model: self.tally.model.take(),
            response_id: self.tally.response_id.take(),
            anomalies: self.tally.anomalies(),
        }
    }

    /// Decoding ended at a limit of ours, not at something that can't be an answer.
    fn lost_sight(&self) -> bool {
        matches!(self.stopped, Some(Anomaly::OversizeEvent | Anomaly::Opaque))
    }

    /// The end mark that was seen.
    fn mark(&self) -> Option<Terminator> {
        self.tally.mark.or(self.whole.then_some(Terminator::Body))
    }
}

fn judge(frame: Frame<'_>, dialect: &mut Dialect, tally: &mut Tally) -> Event {
    let evidence = dialect.event(frame.field, frame.data, tally);
    tally.take(evidence, frame.early)
}
