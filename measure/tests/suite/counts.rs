//! How many tokens there were, and what limits the use of a record.

use crate::script::{
    answer, answer_of, answered, cut, exactly, identity, ms, stream_facts, streamed, text,
};
use measure::{Defined, End, Exchange, Flag, InFlight, Nanos};
use std::sync::Arc;
use wire::{Anomaly, Answer, CountSource, Event, RequestFacts};

#[test]
fn tpot_is_an_estimate_while_a_count_it_rests_on_is_a_lower_bound() {
    let estimated =
        |reads: &[(u64, &[Event])], answer| streamed(reads, 90, answer).flags.tpot_estimated;
    assert!(!estimated(
        &[(10, &[exactly(1)]), (20, &[exactly(1)])],
        answer()
    ));
    assert!(!estimated(
        &[(10, &[exactly(1)]), (20, &[text()])],
        answer_of(4)
    ));
    assert!(estimated(&[(10, &[exactly(1)]), (20, &[text()])], answer()));
    assert!(estimated(
        &[(10, &[text()]), (20, &[exactly(1)])],
        answer_of(4)
    ));
    assert!(
        !estimated(&[(10, &[text()])], answer()),
        "one burst has no tpot"
    );
}

#[test]
fn a_total_contradicts_what_was_counted_exactly_or_more_than_it() {
    let mismatch =
        |events: &[Event], answer| streamed(&[(10, events)], 90, answer).flags.usage_mismatch;
    assert!(!mismatch(&[exactly(3)], answer_of(3)));
    assert!(mismatch(&[exactly(3)], answer_of(4)));
    assert!(
        !mismatch(&[text(), text()], answer_of(4)),
        "each event carries one at least"
    );
    assert!(mismatch(&[text(), text()], answer_of(1)));
    let counted = Answer {
        output_source: CountSource::TokenIds,
        ..answer_of(9)
    };
    assert!(
        !mismatch(&[exactly(3)], counted),
        "a counted total is not a second opinion"
    );
}

#[test]
fn bursts_far_faster_than_a_decode_step_were_held_back_above_the_engine() {
    let flagged = |bursts: u64, gap: u64| {
        let mut exchange = answered();
        for burst in 1..=bursts {
            exchange.on_read(Nanos(burst * gap), 1, &[text()]);
        }
        exchange.on_end(ms(900), End::Clean);
        exchange.finish(Some(answer())).flags.buffered_upstream
    };
    assert!(flagged(8, 900_000));
    assert!(!flagged(7, 900_000));
    assert!(!flagged(8, 1_100_000));
}

#[test]
fn an_answer_that_came_at_once_was_held_back_above_the_engine() {
    let flagged = |reads: &[(u64, usize)], tokens| {
        let mut exchange = answered();
        for &(at, events) in reads {
            exchange.on_read(Nanos(at), 1, &vec![text(); events]);
        }
        exchange.on_end(ms(900), End::Clean);
        let events = reads.iter().map(|&(_, events)| events as u64).sum();
        let answer = Answer {
            token_events: events,
            ..answer_of(tokens)
        };
        let record = exchange.finish(Some(answer));
        assert_eq!(
            record.first_token_is_engines(),
            record.engine_gaps().is_some()
        );
        record.flags.buffered_upstream
    };
    let millisecond = 1_000_000;
    assert!(flagged(&[(millisecond, 4)], 4), "four events in one read");
    assert!(!flagged(&[(millisecond, 3)], 3));
    assert!(flagged(&[(millisecond, 2), (millisecond + 999_999, 2)], 4));
    assert!(!flagged(&[(millisecond, 2), (2 * millisecond, 2)], 4));
    assert!(flagged(&[(millisecond, 1)], 16), "a tool call of one event");
    assert!(!flagged(&[(millisecond, 1)], 15));
}

#[test]
fn a_body_without_its_end_is_truncated_and_one_without_a_head_is_not() {
    for (end, truncated) in [
        (End::Truncated, true),
        (End::Reset, true),
        (End::Clean, false),
        (End::ClientGone, false),
    ] {
        let mut exchange = answered();
        exchange.on_end(ms(9), end);
        assert_eq!(
            exchange.finish(Some(cut())).flags.truncated,
            truncated,
            "{end:?}"
        );
    }
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    exchange.on_end(ms(9), End::Reset);
    assert!(!exchange.finish(None).flags.truncated);
}

#[test]
fn flags_of_the_shell_reach_the_record() {
    let mut exchange = answered();
    for flag in [
        Flag::BufferedUpstream,
        Flag::SharedStamps,
        Flag::UsageInjected,
        Flag::Unobserved,
        Flag::Undelivered,
        Flag::ClientLimited,
    ] {
        exchange.flag(flag);
    }
    exchange.on_end(ms(9), End::Clean);
    let flags = exchange.finish(Some(answer())).flags;
    assert!(flags.shared_stamps && flags.usage_injected && flags.unobserved);
    assert!(flags.undelivered && flags.client_limited && flags.buffered_upstream);
}

#[test]
fn mean_tokens_a_burst_is_a_lower_bound_where_the_counts_are() {
    let mean =
        |events: &[Event]| streamed(&[(10, events), (20, events)], 30, answer()).tokens_per_burst();
    assert_eq!(mean(&[exactly(3)]), Defined::Value(3.0));
    assert_eq!(mean(&[exactly(3), text()]), Defined::Censored(4.0));
}

#[test]
fn tokens_are_handed_out_once_and_the_record_knows_what_is_left() {
    let mut exchange = answered();
    assert!(exchange.poll_progress().is_none());
    exchange.on_read(ms(10), 1, &[exactly(3), text()]);
    let progress = exchange.poll_progress().expect("four tokens were read");
    assert_eq!(
        (progress.exact, progress.at_least, progress.tokens()),
        (3, 1, 4)
    );
    assert_eq!(progress.request, &stream_facts());
    assert!(exchange.poll_progress().is_none());
    exchange.on_read(ms(20), 1, &[text()]);
    exchange.on_end(ms(30), End::Clean);
    let record = exchange.finish(Some(answer_of(11)));
    assert_eq!((record.counted_tokens, record.uncounted_tokens()), (4, 7));
}

#[test]
fn a_counter_never_goes_back_when_the_total_is_below_what_was_counted() {
    let mut exchange = answered();
    exchange.on_read(ms(10), 1, &[exactly(9)]);
    exchange.poll_progress();
    exchange.on_end(ms(30), End::Clean);
    let record = exchange.finish(Some(answer_of(5)));
    assert_eq!(record.uncounted_tokens(), 0);
    assert!(record.flags.usage_mismatch);
}

#[test]
fn the_input_length_is_what_the_engine_states_else_the_ids_of_the_request() {
    let with = |stated, ids| {
        let mut exchange = answered();
        exchange.on_request(
            RequestFacts {
                prompt_tokens: ids,
                ..stream_facts()
            },
            0,
        );
        exchange.on_end(ms(1), End::Clean);
        let record = exchange.finish(Some(Answer {
            input_tokens: stated,
            ..answer()
        }));
        (record.input_tokens, record.input_source)
    };
    assert_eq!(with(Some(7), Some(5)), (Some(7), CountSource::Usage));
    assert_eq!(with(None, Some(5)), (Some(5), CountSource::TokenIds));
    assert_eq!(with(None, None), (None, CountSource::None));
}

#[test]
fn a_burst_with_an_uncounted_event_has_no_exact_count() {
    let record = streamed(
        &[
            (10, &[exactly(2), text()]),
            (20, &[exactly(2)]),
            (50, &[exactly(2), text()]),
        ],
        60,
        answer(),
    );
    assert_eq!(record.first_burst_tokens, 3);
    assert!(record.flags.tpot_estimated && !record.counts_exact);
    assert_eq!(
        (record.gaps.bursts(), record.gaps.tokens()),
        (2, 2),
        "only the second burst is counted"
    );
    assert_eq!(record.gaps.token_sum(), ms(10));
}

#[test]
fn a_refusal_that_nobody_decoded_is_not_unobserved() {
    let mut exchange = Exchange::begin(identity(), ms(0), Arc::new(InFlight::new()));
    exchange.on_response_head(ms(1), 404);
    exchange.on_end(ms(2), End::Clean);
    assert!(!exchange.finish(None).flags.unobserved);
}

#[test]
fn tokens_that_only_the_answer_knows_of_count_too() {
    let body = Answer {
        streamed: false,
        output_tokens_min: 2,
        ..answer()
    };
    let record = streamed(&[(10, &[])], 10, body);
    assert_eq!(
        (record.output_tokens_min, record.uncounted_tokens()),
        (2, 2)
    );
}

#[test]
fn what_could_not_be_read_is_in_the_record_by_kind() {
    let anomalies = vec![(Anomaly::BadJson, 3), (Anomaly::Opaque, 1)];
    let odd = Answer {
        anomalies: anomalies.clone(),
        model: Some("m".to_owned()),
        ..answer()
    };
    let record = streamed(&[], 10, odd);
    assert_eq!(
        (record.anomalies, record.answer_model.as_deref()),
        (anomalies, Some("m"))
    );
    assert!(record.flags.opaque && !record.flags.oversize_event);
}
