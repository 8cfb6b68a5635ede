//! Our figures beside the engine's own.

use crate::script::{answer_of, answered, event, exactly, ms, silent, streamed};
use measure::{Beside, End, Flag, Record};
use wire::{Answer, EngineTimes, Tokens};

const NONE: EngineTimes = EngineTimes {
    queue: None,
    prefill: None,
    ttft: None,
    decode: None,
    e2e: None,
};

/// Four tokens at 100, 120, 140 and 160 ms, ended at 170 ms: TTFT 100 ms, TPOT 20 ms, e2e 170 ms.
fn record(times: EngineTimes) -> Record {
    let reads: Vec<_> = (0..4).map(|n| (100 + 20 * n, [exactly(1)])).collect();
    let reads: Vec<_> = reads
        .iter()
        .map(|(at, events)| (*at, &events[..]))
        .collect();
    streamed(&reads, 170, stating(times))
}

fn stating(engine_times: EngineTimes) -> Answer {
    Answer {
        engine_times,
        ..answer_of(4)
    }
}

/// The differences in microseconds, in the order of [`Beside::ALL`].
#[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
fn differences(record: &Record) -> [Option<i64>; 4] {
    Beside::ALL.map(|quantity| {
        let seconds = record.engine_difference(quantity)?;
        Some((seconds * 1e6).round() as i64)
    })
}

fn millis(count: u64) -> Option<u64> {
    Some(ms(count).0)
}

#[test]
fn without_a_statement_there_is_no_difference() {
    assert_eq!(differences(&record(NONE)), [None; 4]);
}

#[test]
fn each_engine_states_other_spans() {
    let vllm = EngineTimes {
        queue: millis(30),
        prefill: millis(65),
        decode: millis(57),
        ..NONE
    };
    let llamacpp = EngineTimes {
        prefill: millis(65),
        decode: millis(57),
        ..NONE
    };
    let sglang = EngineTimes {
        ttft: millis(98),
        e2e: millis(165),
        ..NONE
    };
    let tgi = EngineTimes {
        queue: millis(1),
        e2e: millis(165),
        ..NONE
    };
    for (times, expected) in [
        // 95 ms to the first token with its queue; 57 ms over the three tokens after it; 152 ms in all.
        (vllm, [Some(5000), None, Some(1000), Some(18_000)]),
        (llamacpp, [None, Some(35_000), Some(1000), None]),
        (sglang, [Some(2000), None, None, Some(5000)]),
        (tgi, [None, None, None, Some(5000)]),
    ] {
        assert_eq!(differences(&record(times)), expected, "{times:?}");
    }
}

#[test]
fn a_difference_may_lie_below_zero() {
    let times = EngineTimes {
        ttft: millis(103),
        decode: millis(63),
        e2e: millis(171),
        ..NONE
    };
    assert_eq!(
        differences(&record(times)),
        [Some(-3000), None, Some(-1000), Some(-1000)]
    );
}

#[test]
fn a_lone_token_has_no_tpot_and_a_silent_answer_no_first() {
    let times = EngineTimes {
        ttft: millis(99),
        decode: Some(1000),
        ..NONE
    };
    let lone = Answer {
        output_tokens: Some(1),
        ..stating(times)
    };
    let record = streamed(&[(100, &[exactly(1)])], 170, lone);
    assert_eq!(differences(&record), [Some(1000), None, None, Some(70_999)]);
    let record = streamed(&[(100, &[silent()])], 170, stating(times));
    assert_eq!(record.engine_difference(Beside::Ttft), None);
}

#[test]
fn what_failed_or_went_at_the_clients_pace_is_not_compared() {
    let times = EngineTimes {
        ttft: millis(98),
        decode: millis(57),
        e2e: millis(165),
        ..NONE
    };
    let ended = |flag: Option<Flag>, end| {
        let mut exchange = answered();
        for at in [100, 120] {
            exchange.on_read(ms(at), 10, &[event(Tokens::Exactly(1), true)]);
        }
        if let Some(flag) = flag {
            exchange.flag(flag);
        }
        exchange.on_end(ms(170), end);
        exchange.finish(Some(stating(times)))
    };
    let slow = ended(Some(Flag::ClientLimited), End::Clean);
    assert_eq!(differences(&slow), [Some(2000), None, None, None]);
    let cut = ended(None, End::Truncated);
    assert_eq!(differences(&cut), [Some(2000), None, None, None]);
    let whole = ended(None, End::Clean);
    assert!(whole.engine_difference(Beside::E2e).is_some());
}
