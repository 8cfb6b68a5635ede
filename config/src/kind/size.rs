//! A number of bytes: `65536`, `64KiB`, `512MiB`, `1GiB`.
//!
//! Units are powers of 1024 and say so; `KB` and `K`, which mean either thousand, are refused.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// Units, largest first, in bytes.
const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];
const PATTERN: &str = "^[0-9]+(B|KiB|MiB|GiB)?$";

/// Bytes within bounds, both included.
pub(crate) struct Size {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Scalar for Size {
    type Value = u64;

    fn parse(&self, text: &str) -> Result<u64, Complaint> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (count, unit) = text.split_at(digits);
        let unit = unit.trim_start();
        let factor = match UNITS.iter().find(|(name, _)| *name == unit) {
            _ if count.is_empty() => return Err(not_a_size()),
            Some((_, factor)) => *factor,
            None if unit.is_empty() => 1,
            None => return Err(not_a_size()),
        };
        match count
            .parse::<u64>()
            .ok()
            .and_then(|count| count.checked_mul(factor))
        {
            Some(bytes) if (self.least..=self.most).contains(&bytes) => Ok(bytes),
            _ => Err(Complaint::range(&self.bounds())),
        }
    }

    fn show(&self, value: &u64) -> Value {
        match spell(*value).as_str() {
            text if text.ends_with("iB") => Value::from(text),
            _ => Value::from(*value),
        }
    }

    fn name(&self) -> &'static str {
        "size"
    }

    fn range(&self) -> String {
        self.bounds()
    }

    fn schema(&self) -> Value {
        json!({"anyOf": [
            {"type": "integer", "minimum": self.least, "maximum": self.most},
            {"type": "string", "pattern": PATTERN},
        ]})
    }
}

impl Size {
    fn bounds(&self) -> String {
        format!("{} to {}", spell(self.least), spell(self.most))
    }
}

fn not_a_size() -> Complaint {
    Complaint::value(
        "not a size",
        "write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB",
    )
}

/// `bytes` in the largest unit that divides it.
fn spell(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .find(|(name, factor)| *name != "B" && bytes > 0 && bytes.is_multiple_of(*factor));
    match unit {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => bytes.to_string(),
    }
}
