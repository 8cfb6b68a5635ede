//! Rounding, sessions, and what can't go out.

use super::super::Tail;
use super::*;
use crate::testing::about;

const MS: u64 = 1_000_000;

fn row(at_ms: u64, session: Option<u64>) -> Row {
    Row {
        arrival_ns: at_ms * MS,
        wall_us: i64::try_from(at_ms * 1000).unwrap(),
        input_tokens: Some(40),
        output_tokens: Some(5),
        outcome: "ok".to_owned(),
        body_sent_ns: Some(0),
        end_ns: 100 * MS,
        session,
        ..Row::default()
    }
}

fn trace(rounding: Rounding, rows: Vec<Row>) -> Trace {
    let mut outgoing = Outgoing::new(Wish {
        blocks: None,
        rounding,
    });
    for row in rows {
        outgoing.take(&about(), row, None).unwrap();
    }
    outgoing.finish().unwrap()
}

#[test]
fn rows_come_in_any_order_and_go_out_by_arrival() {
    let trace = trace(
        Rounding::None,
        vec![row(1500, None), row(1000, None), row(1013, None)],
    );
    let at: Vec<u64> = trace.entries.iter().map(|entry| entry.at_ns / MS).collect();
    assert_eq!(at, [0, 13, 500]);
    assert_eq!(trace.start_us, 1_000_000);
}

#[test]
fn times_leave_on_a_grid_of_ten_milliseconds() {
    let trace = trace(
        Rounding::Times,
        vec![row(1000, None), row(1013, None), row(1016, None)],
    );
    let at: Vec<u64> = trace.entries.iter().map(|entry| entry.at_ns / MS).collect();
    assert_eq!(at, [0, 10, 20]);
    assert_eq!(trace.entries[0].input, Some(40));
}

#[test]
fn full_rounding_takes_the_date_and_the_exact_length() {
    let trace = trace(Rounding::Full, vec![row(1000, None)]);
    assert_eq!(trace.start_us, 0);
    assert_eq!(
        (trace.entries[0].input, trace.entries[0].output),
        (Some(47), Some(8))
    );
    let middles = [0, 1, 15, 16, 31, 131_071, 131_072, 9_999_999]
        .map(|tokens| length(Rounding::Full, tokens));
    assert_eq!(middles, [0, 8, 8, 23, 23, 98_303, 131_072, 131_072]);
}

#[test]
fn sessions_are_small_numbers_and_their_first_turn_waits_for_nothing() {
    let late = Row {
        turn: Some(7),
        think_ns: Some(30 * MS),
        ..row(2000, Some(u64::MAX))
    };
    let trace = trace(
        Rounding::None,
        vec![late, row(2500, Some(99)), row(3000, Some(u64::MAX))],
    );
    let said: Vec<_> = trace
        .entries
        .iter()
        .map(|entry| (entry.session, entry.turn, entry.think_ns))
        .collect();
    // The think time that no row says is what passed since the end of the turn before.
    let expected = [
        (Some(0), Some(1), None),
        (Some(1), Some(1), None),
        (Some(0), Some(2), Some(900 * MS)),
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_cannot_go_out_is_counted_by_reason() {
    let refused = Row {
        outcome: "rejected_limit".to_owned(),
        ..row(1, None)
    };
    let unknown = Row {
        input_tokens: None,
        ..row(2, None)
    };
    let cut = Row {
        output_tokens: None,
        output_tokens_min: 3,
        ..row(3, None)
    };
    let silent = Row {
        output_tokens: None,
        ..row(4, None)
    };
    let trace = trace(Rounding::None, vec![refused, unknown, cut, silent]);
    assert_eq!(
        (trace.rows, trace.entries.len(), trace.lower_bounds),
        (4, 1, 1)
    );
    assert_eq!(trace.entries[0].output, Some(3));
    assert_eq!(trace.left_out.values().sum::<u64>(), 3);
}

#[test]
fn hashes_under_two_keys_are_not_told_as_one() {
    let mut outgoing = Outgoing::new(Wish {
        blocks: None,
        rounding: Rounding::None,
    });
    outgoing.take(&about(), row(1, None), None).unwrap();
    let other = About {
        key: "k2".to_owned(),
        ..about()
    };
    let error = outgoing
        .take(&other, row(2, None), None)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the key of their hashes (k1 and k2)"),
        "{error}"
    );
}

#[test]
fn blocks_that_do_not_divide_the_formats_are_refused() {
    let wish = Wish {
        blocks: Some(BlockSize {
            tokens: 512,
            tail: Tail::Kept,
        }),
        rounding: Rounding::None,
    };
    let mut outgoing = Outgoing::new(wish);
    let hashed = Row {
        blocks: vec![7],
        prompt_units: Some(40),
        ..row(1, None)
    };
    outgoing
        .take(
            &About {
                block: 48,
                ..about()
            },
            hashed,
            None,
        )
        .unwrap();
    let error = outgoing.finish().unwrap_err().to_string();
    assert!(
        error.starts_with("blocks of 48 tokens can't be told as blocks of 512"),
        "{error}"
    );
}

#[test]
fn nothing_to_write_says_why() {
    let mut outgoing = Outgoing::new(Wish {
        blocks: None,
        rounding: Rounding::None,
    });
    outgoing
        .take(
            &about(),
            Row {
                input_tokens: None,
                ..row(1, None)
            },
            None,
        )
        .unwrap();
    let error = outgoing.finish().unwrap_err().to_string();
    assert_eq!(
        error,
        "nothing to write: of 1 rows, 1: prompt length in tokens not known"
    );
}
