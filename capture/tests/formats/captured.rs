//! Rows as a capture has them.

use capture::formats::Text;
use capture::{About, Level, Row, Unit};
use serde_json::json;

pub(crate) fn about(level: Level) -> About {
    About {
        version: 1,
        capture: "c".to_owned(),
        pod: "a".to_owned(),
        segment: 0,
        previous: String::new(),
        level,
        unit: Unit::Tokens,
        block: 16,
        tokenizer: None,
        key: "k".to_owned(),
        sample: 1.0,
        written_by: String::new(),
    }
}

/// An exchange of 1300 and 87 tokens, of half a second.
pub(crate) fn row(exchange: u64, at_ns: u64) -> Row {
    Row {
        exchange,
        role: "production".to_owned(),
        wall_us: 1_780_000_000_000_000 + i64::try_from(at_ns / 1000).unwrap(),
        arrival_ns: 5_000_000_000 + at_ns,
        endpoint: "/v1/chat/completions".to_owned(),
        model: Some("m".to_owned()),
        input_tokens: Some(1300),
        output_tokens: Some(87),
        prompt_units: Some(1300),
        outcome: "ok".to_owned(),
        body_sent_ns: Some(0),
        first_token_ns: Some(100_000_000),
        end_ns: 500_000_000,
        ..Row::default()
    }
}

/// What was said in it.
pub(crate) fn prompt(row: &Row) -> Text {
    let request = json!({
        "model": "m",
        "stream": true,
        "max_tokens": 87,
        "messages": [
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": format!("question {}", row.exchange) },
        ],
    });
    Text {
        request: request.as_object().unwrap().clone(),
        answer: Some("answer".to_owned()),
    }
}
