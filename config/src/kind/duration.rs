//! A duration in words: `2s`, `500ms`, `1m30s`.
//!
//! Whole numbers with the units `h`, `m`, `s`, `ms`, `us`, each at most once, largest first. A bare number is refused:
//! whether it means seconds or milliseconds is what people get wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// Units, largest first, in microseconds.
const UNITS: [(&str, u64); 5] = [
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];
const PATTERN: &str = "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?$";

/// A duration within bounds, both included.
pub(crate) struct Time {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

/// A duration within bounds, or `off`.
pub(crate) struct TimeOrOff(pub(crate) Time);

/// Why a text says no duration.
#[derive(Debug, PartialEq)]
enum Unreadable {
    NoUnit,
    NotWords,
    TooLong,
}

// ----------------------------------------------------------------------------------------------------------- Time

impl Scalar for Time {
    type Value = Duration;

    fn parse(&self, text: &str) -> Result<Duration, Complaint> {
        match read(text) {
            Ok(duration) if (self.least..=self.most).contains(&duration) => Ok(duration),
            Ok(_) | Err(Unreadable::TooLong) => Err(Complaint::range(&self.bounds())),
            Err(Unreadable::NoUnit) => Err(Complaint::value(
                "a duration without a unit",
                format!("write {text}s or {text}ms"),
            )),
            Err(Unreadable::NotWords) => Err(Complaint::value(
                "not a duration",
                "write whole numbers with h, m, s, ms or us, largest first, for example 2s, 500ms or 1m30s",
            )),
        }
    }

    fn show(&self, value: &Duration) -> Value {
        Value::from(spell(*value))
    }

    fn name(&self) -> &'static str {
        "duration"
    }

    fn range(&self) -> String {
        self.bounds()
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "pattern": PATTERN, "minLength": 2})
    }
}

impl Time {
    fn bounds(&self) -> String {
        format!("{} to {}", spell(self.least), spell(self.most))
    }
}

// ------------------------------------------------------------------------------------------------------ TimeOrOff

impl Scalar for TimeOrOff {
    type Value = Option<Duration>;

    /// `false` is what a YAML 1.1 tool, as many templates use, makes of a bare `off`.
    fn parse(&self, text: &str) -> Result<Option<Duration>, Complaint> {
        match text {
            "off" | "none" | "false" => Ok(None),
            _ => self.0.parse(text).map(Some).map_err(|complaint| Complaint {
                fix: format!("{}, or off", complaint.fix),
                ..complaint
            }),
        }
    }

    fn show(&self, value: &Option<Duration>) -> Value {
        Value::from(value.map_or_else(|| "off".to_owned(), spell))
    }

    fn name(&self) -> &'static str {
        "duration or off"
    }

    fn range(&self) -> String {
        format!("{}, or `off`", self.0.bounds())
    }

    fn schema(&self) -> Value {
        json!({"anyOf": [Scalar::schema(&self.0), {"enum": ["off", "none", false]}]})
    }
}

// ---------------------------------------------------------------------------------------------------------- words

/// `duration` in the words that [`read`] takes. What is below a microsecond is dropped; no key reads it.
pub(crate) fn spell(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let mut words = String::new();
    for (unit, micros) in UNITS {
        let count = rest / micros;
        rest %= micros;
        if count > 0 {
            words.push_str(&format!("{count}{unit}"));
        }
    }
    if words.is_empty() {
        "0s".to_owned()
    } else {
        words
    }
}

fn read(text: &str) -> Result<Duration, Unreadable> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Unreadable::NoUnit);
    }
    let mut total = 0_u64;
    let mut rest = text;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .ok_or(Unreadable::NotWords)?;
        let (count, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, after) = tail.split_at(unit_end);
        let (_, micros) = units
            .find(|(name, _)| *name == unit)
            .ok_or(Unreadable::NotWords)?;
        if count.is_empty() {
            return Err(Unreadable::NotWords);
        }
        let count: u64 = count.parse().map_err(|_| Unreadable::TooLong)?;
        let part = count.checked_mul(*micros).ok_or(Unreadable::TooLong)?;
        total = total.checked_add(part).ok_or(Unreadable::TooLong)?;
        rest = after;
    }
    if text.is_empty() {
        return Err(Unreadable::NotWords);
    }
    Ok(Duration::from_micros(total))
}
