//! For what a quantity is defined, censored, or not applicable.

use crate::script::{
    answer, answer_of, answered, cut, exactly, identity, ms, silent, stream_facts, streamed,
};
use measure::{Defined, End, Exchange, Flag, InFlight, Outcome};
use std::sync::Arc;
use wire::{Anomaly, Answer, FinishState, RequestFacts, Terminator};

#[test]
fn a_body_that_was_not_streamed_has_a_duration_and_no_token_times() {
    let whole = Answer {
        streamed: false,
        terminator: Some(Terminator::Body),
        ..answer_of(250)
    };
    for asked in [Some(false), Some(true), None] {
        let mut exchange = answered();
        exchange.on_request(
            RequestFacts {
                stream: asked,
                ..stream_facts()
            },
            0,
        );
        exchange.on_read(ms(5680), 900, &[]);
        exchange.on_end(ms(5680), End::Clean);
        let record = exchange.finish(Some(whole.clone()));
        assert_eq!(record.e2e(), Defined::Value(ms(5680)));
        assert_eq!(
            (record.ttft(), record.ttfa()),
            (Defined::NotApplicable, Defined::NotApplicable)
        );
        assert_eq!(
            (record.tpot(), record.tail()),
            (Defined::NotApplicable, Defined::NotApplicable)
        );
        assert_eq!(record.max_stall(), Defined::NotApplicable);
        assert!(
            !record.flags.usage_mismatch,
            "no token event, no contradiction"
        );
        assert_eq!(record.uncounted_tokens(), 250);
    }
}

#[test]
fn a_failed_request_is_censored_if_a_stream_was_asked_for_or_may_have_been() {
    let facts = |whole, stream| RequestFacts {
        whole,
        stream,
        ..RequestFacts::default()
    };
    for (facts, censored) in [
        (facts(true, Some(true)), true),
        (facts(true, Some(false)), false),
        (facts(true, None), false),
        (facts(false, None), true),
    ] {
        let mut exchange = answered();
        exchange.on_request(facts.clone(), 0);
        exchange.on_end(ms(70), End::Reset);
        let record = exchange.finish(Some(Answer {
            streamed: false,
            ..cut()
        }));
        assert_eq!(record.ttft().is_censored(), censored, "{facts:?}");
        assert_eq!(record.e2e(), Defined::Censored(ms(70)));
    }
}

#[test]
fn a_refused_stream_is_censored_though_its_error_is_a_body() {
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 0);
    exchange.on_body_sent(ms(1));
    exchange.on_response_head(ms(4), 429);
    exchange.on_end(ms(5), End::Clean);
    let refused = Answer {
        streamed: false,
        state: FinishState::Rejected,
        terminator: None,
        ..answer()
    };
    let record = exchange.finish(Some(refused));
    assert_eq!(record.ttft(), Defined::Censored(ms(4)));
    assert_eq!(record.without_first_token(), Some(Outcome::Upstream429));
}

#[test]
fn a_whole_stream_in_which_nothing_proved_a_token_is_censored_not_dropped() {
    let record = streamed(&[(10, &[silent()])], 30, answer());
    assert_eq!(
        (record.ttft(), record.outcome),
        (Defined::Censored(ms(30)), Outcome::Ok)
    );
    assert_eq!(record.without_first_token(), Some(Outcome::Ok));
    assert_eq!(
        (record.tpot(), record.tokens_per_burst()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
}

#[test]
fn a_stream_that_failed_censors_its_pace_at_what_was_seen() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, &[exactly(1)]);
    exchange.on_read(ms(30), 1, &[exactly(1)]);
    exchange.on_end(ms(90), End::Truncated);
    let record = exchange.finish(Some(cut()));
    assert_eq!(record.tpot(), Defined::Censored(0.02));
    assert_eq!(record.max_stall(), Defined::Censored(ms(20)));
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, &[exactly(1)]);
    exchange.on_end(ms(90), End::Truncated);
    let record = exchange.finish(Some(cut()));
    assert_eq!(
        (record.tpot(), record.max_stall()),
        (Defined::Censored(0.0), Defined::Censored(ms(0)))
    );
}

#[test]
fn a_clients_pace_is_not_the_engines() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, &[exactly(1)]);
    exchange.flag(Flag::ClientLimited);
    exchange.on_read(ms(6000), 1, &[exactly(1)]);
    exchange.on_end(ms(6010), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(record.ttft(), Defined::Value(ms(10)));
    assert_eq!(
        (record.tpot(), record.max_stall()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
    assert_eq!(
        (record.tail(), record.engine_gaps()),
        (Defined::NotApplicable, None)
    );
}

#[test]
fn what_went_by_unread_is_not_held_against_the_engine() {
    for anomaly in [Anomaly::Opaque, Anomaly::OversizeEvent] {
        let unread = Answer {
            anomalies: vec![(anomaly, 1)],
            ..cut()
        };
        let record = streamed(&[], 90, unread);
        assert!(record.flags.sight_lost());
        assert_eq!(
            (record.outcome, record.ttft()),
            (Outcome::Ok, Defined::NotApplicable)
        );
        assert_eq!(record.e2e(), Defined::Value(ms(90)));
    }
    let mut exchange = answered();
    exchange.on_end(ms(90), End::Clean);
    let record = exchange.finish(None);
    assert!(record.flags.unobserved, "a good answer that nobody decoded");
    assert_eq!(
        (record.outcome, record.ttft()),
        (Outcome::Ok, Defined::NotApplicable)
    );
}

#[test]
fn one_burst_has_no_pace_though_the_engine_states_more_tokens() {
    let record = streamed(&[(10, &[exactly(1)])], 30, answer_of(5));
    assert_eq!(
        (record.tpot(), record.max_stall()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
}

#[test]
fn a_whole_body_stays_without_token_times_though_its_tokens_come_as_an_event() {
    let body = Answer {
        streamed: false,
        terminator: Some(Terminator::Body),
        ..answer()
    };
    let record = streamed(&[(10, &[exactly(4)]), (20, &[exactly(1)])], 30, body);
    assert_eq!(
        (record.ttft(), record.ttfa()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
    assert_eq!(
        (record.tpot(), record.tail()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
    assert_eq!(record.max_stall(), Defined::NotApplicable);
}

#[test]
fn a_pace_seen_in_part_is_not_that_of_the_answer() {
    let unread = Answer {
        anomalies: vec![(Anomaly::OversizeEvent, 1)],
        ..cut()
    };
    let record = streamed(&[(10, &[exactly(1)]), (20, &[exactly(1)])], 90, unread);
    assert_eq!(
        record.ttft(),
        Defined::Value(ms(10)),
        "it was read before sight was lost"
    );
    assert_eq!(
        (record.tpot(), record.max_stall()),
        (Defined::NotApplicable, Defined::NotApplicable)
    );
    assert_eq!(record.tail(), Defined::NotApplicable);
    assert_eq!(record.engine_gaps().map(|gaps| gaps.bursts()), Some(1));
}
