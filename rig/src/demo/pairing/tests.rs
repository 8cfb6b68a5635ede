//! Records made by the real state machine, truths made by hand.

use super::*;
use measure::{End, Exchange, Identity, InFlight, Role};
use sim::{Emitted, Ended, Kind};
use std::sync::Arc;
use wire::{Answer, AnswerContext, Decoder, Endpoint, RequestFacts, TransportEnd};

const MS: u64 = 1_000_000;

/// A streamed request with tokens at these milliseconds, sent at 10 ms.
fn record(number: Option<i64>, tokens_at_ms: &[u64], end: End) -> Record {
    let identity = Identity {
        id: 1,
        role: Role::Production,
        endpoint: Endpoint::ChatCompletions,
    };
    let mut exchange = Exchange::begin(identity, Nanos(5 * MS), Arc::new(InFlight::new()));
    let facts = RequestFacts {
        whole: true,
        stream: Some(true),
        seed: number,
        ..RequestFacts::default()
    };
    exchange.on_request(facts, 100);
    exchange.on_body_sent(Nanos(10 * MS));
    exchange.on_response_head(Nanos(11 * MS), 200);
    let (mut decoder, mut events) = (decoder(), Vec::new());
    for at in tokens_at_ms {
        let event = br#"data: {"choices":[{"index":0,"delta":{"content":"x"},"token_ids":[1]}]}"#;
        decoder.push(&[event.as_slice(), b"\n\n"].concat(), &mut events);
        exchange.on_read(Nanos(at * MS), 100, &events);
        events.clear();
    }
    let answer = ended(decoder, end);
    exchange.on_end(Nanos(tokens_at_ms.last().unwrap_or(&11) * MS + MS), end);
    exchange.finish(Some(answer))
}

fn decoder() -> Decoder {
    Decoder::new(AnswerContext {
        content_type: Some("text/event-stream"),
        stream_requested: Some(true),
        ..AnswerContext::new(Endpoint::ChatCompletions, 200)
    })
}

fn ended(mut decoder: Decoder, end: End) -> Answer {
    if end == End::Clean {
        decoder.push(b"data: [DONE]\n\n", &mut Vec::new());
        decoder.finish(TransportEnd::Clean, &mut Vec::new())
    } else {
        decoder.finish(TransportEnd::Cut, &mut Vec::new())
    }
}

/// The same from the engine's side: read at 10.1 ms.
fn truth(id: &str, tokens_at_ms: &[u64]) -> sim::Record {
    let emissions = tokens_at_ms.iter().map(|at| Emitted {
        at_ns: at * MS - MS / 4,
        choice: 0,
        kind: Kind::Answer,
        tokens: 1,
    });
    sim::Record {
        id: id.to_owned(),
        endpoint: Endpoint::ChatCompletions,
        connection: 0,
        faults: String::new(),
        head_read_ns: 10 * MS,
        request_read_ns: Some(10 * MS + MS / 10),
        prompt_tokens: Some(9),
        cached_tokens: None,
        status: Some(200),
        head_written_ns: Some(11 * MS),
        emissions: emissions.collect(),
        emissions_dropped: 0,
        usage: None,
        finish: Vec::new(),
        times: Vec::new(),
        ended: Ended::Completed,
        ended_ns: 100 * MS,
    }
}

fn pairing() -> Pairing {
    Pairing::new(ShapeEdges::default())
}

#[test]
fn halves_find_each_other_whichever_comes_first() {
    let mut pairing = pairing();
    pairing.record(record(Some(1), &[30, 34, 44], End::Clean));
    pairing.truth(&truth("2", &[30]));
    assert_eq!((pairing.counts.paired, pairing.unpaired()), (0, 2));
    pairing.truth(&truth("1", &[30, 34, 44]));
    pairing.record(record(Some(2), &[30], End::Clean));
    assert_eq!((pairing.counts.paired, pairing.unpaired()), (2, 0));
    assert_eq!(pairing.outcomes, BTreeMap::from([("ok", 2)]));

    let both = |reported, truth| {
        Some(Both {
            reported: Nanos(reported),
            truth: Nanos(truth),
        })
    };
    let first = pairing.pairs[0];
    // From 10 ms to 30 ms, and from 10.1 ms to 29.75 ms.
    assert_eq!(first.ttft, both(20 * MS, 19_650_000));
    assert_eq!(first.tpot, both(7 * MS, 7 * MS));
    assert_eq!(first.longest_gap, both(10 * MS, 10 * MS));
    // One token has neither.
    assert_eq!(
        (pairing.pairs[1].tpot, pairing.pairs[1].longest_gap),
        (None, None)
    );
}

#[test]
fn gaps_are_pooled_from_whole_answers_only() {
    let mut pairing = pairing();
    pairing.record(record(Some(1), &[30, 34, 44], End::Clean));
    pairing.truth(&truth("1", &[30, 34, 44]));
    assert_eq!(
        (pairing.gaps_reported.bursts(), pairing.gaps_true.len()),
        (2, 2)
    );
    pairing.record(record(Some(2), &[30, 34], End::ClientGone));
    pairing.truth(&truth("2", &[30, 34, 44]));
    assert_eq!(
        (pairing.gaps_reported.bursts(), pairing.gaps_true.len()),
        (2, 2)
    );
    assert_eq!(
        pairing.outcomes,
        BTreeMap::from([("ok", 1), ("client_abort_decode", 1)])
    );
    // Its first token is one all the same.
    assert!(pairing.pairs[1].ttft.is_some() && pairing.pairs[1].tpot.is_none());
}

#[test]
fn what_carries_no_number_is_counted_as_lost() {
    let mut pairing = pairing();
    pairing.record(record(None, &[30], End::Clean));
    pairing.truth(&truth("somebody else's", &[30]));
    assert_eq!(pairing.counts.lost, 2);
    assert_eq!(
        (
            pairing.counts.records,
            pairing.counts.truths,
            pairing.unpaired()
        ),
        (1, 1, 2)
    );
}

#[test]
fn beyond_the_limits_only_counts_go_on() {
    let mut pairing = pairing();
    let truth = truth("0", &[30]);
    for number in 0..WAITING_MOST + 3 {
        pairing.truth(&sim::Record {
            id: number.to_string(),
            ..truth.clone()
        });
    }
    assert_eq!(
        (pairing.counts.lost, pairing.truths_waiting.len()),
        (3, WAITING_MOST)
    );

    let reported = || {
        Reported::of(
            record(Some(1), &[30, 34], End::Clean),
            &ShapeEdges::default(),
        )
    };
    let known = Truth::of(&truth).expect("it has a number");
    let pair = Pair::of(&reported(), &known);
    pairing.pairs = vec![pair; KEPT];
    pairing.pair(&reported(), &known);
    assert_eq!(
        (
            pairing.pairs.len(),
            pairing.counts.not_kept,
            pairing.counts.paired
        ),
        (KEPT, 1, 1)
    );
}
