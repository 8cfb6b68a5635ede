//! Every quantity of an answer, against numbers worked out elsewhere.

use crate::script::{answer, cut, event, identity, ms, stream_facts};
use crate::vector::{self, Vector, list, number, whole};
use measure::{End, Exchange, GapHistogram, InFlight, Nanos, Record};
use serde_json::Value;
use std::sync::Arc;
use wire::{Answer, CountSource, Tokens};

/// Plays a case of the vector.
fn play(case: &Value) -> Record {
    let sent = ms(whole(&case["body_sent"]));
    let mut exchange = Exchange::begin(identity(), sent, Arc::new(InFlight::new()));
    exchange.on_request(stream_facts(), 0);
    exchange.on_body_sent(sent);
    exchange.on_response_head(sent, 200);
    for event_of in list(&case["events"]) {
        let tokens = match u32::try_from(whole(&event_of["tokens"])).expect("it is small") {
            0 => Tokens::None,
            count => Tokens::Exactly(count),
        };
        let shows = vector::text(&event_of["kind"]);
        let answers = matches!(shows, "content" | "tool_call");
        exchange.on_read(ms(whole(&event_of["t"])), 1, &[event(tokens, answers)]);
    }
    let (end, base) = match vector::text(&case["outcome"]) {
        "complete" => (End::Clean, answer()),
        "client_abort" => (End::ClientGone, cut()),
        "timeout" => (End::TimeoutTtft, cut()),
        other => panic!("{other} is no end that the vector had"),
    };
    exchange.on_end(ms(whole(&case["end"])), end);
    let usage = case["usage_output_tokens"].as_u64();
    let output_source = usage.map_or(CountSource::None, |_| CountSource::Usage);
    exchange.finish(Some(Answer {
        output_tokens: usage,
        output_source,
        ..base
    }))
}

fn millis(quantity: Option<Nanos>) -> Option<f64> {
    quantity.map(|nanos| nanos.as_secs_f64() * 1e3)
}

/// How many values of each bucket there are, by the histogram's own buckets.
fn tokens_by_bucket(gaps: &GapHistogram) -> Vec<(i32, u64)> {
    gaps.iter()
        .filter(|bucket| bucket.tokens > 0)
        .map(|bucket| (bucket.index, bucket.tokens))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "the vector's counts are small")]
#[test]
fn every_quantity_is_that_of_the_vector() {
    let vector = Vector::read("17_stream_metrics");
    for case in vector.cases() {
        let record = play(case);
        let expected = &case["expected"];
        let check = |field, got| vector.check(expected, field, got);
        let since_sent = |stamp: Nanos| stamp.since(record.stamps.body_sent.expect("it was sent"));
        check("ttft", millis(record.ttft().value()));
        check("ttfa", millis(record.ttfa().value()));
        check(
            "max_stall",
            millis(
                record
                    .max_stall()
                    .observed()
                    .filter(|stall| *stall > Nanos::ZERO),
            ),
        );
        check(
            "tpot",
            record
                .tpot()
                .observed()
                .filter(|tpot| *tpot > 0.0)
                .map(|tpot| tpot * 1e3),
        );
        check("e2e", millis(record.e2e().value()));
        check("observed", millis(record.e2e().observed()));
        check("post_last_token_tail", millis(record.tail().value()));
        check("tokens_per_burst", record.tokens_per_burst().value());
        check(
            "last_token",
            millis(record.stamps.last_token.map(since_sent)),
        );
        check("n_tokens_seen", Some(record.output_tokens_min as f64));
        let total = record.output_tokens_seen();
        check("n_tokens", (total > 0).then_some(total as f64));
        assert_eq!(
            record.flags.usage_mismatch, expected["usage_mismatch"],
            "{case}"
        );
        let mut gaps = GapHistogram::default();
        for gap in list(&expected["gaps"]) {
            gaps.record(ms(whole(&gap["gap"])), Some(whole(&gap["tokens"])));
        }
        assert_eq!(record.gaps, gaps, "{case}");
        let mut spread = GapHistogram::default();
        for share in list(&expected["itl_spread"]) {
            let nanos = std::time::Duration::from_secs_f64(number(share) / 1e3).as_nanos();
            spread.record(Nanos(u64::try_from(nanos).expect("it is short")), Some(1));
        }
        assert_eq!(
            tokens_by_bucket(&record.gaps),
            tokens_by_bucket(&spread),
            "{case}"
        );
    }
}
