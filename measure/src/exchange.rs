//! The state machine of one request: told what happens as it happens, it ends as exactly one [`crate::Record`].
//!
//! ```text
//! begin ──▶ Prefill ──first token──▶ Decode ──on_end──▶ Ended ──finish──▶ Record
//!              └─────────────────on_end──────────────────▲
//! ```
//!
//! Four kinds of method, as each says: **input** (something happened, with its stamp), **command** (do something),
//! **poll** (take what has gathered), **getter**. Inputs come from a socket or a deadline and must not fail: what comes
//! after the end is ignored, a stamp before the arrival counts as the arrival.
//!
//! Invariants: one record, by [`Exchange::finish`], which takes the exchange; the in-flight count is left once, at the
//! end, or when the exchange is dropped without one; nothing here grows with the number of tokens.

mod finish;

use crate::bursts::{Burst, Bursts};
use crate::in_flight::Presence;
use crate::{
    End, EngineLoad, Flag, Flags, Identity, InFlight, InFlightMeans, Nanos, Progress, Stamps,
};
use std::sync::Arc;
use wire::{Event, RequestFacts, Tokens};

/// One request on its way.
#[derive(Debug)]
pub struct Exchange {
    identity: Identity,
    request: RequestFacts,
    request_bytes: u64,
    answer_model: Option<String>,
    engine_load: Option<EngineLoad>,
    /// `end` is set when it ended.
    stamps: Stamps,
    /// The latest of all stamps but the end.
    latest: Nanos,
    last_read: Option<Nanos>,
    status: Option<u16>,
    call_status: Option<u32>,
    response_bytes: u64,
    events: u64,
    bursts: Bursts,
    taken_exact: u64,
    taken_at_least: u64,
    flags: Flags,
    presence: Presence,
    ended: Option<Ended>,
}

#[derive(Debug, Clone, Copy)]
struct Ended {
    end: End,
    in_flight: InFlightMeans,
}

/// How far an exchange is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// No token yet.
    Prefill,
    /// Past its first token.
    Decode,
    /// Over; only its record is still to be made.
    Ended,
}

// Exchange: inputs

impl Exchange {
    /// Input: the request's head was received at `arrival`. From here on it is in flight.
    pub fn begin(identity: Identity, arrival: Nanos, in_flight: Arc<InFlight>) -> Self {
        Self {
            identity,
            request: RequestFacts::default(),
            request_bytes: 0,
            answer_model: None,
            engine_load: None,
            stamps: Stamps {
                arrival,
                ..Stamps::default()
            },
            latest: arrival,
            last_read: None,
            status: None,
            call_status: None,
            response_bytes: 0,
            events: 0,
            bursts: Bursts::default(),
            taken_exact: 0,
            taken_at_least: 0,
            flags: Flags::default(),
            presence: Presence::enter(in_flight, arrival),
            ended: None,
        }
    }

    /// Input: what the request asks for, and the bytes of its body so far. The last call wins.
    pub fn on_request(&mut self, facts: RequestFacts, bytes: u64) {
        self.request = facts;
        self.request_bytes = bytes;
    }

    /// Input: the last byte of the request's head was handed to the engine's socket. The first call wins.
    pub fn on_head_sent(&mut self, now: Nanos) {
        if let Some(now) = self.stamp(now) {
            self.stamps.head_sent.get_or_insert(now);
        }
    }

    /// Input: bytes of the request were handed to the engine's socket, the last ones so far. The last call wins: the last
    /// write is the zero of latency. A write after the first token does not count, since latency began before it.
    pub fn on_body_sent(&mut self, now: Nanos) {
        let Some(now) = self.stamp(now) else { return };
        if self.stamps.first_token.is_none_or(|first| now <= first) {
            self.stamps.body_sent = Some(now);
        }
    }

    /// Input: the response's head was read. Informational ones (1xx) are none; of others the first call wins.
    pub fn on_response_head(&mut self, now: Nanos, status: u16) {
        if status < 200 || self.status.is_some() {
            return;
        }
        if let Some(now) = self.stamp(now) {
            self.status = Some(status);
            self.stamps.response_head = Some(now);
            self.last_read = self.last_read.max(Some(now));
        }
    }

    /// Input: the engine ended a gRPC call with this status (0 is OK), in the trailers or in a head that is all of the answer.
    /// The first call wins.
    pub fn on_call_status(&mut self, code: u32) {
        if self.ended.is_none() {
            self.call_status.get_or_insert(code);
        }
    }

    /// Input: the answer says which model gave it. The first call wins.
    pub fn on_answer_model(&mut self, name: &str) {
        self.answer_model.get_or_insert_with(|| name.to_owned());
    }

    /// Input: what the engine last said of its load when this arrived. The last call wins.
    pub fn on_engine_load(&mut self, load: Option<EngineLoad>) {
        self.engine_load = load;
    }

    /// Input: one read of the response's body, or a part of it: `bytes` of it, and the events that they completed.
    ///
    /// All events with one stamp are one burst, in however many calls they come. An event that was whole already before
    /// this read ([`Event::early`]) is to be handed in with the stamp of the read that made it whole.
    pub fn on_read(&mut self, now: Nanos, bytes: u64, events: &[Event]) {
        let Some(now) = self.stamp(now) else { return };
        self.last_read = self.last_read.max(Some(now));
        self.response_bytes = self.response_bytes.saturating_add(bytes);
        for event in events {
            self.on_event(now, *event);
        }
    }

    /// Input: something that limits the use of what is measured.
    pub fn flag(&mut self, flag: Flag) {
        self.flags.set(flag);
    }

    /// Input: it is over. The first call wins; the exchange leaves the in-flight count.
    pub fn on_end(&mut self, now: Nanos, end: End) {
        if self.ended.is_none() {
            self.ended = Some(self.leave(now.max(self.latest), end));
        }
    }

    fn on_event(&mut self, now: Nanos, event: Event) {
        self.events = self.events.saturating_add(1);
        self.stamps.first_event.get_or_insert(now);
        match event.tokens {
            Tokens::None | Tokens::Exactly(0) => {}
            Tokens::AtLeastOne => self.on_tokens(Burst {
                at: now,
                tokens: 1,
                exact: false,
            }),
            Tokens::Exactly(count) => self.on_tokens(Burst {
                at: now,
                tokens: u64::from(count),
                exact: true,
            }),
        }
        // An answer's text may come in an event after the one that counted its tokens, never before it.
        if let (true, Some(first_token)) = (event.answer, self.stamps.first_token) {
            self.stamps.first_answer.get_or_insert(now.max(first_token));
        }
    }

    fn on_tokens(&mut self, event: Burst) {
        self.bursts.push(event);
        if self.stamps.first_token.is_none() {
            self.stamps.first_token = Some(event.at);
            self.stamps.body_sent = self.stamps.body_sent.map(|sent| sent.min(event.at));
            self.presence.first_token(event.at);
        }
        self.stamps.last_token = self.bursts.last_at();
        debug_assert!(
            self.stamps.first_token <= self.stamps.last_token,
            "bursts do not go back"
        );
    }

    /// The stamp to use for `now`; `None` once it is over.
    fn stamp(&mut self, now: Nanos) -> Option<Nanos> {
        if self.ended.is_some() {
            return None;
        }
        let now = now.max(self.stamps.arrival);
        self.latest = self.latest.max(now);
        Some(now)
    }
}

// Exchange: polls and getters

impl Exchange {
    /// Poll: the tokens read since the last call; `None` if there are none.
    pub fn poll_progress(&mut self) -> Option<Progress<'_>> {
        let exact = self.bursts.exact_tokens().saturating_sub(self.taken_exact);
        let at_least = self
            .bursts
            .inexact_events()
            .saturating_sub(self.taken_at_least);
        if exact == 0 && at_least == 0 {
            return None;
        }
        self.taken_exact += exact;
        self.taken_at_least += at_least;
        Some(Progress {
            identity: &self.identity,
            request: &self.request,
            answer_model: self.answer_model.as_deref(),
            exact,
            at_least,
        })
    }

    /// Getter: how far it is.
    pub fn phase(&self) -> Phase {
        match (self.ended, self.stamps.first_token) {
            (Some(_), _) => Phase::Ended,
            (None, Some(_)) => Phase::Decode,
            (None, None) => Phase::Prefill,
        }
    }

    /// Getter: who it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Getter: what was asked, as far as it is known by now.
    pub fn request(&self) -> &RequestFacts {
        &self.request
    }

    /// Getter: the model that the answer names, once it was told.
    pub fn answer_model(&self) -> Option<&str> {
        self.answer_model.as_deref()
    }

    /// Getter: bytes of the request's body, as last told.
    pub fn request_bytes(&self) -> u64 {
        self.request_bytes
    }

    /// Getter: exchanges in flight when it arrived, itself excluded.
    pub fn at_arrival(&self) -> u32 {
        self.presence.at_arrival()
    }

    /// Getter: when the request's head was received.
    pub fn arrival(&self) -> Nanos {
        self.stamps.arrival
    }

    /// Getter: when the first token was read, if it was.
    pub fn first_token(&self) -> Option<Nanos> {
        self.stamps.first_token
    }

    /// Getter: when the engine's last bytes were read, head or body.
    pub fn last_read(&self) -> Option<Nanos> {
        self.last_read
    }

    /// Getter: status of the engine's answer, if a head came.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Getter: status of a gRPC call, if one came.
    pub fn call_status(&self) -> Option<u32> {
        self.call_status
    }

    /// Getter: bytes of the response's body read so far.
    pub fn response_bytes(&self) -> u64 {
        self.response_bytes
    }

    /// Getter: tokens proven so far.
    pub fn tokens(&self) -> u64 {
        self.bursts.tokens()
    }

    /// Getter: what limits its use, as far as it was told; more is known at the end.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Getter: what ended it.
    pub fn ended(&self) -> Option<End> {
        self.ended.map(|ended| ended.end)
    }
}
