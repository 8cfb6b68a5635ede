//! A short text that becomes a label value.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::{Code, Complaint};

/// Longest text, bytes.
const BYTES_MAX: usize = 128;

/// A text in the operator's words.
pub(crate) struct Label;

impl Scalar for Label {
    type Value = String;

    fn parse(&self, text: &str) -> Result<String, Complaint> {
        if text.len() > BYTES_MAX {
            return Err(Complaint::new(
                Code::Range,
                format!("a text of {} bytes", text.len()),
                format!("write at most {BYTES_MAX} bytes"),
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(Complaint::value(
                "a text with control characters",
                "write it in one line",
            ));
        }
        Ok(text.to_owned())
    }

    fn show(&self, value: &String) -> Value {
        Value::from(value.as_str())
    }

    fn name(&self) -> &'static str {
        "text"
    }

    fn range(&self) -> String {
        format!("1 to {BYTES_MAX} bytes")
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "minLength": 1, "maxLength": BYTES_MAX})
    }
}
