//! Which instant is which.

use crate::script::{
    answer, answered, cut, event, exactly, identity, ms, silent, stream_facts, streamed,
};
use measure::{Defined, End, Exchange, InFlight, Outcome, Phase};
use std::sync::Arc;
use wire::{Answer, Event, Tokens};

#[test]
fn a_role_or_a_heartbeat_is_an_event_and_no_token() {
    let record = streamed(
        &[(5, &[silent()]), (20, &[exactly(1)]), (30, &[silent()])],
        40,
        answer(),
    );
    assert_eq!(record.stamps.first_event, Some(ms(5)));
    assert_eq!(record.time_to_first_event(), Defined::Value(ms(5)));
    assert_eq!(record.ttft(), Defined::Value(ms(20)));
    assert_eq!(record.stamps.first_token, Some(ms(20)));
    assert_eq!(record.stamps.last_token, Some(ms(20)));
    assert_eq!((record.events, record.bursts), (3, 1));
    assert_eq!(record.tail(), Defined::Value(ms(20)));
}

#[test]
fn a_read_without_events_moves_only_the_last_read() {
    let mut exchange = answered();
    exchange.on_read(ms(7), 3, &[]);
    assert_eq!(exchange.last_read(), Some(ms(7)));
    assert_eq!(
        (exchange.phase(), exchange.first_token()),
        (Phase::Prefill, None)
    );
    assert_eq!(exchange.response_bytes(), 3);
}

#[test]
fn an_early_event_keeps_the_stamp_of_the_read_that_made_it_whole() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 30, &[]);
    exchange.on_read(ms(50), 1, &[]);
    // The blank line came at 60 only, the event was whole at 10.
    let early = Event {
        early: true,
        ..exactly(1)
    };
    exchange.on_read(ms(10), 0, &[early]);
    assert_eq!(exchange.last_read(), Some(ms(50)));
    exchange.on_read(ms(60), 2, &[exactly(1)]);
    assert_eq!(exchange.last_read(), Some(ms(60)));
    exchange.on_end(ms(60), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(
        (record.stamps.first_token, record.stamps.first_event),
        (Some(ms(10)), Some(ms(10)))
    );
    assert_eq!(record.gaps.max(), Some(ms(50)));
}

#[test]
fn answer_text_may_follow_the_event_that_counted_its_tokens() {
    let reasoning = event(Tokens::Exactly(2), false);
    let shown_after = event(Tokens::None, true);
    let record = streamed(
        &[(10, &[reasoning]), (30, &[reasoning, shown_after])],
        40,
        answer(),
    );
    assert_eq!(record.ttft(), Defined::Value(ms(10)));
    assert_eq!(record.ttfa(), Defined::Value(ms(30)));
}

#[test]
fn text_before_any_token_is_no_answer() {
    // An echoed prompt.
    let record = streamed(
        &[(10, &[event(Tokens::None, true)]), (30, &[exactly(1)])],
        40,
        answer(),
    );
    assert_eq!(record.ttfa(), Defined::Value(ms(30)));
}

#[test]
fn nothing_but_reasoning_has_no_answer_token() {
    let reasoning: &[Event] = &[event(Tokens::Exactly(1), false)];
    let whole = streamed(&[(10, reasoning), (20, reasoning)], 30, answer());
    assert_eq!(
        (whole.ttft(), whole.ttfa()),
        (Defined::Value(ms(10)), Defined::NotApplicable)
    );
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, reasoning);
    exchange.on_end(ms(30), End::Truncated);
    let cut_off = exchange.finish(Some(cut()));
    assert_eq!(
        (cut_off.ttft(), cut_off.ttfa()),
        (Defined::Value(ms(10)), Defined::Censored(ms(30)))
    );
}

#[test]
fn latency_begins_at_the_last_write_before_the_first_token() {
    let mut exchange = answered();
    exchange.on_body_sent(ms(3));
    exchange.on_body_sent(ms(8));
    exchange.on_read(ms(20), 1, &[exactly(1)]);
    exchange.on_body_sent(ms(25));
    exchange.on_end(ms(40), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(record.upload(), Defined::Value(ms(8)));
    assert_eq!(record.ttft(), Defined::Value(ms(12)));
    assert_eq!(record.e2e(), Defined::Value(ms(32)));
}

#[test]
fn a_write_reported_late_counts_by_its_stamp() {
    let mut exchange = answered();
    exchange.on_read(ms(20), 1, &[exactly(1)]);
    exchange.on_body_sent(ms(15));
    exchange.on_end(ms(40), End::Clean);
    assert_eq!(
        exchange.finish(Some(answer())).ttft(),
        Defined::Value(ms(5))
    );
}

#[test]
fn a_token_read_before_the_last_write_has_waited_for_nothing() {
    let mut exchange = answered();
    exchange.on_body_sent(ms(30));
    exchange.on_read(ms(20), 1, &[exactly(1)]);
    exchange.on_end(ms(40), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(record.stamps.body_sent, Some(ms(20)));
    assert_eq!(record.ttft(), Defined::Value(ms(0)));
}

#[test]
fn an_engine_that_answers_before_the_request_is_whole_is_timed_from_its_head() {
    let mut exchange = Exchange::begin(identity(), ms(1), Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 0);
    exchange.on_head_sent(ms(2));
    exchange.on_head_sent(ms(3));
    exchange.on_response_head(ms(4), 200);
    exchange.on_read(ms(7), 1, &[exactly(1)]);
    exchange.on_end(ms(9), End::Clean);
    let record = exchange.finish(Some(answer()));
    assert_eq!(
        (record.ttft(), record.e2e()),
        (Defined::Value(ms(5)), Defined::Value(ms(7)))
    );
    assert_eq!(record.upload(), Defined::Censored(ms(8)));
}

#[test]
fn what_was_never_sent_has_waited_for_no_engine() {
    let mut exchange = Exchange::begin(identity(), ms(1), Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 0);
    exchange.on_end(ms(2001), End::ConnectFailed);
    let record = exchange.finish(None);
    assert_eq!(
        (record.ttft(), record.e2e()),
        (Defined::Censored(ms(0)), Defined::Censored(ms(0)))
    );
    assert_eq!(record.upload(), Defined::Censored(ms(2000)));
    assert_eq!(record.without_first_token(), Some(Outcome::ConnectFailed));
}

#[test]
fn informational_heads_are_no_answer_and_the_first_other_one_stands() {
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    for (at, status) in [(1, 103), (2, 200), (3, 500)] {
        exchange.on_response_head(ms(at), status);
    }
    assert_eq!(exchange.status(), Some(200));
    exchange.on_end(ms(4), End::Clean);
    assert_eq!(
        exchange.finish(Some(answer())).stamps.response_head,
        Some(ms(2))
    );
}

#[test]
fn after_the_end_nothing_is_heard() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 5, &[exactly(1)]);
    exchange.on_end(ms(20), End::Clean);
    exchange.on_end(ms(30), End::ClientGone);
    exchange.on_read(ms(40), 5, &[exactly(1)]);
    exchange.on_body_sent(ms(40));
    assert_eq!(
        (exchange.phase(), exchange.ended()),
        (Phase::Ended, Some(End::Clean))
    );
    let record = exchange.finish(Some(answer()));
    assert_eq!((record.outcome, record.stamps.end), (Outcome::Ok, ms(20)));
    assert_eq!((record.response_bytes, record.events), (5, 1));
}

#[test]
fn an_exchange_that_nobody_ended_was_let_go_by_us_at_its_latest_stamp() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 5, &[exactly(1)]);
    let record = exchange.finish(Some(cut()));
    assert_eq!(
        (record.outcome, record.stamps.end),
        (Outcome::Drained, ms(10))
    );
}

#[test]
fn a_client_that_hangs_up_on_the_mark_does_not_lengthen_the_stream() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 5, &[exactly(1), silent()]);
    exchange.on_end(ms(500), End::ClientGone);
    let record = exchange.finish(Some(answer()));
    assert_eq!(
        (record.outcome, record.e2e()),
        (Outcome::Ok, Defined::Value(ms(10)))
    );
}

#[test]
fn an_answer_to_a_request_that_was_not_whole_is_timed_from_the_head_though_no_token_was_seen() {
    let mut exchange = Exchange::begin(identity(), ms(1), Arc::new(InFlight::new()));
    exchange.on_head_sent(ms(2));
    exchange.on_response_head(ms(4), 200);
    exchange.on_end(ms(9), End::Clean);
    let body = Answer {
        streamed: false,
        ..answer()
    };
    assert_eq!(exchange.finish(Some(body)).e2e(), Defined::Value(ms(7)));
}
