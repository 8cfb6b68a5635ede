//! Rows and settings that the tests of this room write with.
#![allow(dead_code, reason = "each test binary uses its own part")]

use capture::{About, Count, Gap, Level, Limits, Moment, Row, Unit};
use measure::Nanos;

/// 2026-01-31 07:59:58 UTC.
pub(crate) const WALL_US: i64 = 1_769_846_398_000_000;

/// What a capture named `name` of `pod` says of itself.
pub(crate) fn about(pod: &str, name: &str) -> About {
    About {
        version: 1,
        capture: name.into(),
        pod: pod.into(),
        segment: 0,
        previous: String::new(),
        level: Level::Prefix,
        unit: Unit::Tokens,
        block: 16,
        tokenizer: None,
        key: "k1".into(),
        sample: 1.0,
        written_by: "0.1.0".into(),
    }
}

/// Limits that nothing reaches, on a disk however full.
pub(crate) fn limits() -> Limits {
    Limits {
        low_water_bytes: 0,
        ..Limits::default()
    }
}

/// Second `secs` of a test.
pub(crate) fn at(secs: u64) -> Moment {
    Moment {
        mono: Nanos::from_secs(secs),
        wall_us: WALL_US + i64::try_from(secs).unwrap() * 1_000_000,
    }
}

/// Exchange `number`, which arrived at `arrival_ns`. Each column has a value, which differs from row to row.
pub(crate) fn row(number: u64, arrival_ns: u64) -> Row {
    let small = u32::try_from(number % 7).unwrap();
    Row {
        exchange: number,
        role: "production".into(),
        wall_us: WALL_US + i64::try_from(arrival_ns / 1000).unwrap(),
        arrival_ns,
        endpoint: "/v1/chat/completions".into(),
        model: Some(format!("model-{}", number % 3)),
        stream: Some(number.is_multiple_of(2)),
        n: Some(1),
        messages: Some(small),
        max_tokens: Some(256 + small),
        temperature: Some(0.5 * f64::from(small)),
        top_k: Some(-1),
        prompt_bytes: Some(number % 4096 * 4),
        request_bytes: number % 4096 * 4 + 200,
        input_tokens: Some(number % 4096),
        input_source: "usage".into(),
        output_tokens: Some(number % 512),
        output_source: "usage".into(),
        output_tokens_min: number % 512,
        counts_exact: true,
        first_burst_tokens: 1,
        events: number % 512 + 2,
        bursts: number % 512,
        response_bytes: number % 512 * 180,
        outcome: "ok".into(),
        status: Some(200),
        streamed: true,
        flags: if small == 3 {
            vec!["client_limited".into()]
        } else {
            Vec::new()
        },
        anomalies: if small == 5 {
            vec![Count {
                kind: "late_usage".into(),
                count: 2,
            }]
        } else {
            Vec::new()
        },
        body_sent_ns: Some(150_000 + number),
        first_token_ns: Some(30_000_000 + number * 977 % 1_000_000),
        last_token_ns: Some(900_000_000 + number * 7919 % 1_000_000),
        end_ns: 901_000_000,
        gaps: vec![Gap {
            bucket: -160 + i32::try_from(small).unwrap(),
            bursts: 10,
            tokens: 10,
        }],
        gap_sum_ns: 100_000_000,
        gap_max_ns: Some(12_000_000),
        in_flight: small,
        in_flight_life: Some(f64::from(small) + 0.25),
        session: Some(number % 11),
        session_by: Some("prefix".into()),
        turn: Some(small + 1),
        tenant: Some(number % 5),
        prompt_units: Some(number % 4096),
        blocks: (0..number % 4)
            .map(|block| u64::wrapping_mul(block, 0x9E37_79B9_7F4A_7C15))
            .collect(),
        ..Row::default()
    }
}
