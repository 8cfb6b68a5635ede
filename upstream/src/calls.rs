//! What watches a gRPC call go by that carries many requests (Triton's `ModelStreamInfer`): each request is an exchange.
//!
//! An exchange begins with its message, once that has come whole, and ends with the answer that says it is the last, or with an error; its zero is the
//! write that carried the last byte of that message. What is open when the call ends, ends with it: well, if the call ended
//! well, the request had not asked to be told of the last answer, and some answer came; else it was cut.
//!
//! Answers are told apart by id. Requests that have one id at the same time are answered in their order as far as anybody
//! can know, so their records say that they were not observed. So do those whose answers can't be read. A limit on the
//! engine's silence cuts the whole call, and all that is open in it ends by that limit.

use crate::observer::Observer;
use crate::upload::UploadState;
use crate::watch::{Waits, Watch};
use crate::{Client, Clock, Habits, Observed, SocketStamps};
use http::{HeaderMap, response};
use measure::{End, Nanos, Recorder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use wire::{CallAnswer, CallAnswers, CallRequest, Endpoint};

/// A call to be observed, as its owner hands it in.
pub struct ObservedCalls {
    /// Its method.
    pub endpoint: Endpoint,
    /// Who begins its exchanges.
    pub opener: Arc<dyn Opener>,
    /// Who hears of what concerns the call as a whole.
    pub recorder: Arc<dyn Recorder>,
}

/// Begins the exchanges of one call.
pub trait Opener: Send + Sync {
    /// A request has just arrived.
    fn open(&self) -> Observed;

    /// A request has just arrived that is one too many to be measured.
    fn passed(&self);
}

/// What is known of the call, and its open exchanges, oldest first.
pub(crate) struct CallObserver {
    call: ObservedCalls,
    upload: UploadState,
    clock: Clock,
    client: Arc<dyn Client>,
    habits: Habits,
    sockets: Option<Arc<SocketStamps>>,
    head: Option<(Nanos, response::Parts)>,
    answers: CallAnswers,
    open: Vec<Open>,
    /// No answer can be told from another's any more.
    blind: bool,
}

struct Open {
    id: String,
    /// Where in the upload its request ends.
    end: u64,
    is_sent: bool,
    end_asked: bool,
    answered_at: Option<Nanos>,
    one: Observer,
}

impl CallObserver {
    pub(crate) fn new(
        call: ObservedCalls,
        upload: UploadState,
        clock: Clock,
        client: Arc<dyn Client>,
        habits: Habits,
    ) -> Self {
        Self {
            call,
            upload,
            clock,
            client,
            habits,
            sockets: None,
            head: None,
            answers: CallAnswers::default(),
            open: Vec::new(),
            blind: false,
        }
    }

    fn begin(&mut self, request: CallRequest, observed: Observed) {
        let (clock, client) = (self.clock, Arc::clone(&self.client));
        let upload = UploadState::new(None);
        let mut one = Observer::new(observed, upload, clock, client);
        one = one.with_habits(self.habits.clone());
        let mut open = Open {
            id: request.id.clone(),
            end: request.end,
            is_sent: false,
            end_asked: request.end_asked || !request.facts.whole,
            answered_at: None,
            one: {
                one.on_call_request(request);
                one
            },
        };
        if let Some((at, head)) = &self.head {
            open.one.on_head(*at, head);
        }
        let mut is_alone = !self.blind;
        for other in self.open.iter_mut().filter(|other| other.id == open.id) {
            other.one.on_lost_sight();
            is_alone = false;
        }
        if !is_alone {
            open.one.on_lost_sight();
        }
        self.open.push(open);
    }

    fn date(&mut self) {
        let Some(sockets) = &self.sockets else { return };
        for open in self.open.iter_mut().filter(|open| !open.is_sent) {
            let Some(at) = sockets.sent_up_to(open.end) else {
                // They are sent in their order.
                break;
            };
            open.one.on_call_sent(at);
            open.is_sent = true;
        }
    }

    fn answer(&mut self, at: Nanos, bytes: &[u8]) {
        let Self {
            answers,
            open,
            upload,
            ..
        } = self;
        answers.push(bytes, |answer| {
            let Some(place) = whose(open, &answer) else {
                return;
            };
            let Some(of) = open.get_mut(place) else {
                return;
            };
            of.answered_at = Some(at);
            of.one.on_message(at, answer.data);
            if answer.is_last {
                open.remove(place).one.on_answered(at);
                upload.on_answered();
            }
        });
        if answers.is_blind() {
            self.lose_sight();
        }
    }

    fn lose_sight(&mut self) {
        if !std::mem::replace(&mut self.blind, true) {
            for open in &mut self.open {
                open.one.on_lost_sight();
            }
        }
    }
}

/// Whom an answer is for: the oldest with its id. One without an id can be for the only one that there is.
fn whose(open: &[Open], answer: &CallAnswer<'_>) -> Option<usize> {
    let by_id = open.iter().position(|open| answer.is_for(&open.id));
    by_id.or((answer.id.is_empty() && open.len() == 1).then_some(0))
}

impl Watch for CallObserver {
    fn endpoint(&self) -> Endpoint {
        self.call.endpoint
    }

    fn on_connection(&mut self, sockets: Arc<SocketStamps>, took: Option<Nanos>) {
        self.sockets = Some(sockets);
        if let Some(took) = took {
            self.call.recorder.connected(took);
        }
    }

    fn on_turn(&mut self) {
        for (request, observed) in self.upload.take_requests() {
            self.begin(request, observed);
        }
        self.date();
    }

    fn on_head(&mut self, at: Nanos, head: &response::Parts) {
        self.on_turn();
        for open in &mut self.open {
            open.one.on_head(at, head);
        }
        self.head = Some((at, head.clone()));
    }

    fn on_frame(&mut self, at: Nanos, bytes: &[u8]) {
        self.on_turn();
        if catch_unwind(AssertUnwindSafe(|| self.answer(at, bytes))).is_err() {
            self.call.recorder.panicked();
            self.lose_sight();
        }
    }

    fn on_trailers(&mut self, fields: &HeaderMap) {
        for open in &mut self.open {
            open.one.on_trailers(fields);
        }
    }

    fn on_usage_injected(&mut self) {}

    fn on_client_limited(&mut self) {
        for open in &mut self.open {
            open.one.on_client_limited();
        }
    }

    fn on_undelivered(&mut self) {
        for open in &mut self.open {
            open.one.on_undelivered();
        }
    }

    fn on_end(&mut self, at: Nanos, end: End) {
        self.on_turn();
        self.upload.close_requests();
        for mut open in self.open.drain(..) {
            let is_whole = end == End::Clean && !open.end_asked;
            let last = open.answered_at.filter(|_| is_whole);
            open.one.on_end(last.unwrap_or(at), end);
        }
    }

    fn on_end_now(&mut self, end: End) {
        self.on_turn();
        self.upload.close_requests();
        for mut open in self.open.drain(..) {
            open.one.on_end_now(end);
        }
    }

    fn waits(&self) -> Waits {
        let mut waits = Waits::default();
        for live in self.open.iter().map(|open| open.one.live()) {
            if live.first_token().is_some() {
                waits.more = true;
            } else {
                waits.first_token = true;
                // They came in their order.
                waits.since.get_or_insert(live.arrival);
            }
        }
        waits
    }
}

impl Drop for CallObserver {
    fn drop(&mut self) {
        // What was never taken has to have its record as well.
        self.on_end_now(End::ClientGone);
    }
}
