//! A model's name, which becomes a label value.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::{Code, Complaint};

/// Longest name, bytes.
const BYTES_MAX: usize = 128;

/// Words that the label `model` already uses for something else.
const TAKEN: [&str; 2] = ["other", "overflow"];

/// A name as clients write it in `model`.
pub(crate) struct ModelName;

impl Scalar for ModelName {
    type Value = String;

    fn parse(&self, text: &str) -> Result<String, Complaint> {
        if text.len() > BYTES_MAX {
            return Err(Complaint::new(
                Code::Range,
                format!("a name of {} bytes", text.len()),
                format!("give the model a name of at most {BYTES_MAX} bytes in the engine"),
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(Complaint::value(
                "a name with control characters",
                "write the name as clients send it in \"model\"",
            ));
        }
        if TAKEN.contains(&text) {
            return Err(Complaint::value(
                "the label value for models that are not listed",
                "remove it, and give the model another name in the engine",
            ));
        }
        Ok(text.to_owned())
    }

    fn show(&self, value: &String) -> Value {
        Value::from(value.as_str())
    }

    fn name(&self) -> &'static str {
        "model name"
    }

    fn range(&self) -> String {
        format!("1 to {BYTES_MAX} bytes")
    }

    fn schema(&self) -> Value {
        json!({"type": "string", "minLength": 1, "maxLength": BYTES_MAX, "not": {"enum": TAKEN}})
    }
}
