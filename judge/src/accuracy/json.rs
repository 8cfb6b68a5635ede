//! Scorers of answers in JSON.

use super::scorer::{Score, Tolerance};
use crate::error::JudgeError;
use serde_json::{Number, Value};

/// An output is right if a JSON Schema (draft 2020-12) accepts it.
#[derive(Debug)]
pub struct JsonSchema {
    validator: jsonschema::Validator,
    strip_fences: bool,
}

/// An output is right if some of its fields are those of the label.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonFields {
    /// The fields, by name.
    pub compare: Vec<String>,
    /// How far numbers may be apart.
    pub tolerance: Tolerance,
    /// One Markdown fence around the output is taken off first.
    pub strip_fences: bool,
}

// JsonSchema

impl JsonSchema {
    /// A scorer by a schema that stands on its own: references to other documents are not followed.
    ///
    /// # Errors
    /// If it is no schema, or refers to another document.
    pub fn new(schema: &Value) -> Result<Self, JudgeError> {
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .build(schema)
            .map_err(|error| JudgeError::Schema(error.to_string()))?;
        Ok(Self {
            validator,
            strip_fences: false,
        })
    }

    /// Takes one Markdown fence around the output off first.
    #[must_use]
    pub fn strip_fences(mut self) -> Self {
        self.strip_fences = true;
        self
    }

    pub(super) fn score(&self, output: &str) -> Score {
        match parse(output, self.strip_fences) {
            Some(value) if self.validator.is_valid(&value) => Score::answer(true),
            _ => Score::MALFORMED,
        }
    }
}

// JsonFields

impl JsonFields {
    pub(super) fn score(&self, output: &str, gold: &str) -> Result<Score, JudgeError> {
        let Some(Value::Object(label)) = parse(gold, self.strip_fences) else {
            return Err(JudgeError::Gold {
                gold: gold.to_owned(),
                scorer: "json_fields",
                wanted: "give a JSON object",
            });
        };
        let Some(Value::Object(output)) = parse(output, self.strip_fences) else {
            return Ok(Score::MALFORMED);
        };
        if self.compare.iter().any(|name| !output.contains_key(name)) {
            return Ok(Score::MALFORMED);
        }
        let equal = self.compare.iter().all(|name| {
            let pair = output.get(name).zip(label.get(name));
            pair.is_some_and(|(output, label)| self.is_equal(output, label))
        });
        Ok(Score::answer(equal))
    }

    fn is_equal(&self, output: &Value, label: &Value) -> bool {
        match (output, label) {
            (Value::Number(output), Value::Number(label)) => {
                is_same_number(output, label)
                    || output
                        .as_f64()
                        .zip(label.as_f64())
                        .is_some_and(|(output, label)| self.tolerance.accepts(output, label))
            }
            _ => is_same(output, label),
        }
    }
}

/// The whole text as JSON.
fn parse(text: &str, strip_fences: bool) -> Option<Value> {
    let text = if strip_fences { unfenced(text) } else { text };
    serde_json::from_str(text).ok()
}

/// What is inside a Markdown fence around the whole text; the text itself if there is none.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let (info, body) = text.trim().strip_prefix("```")?.split_once('\n')?;
        let body = body.strip_suffix("```")?;
        (!info.contains('`')).then_some(body)
    };
    inside().unwrap_or(text)
}

/// Deep equality: numbers by value (1 is 1.0), objects whatever the order of their keys.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    one == other
        || one
            .as_f64()
            .zip(other.as_f64())
            .is_some_and(|(one, other)| one == other)
}
