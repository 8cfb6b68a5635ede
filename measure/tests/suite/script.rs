//! Exchanges to order: a script of reads, played into an [`Exchange`].

use measure::{End, Exchange, Identity, InFlight, Nanos, Record, Role};
use std::sync::Arc;
use wire::{
    Answer, CountSource, Endpoint, EngineTimes, Event, FinishState, Reason, RequestFacts,
    Terminator, Tokens,
};

pub(crate) fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

pub(crate) fn identity() -> Identity {
    Identity {
        id: 1,
        role: Role::Production,
        endpoint: Endpoint::ChatCompletions,
    }
}

/// What a client asks for that wants a stream.
pub(crate) fn stream_facts() -> RequestFacts {
    RequestFacts {
        whole: true,
        stream: Some(true),
        ..RequestFacts::default()
    }
}

pub(crate) fn event(tokens: Tokens, answer: bool) -> Event {
    Event {
        tokens,
        reason: match tokens {
            Tokens::None => Reason::Empty,
            Tokens::AtLeastOne => Reason::Text,
            Tokens::Exactly(_) => Reason::TokenIds,
        },
        visible: tokens != Tokens::None,
        answer,
        early: false,
    }
}

/// An event of `count` answer tokens.
pub(crate) fn exactly(count: u32) -> Event {
    event(Tokens::Exactly(count), true)
}

/// An event of text, whose tokens nobody counted.
pub(crate) fn text() -> Event {
    event(Tokens::AtLeastOne, true)
}

/// An event without a token.
pub(crate) fn silent() -> Event {
    event(Tokens::None, false)
}

/// A whole stream with its mark, of which nobody stated the tokens.
pub(crate) fn answer() -> Answer {
    Answer {
        streamed: true,
        events: 0,
        comments: 0,
        token_events: 0,
        visible_events: 0,
        input_tokens: None,
        output_tokens: None,
        output_tokens_min: 0,
        output_source: CountSource::None,
        cached_tokens: None,
        reasoning_tokens: None,
        engine_times: EngineTimes::default(),
        finish_reasons: Vec::new(),
        state: FinishState::Complete,
        terminator: Some(Terminator::Done),
        error: None,
        model: None,
        response_id: None,
        anomalies: Vec::new(),
    }
}

/// The same, with a total stated by its usage.
pub(crate) fn answer_of(output_tokens: u64) -> Answer {
    Answer {
        output_tokens: Some(output_tokens),
        output_source: CountSource::Usage,
        ..answer()
    }
}

/// A stream that broke off.
pub(crate) fn cut() -> Answer {
    Answer {
        state: FinishState::Cut,
        terminator: None,
        ..answer()
    }
}

/// An exchange that arrived and was sent whole at 0, and was answered with a 200 at once.
pub(crate) fn answered() -> Exchange {
    let mut exchange = Exchange::begin(identity(), Nanos::ZERO, Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 100);
    exchange.on_head_sent(Nanos::ZERO);
    exchange.on_body_sent(Nanos::ZERO);
    exchange.on_response_head(Nanos::ZERO, 200);
    exchange
}

/// That exchange with these reads (milliseconds, events), ended cleanly at `end`.
pub(crate) fn streamed(reads: &[(u64, &[Event])], end: u64, answer: Answer) -> Record {
    let mut exchange = answered();
    for (at, events) in reads {
        exchange.on_read(ms(*at), 10, events);
    }
    exchange.on_end(ms(end), End::Clean);
    exchange.finish(Some(answer))
}
