//! What holds for every stream, however it comes and ends.

use crate::script::{answer, answer_of, answered, cut, event, identity, ms};
use measure::{End, Exchange, InFlight, Nanos, Outcome, Record};
use proptest::prelude::*;
use proptest::sample::Index;
use std::sync::Arc;
use wire::{Answer, Event, RequestFacts, Tokens};

/// One read: milliseconds since the one before, and its events.
type Read = (u64, Vec<Event>);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let tokens = prop_oneof![
        Just(Tokens::None),
        Just(Tokens::AtLeastOne),
        (1..6_u32).prop_map(Tokens::Exactly),
        (1..6_u32).prop_map(Tokens::Exactly)
    ];
    prop::collection::vec(
        (tokens, any::<bool>()).prop_map(|(tokens, answer)| event(tokens, answer)),
        0..4,
    )
}

fn reads() -> impl Strategy<Value = Vec<Read>> {
    prop::collection::vec((prop_oneof![Just(0), 1..50_u64], events()), 0..20)
}

fn answers() -> impl Strategy<Value = Option<Answer>> {
    prop_oneof![
        Just(None),
        Just(Some(answer())),
        Just(Some(cut())),
        (0..60_u64).prop_map(|total| Some(answer_of(total)))
    ]
}

fn ends() -> impl Strategy<Value = End> {
    any::<Index>().prop_map(|index| *index.get(&End::ALL))
}

/// Plays reads of ten bytes, each event in a call of its own if `split` says so.
fn play(reads: &[Read], split: &[bool], end: End, answer: Option<Answer>) -> Record {
    let mut exchange = answered();
    let mut at = ms(1);
    for (index, (wait, events)) in reads.iter().enumerate() {
        at = at + ms(*wait);
        if split.get(index).copied().unwrap_or(false) {
            exchange.on_read(at, 4, &[]);
            for event in events {
                exchange.on_read(at, 0, &[*event]);
            }
            exchange.on_read(at, 6, &[]);
        } else {
            exchange.on_read(at, 10, events);
        }
    }
    exchange.on_end(at + ms(1), end);
    exchange.finish(answer)
}

proptest! {
    #[test]
    fn quantities_agree_with_each_other(reads in reads(), end in ends(), answer in answers()) {
        let record = play(&reads, &[], end, answer);
        let e2e = record.e2e().observed().expect("every exchange has a duration");
        if let Some(ttft) = record.ttft().observed() {
            prop_assert!(ttft <= e2e);
            prop_assert!(record.ttfa().observed().is_none_or(|ttfa| ttft <= ttfa && ttfa <= e2e));
        }
        prop_assert!(record.max_stall().observed().is_none_or(|stall| stall <= e2e));
        prop_assert!(record.tail().value().is_none_or(|tail| tail <= e2e));
        prop_assert_eq!(record.without_first_token().is_some(), record.ttft().is_censored());
        if let Some(tpot) = record.tpot().value() {
            let divisor = (record.output_tokens_seen() - record.first_burst_tokens) as f64;
            let span = record.gaps.sum().as_secs_f64();
            prop_assert!((tpot * divisor - span).abs() <= 1e-9 * span, "a pace over its tokens is the span");
        }
    }

    #[test]
    fn gaps_fill_the_time_from_first_to_last_token(reads in reads(), end in ends(), answer in answers()) {
        let record = play(&reads, &[], end, answer);
        let span = record.stamps.last_token.zip(record.stamps.first_token).map(|(last, first)| last.since(first));
        prop_assert_eq!(record.gaps.sum(), span.unwrap_or_default());
        prop_assert_eq!(record.gaps.bursts(), record.bursts.saturating_sub(1));
        prop_assert!(record.gaps.max().is_none_or(|max| max <= record.gaps.sum() && max > Nanos::ZERO));
        if record.counts_exact {
            prop_assert_eq!(record.gaps.token_sum(), record.gaps.sum());
            prop_assert_eq!(record.gaps.tokens() + record.first_burst_tokens, record.output_tokens_min);
        }
    }

    #[test]
    fn events_of_one_stamp_are_one_burst_in_however_many_calls_they_come(
        reads in reads(),
        split in prop::collection::vec(any::<bool>(), 20),
        end in ends(),
        answer in answers(),
    ) {
        prop_assert_eq!(play(&reads, &split, end, answer.clone()), play(&reads, &[], end, answer));
    }

    #[test]
    fn where_the_reads_were_cut_changes_the_stamps_only(
        reads in reads(),
        waits in prop::collection::vec(0..9_u64, 20),
        end in ends(),
        answer in answers(),
    ) {
        let other: Vec<Read> =
            reads.iter().zip(waits).map(|((_, events), wait)| (wait, events.clone())).collect();
        let (one, other) = (play(&reads, &[], end, answer.clone()), play(&other, &[], end, answer));
        let counts = |record: &Record| {
            (record.events, record.output_tokens_min, record.counts_exact, record.response_bytes, record.output_tokens)
        };
        prop_assert_eq!(counts(&one), counts(&other));
        prop_assert_eq!((one.outcome, one.streamed, one.status), (other.outcome, other.streamed, other.status));
        prop_assert_eq!(one.ttft().is_censored(), other.ttft().is_censored());
    }

    #[test]
    fn counters_end_at_the_tokens_of_the_record(
        reads in reads(),
        polls in prop::collection::vec(any::<bool>(), 20),
        answer in answers(),
    ) {
        let mut exchange = answered();
        let (mut counter, mut at) = (0, ms(1));
        for ((wait, events), poll) in reads.iter().zip(polls) {
            at = at + ms(*wait);
            exchange.on_read(at, 10, events);
            if poll {
                counter += exchange.poll_progress().map_or(0, |progress| progress.tokens());
                prop_assert_eq!(counter, exchange.tokens());
            }
        }
        exchange.on_end(at, End::Clean);
        let record = exchange.finish(answer);
        prop_assert_eq!(record.counted_tokens, counter);
        prop_assert_eq!(counter + record.uncounted_tokens(), record.output_tokens_seen().max(counter));
    }
}

// Any order

#[derive(Debug, Clone)]
enum Input {
    Request(Option<bool>),
    HeadSent(u64),
    BodySent(u64),
    Head(u64, u16),
    Read(u64, Vec<Event>),
    Poll,
    End(u64, End),
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let at = 0..100_u64;
    let status = prop_oneof![Just(100_u16), Just(200), Just(404), Just(429), Just(500)];
    let input = prop_oneof![
        prop::option::of(any::<bool>()).prop_map(Input::Request),
        at.clone().prop_map(Input::HeadSent),
        at.clone().prop_map(Input::BodySent),
        (at.clone(), status).prop_map(|(at, status)| Input::Head(at, status)),
        (at.clone(), events()).prop_map(|(at, events)| Input::Read(at, events)),
        (at.clone(), events()).prop_map(|(at, events)| Input::Read(at, events)),
        Just(Input::Poll),
        (at, ends()).prop_map(|(at, end)| Input::End(at, end)),
    ];
    prop::collection::vec(input, 0..25)
}

fn tell(exchange: &mut Exchange, input: Input) {
    match input {
        Input::Request(stream) => exchange.on_request(
            RequestFacts {
                stream,
                ..RequestFacts::default()
            },
            1,
        ),
        Input::HeadSent(at) => exchange.on_head_sent(ms(at)),
        Input::BodySent(at) => exchange.on_body_sent(ms(at)),
        Input::Head(at, status) => exchange.on_response_head(ms(at), status),
        Input::Read(at, events) => exchange.on_read(ms(at), 1, &events),
        Input::Poll => drop(exchange.poll_progress().map(|progress| progress.tokens())),
        Input::End(at, end) => exchange.on_end(ms(at), end),
    }
}

proptest! {
    #[test]
    fn any_inputs_in_any_order_make_one_sound_record(inputs in inputs(), answer in answers()) {
        let in_flight = Arc::new(InFlight::new());
        let mut exchange = Exchange::begin(identity(), ms(20), Arc::clone(&in_flight));
        let first_end = inputs.iter().find_map(|input| match input {
            Input::End(_, end) => Some(*end),
            _ => None,
        });
        for input in inputs {
            tell(&mut exchange, input);
        }
        prop_assert_eq!(exchange.ended(), first_end, "the first end stands");
        let record = exchange.finish(answer);
        prop_assert_eq!((in_flight.prefill(), in_flight.decode()), (0, 0));
        let stamps = record.stamps;
        let all = [
            stamps.head_sent,
            stamps.body_sent,
            stamps.response_head,
            stamps.first_event,
            stamps.first_token,
            stamps.first_answer,
            stamps.last_token,
        ];
        for stamp in all.into_iter().flatten() {
            prop_assert!(stamps.arrival <= stamp && stamp <= stamps.end, "{stamps:?}");
        }
        prop_assert!(stamps.first_token <= stamps.last_token);
        prop_assert!(stamps.first_token.is_none() || stamps.body_sent <= stamps.first_token, "{stamps:?}");
        prop_assert_eq!(record.bursts == 0, stamps.first_token.is_none());
        prop_assert!(Outcome::ALL.contains(&record.outcome));
    }
}
