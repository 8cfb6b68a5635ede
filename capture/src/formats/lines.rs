//! Lines of JSON, and the members of each, taken out one by one: what nobody took is kept, what is wrong is named.
//!
//! Limits: a line of 64 MiB.

use std::io::{BufRead, Read};

use serde_json::{Map, Value};

use super::FormatError;
use super::units::TimeUnit;

const LINE_BYTES: u64 = 64 * 1024 * 1024;

/// The objects of a file, a line each. Empty lines are passed over.
pub(super) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    number: u64,
}

/// The members of one object that nobody has taken yet.
pub(super) struct Members {
    /// Where it stands in its file.
    pub(super) line: u64,
    map: Map<String, Value>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, number: 0 }
    }

    /// The next object.
    pub(super) fn next(&mut self) -> Result<Option<Members>, FormatError> {
        let mut line = Vec::new();
        loop {
            line.clear();
            self.number += 1;
            let mut part = Read::take(&mut *self.input, LINE_BYTES + 1);
            if part.read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 > LINE_BYTES {
                return Err(FormatError::line(self.number, "is longer than 64 MiB"));
            }
            if !line.trim_ascii().is_empty() {
                break;
            }
        }
        match serde_json::from_slice(&line) {
            Ok(Value::Object(map)) => Ok(Some(Members::new(self.number, map))),
            Ok(_) => Err(FormatError::line(
                self.number,
                "is no JSON object: one a line is wanted",
            )),
            Err(error) => Err(FormatError::line(
                self.number,
                format!("is no JSON: {error}"),
            )),
        }
    }
}

impl Members {
    pub(super) fn new(line: u64, map: Map<String, Value>) -> Self {
        Self { line, map }
    }

    /// The members of an object within this line.
    pub(super) fn within(&self, value: Value, name: &str) -> Result<Self, FormatError> {
        match value {
            Value::Object(map) => Ok(Self::new(self.line, map)),
            other => Err(self.wrong(name, &other, "an object")),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// A member, whatever it is. `null` is absent.
    pub(super) fn any(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, FormatError> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, &other, "a text")),
        }
    }

    /// A name, or a number that serves as one.
    pub(super) fn name(&mut self, name: &str) -> Result<Option<String>, FormatError> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(self.wrong(name, &other, "a text or a number")),
        }
    }

    pub(super) fn count(&mut self, name: &str) -> Result<Option<u64>, FormatError> {
        match self.any(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(name, &value, "a whole number")),
            },
        }
    }

    /// A time in `unit`, as nanoseconds.
    pub(super) fn time(&mut self, name: &str, unit: TimeUnit) -> Result<Option<u64>, FormatError> {
        let Some(value) = self.any(name) else {
            return Ok(None);
        };
        let time = value.as_f64().and_then(|time| unit.nanoseconds(time));
        time.map(Some)
            .ok_or_else(|| self.wrong(name, &value, "a time, not below 0"))
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, FormatError> {
        match self.any(name) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(other) => Err(self.wrong(name, &other, "a list")),
        }
    }

    pub(super) fn ids(&mut self, name: &str) -> Result<Option<Vec<u64>>, FormatError> {
        let Some(values) = self.list(name)? else {
            return Ok(None);
        };
        let id = |value: Value| {
            value
                .as_u64()
                .ok_or_else(|| self.wrong(name, &value, "a list of whole numbers"))
        };
        values
            .into_iter()
            .map(id)
            .collect::<Result<Vec<u64>, FormatError>>()
            .map(Some)
    }

    /// What has to be there.
    pub(super) fn required<T>(&self, name: &str, value: Option<T>) -> Result<T, FormatError> {
        value.ok_or_else(|| FormatError::line(self.line, format!("has no {name:?}")))
    }

    /// What nobody took.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.map
    }

    pub(super) fn wrong(&self, name: &str, value: &Value, wanted: &str) -> FormatError {
        let mut shown = value.to_string();
        if shown.chars().count() > 40 {
            shown = shown.chars().take(39).chain(['…']).collect();
        }
        FormatError::line(
            self.line,
            format!("{name:?} is {shown}: {wanted} is wanted"),
        )
    }
}
