//! A whole number of things.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// A whole number within bounds, both included.
pub(crate) struct Count {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Scalar for Count {
    type Value = u64;

    fn parse(&self, text: &str) -> Result<u64, Complaint> {
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Complaint::value(
                "not a whole number",
                format!("write digits only, {}", self.bounds()),
            ));
        }
        match text.parse() {
            Ok(count) if (self.least..=self.most).contains(&count) => Ok(count),
            _ => Err(Complaint::range(&self.bounds())),
        }
    }

    fn show(&self, value: &u64) -> Value {
        Value::from(*value)
    }

    fn name(&self) -> &'static str {
        "number"
    }

    fn range(&self) -> String {
        self.bounds()
    }

    fn schema(&self) -> Value {
        json!({"type": "integer", "minimum": self.least, "maximum": self.most})
    }
}

impl Count {
    fn bounds(&self) -> String {
        format!("{} to {}", self.least, self.most)
    }
}
