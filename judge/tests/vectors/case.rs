//! Inputs of a case, by name, and results as JSON.

use judge::quantile::Level;
use judge::{Interval, JudgeError, Observation};
use serde_json::{Value, json};

/// What reading or computing a case yields.
pub(crate) type Computed<T = Value> = Result<T, String>;

/// One case, or an object inside one.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a>(&'a Value);

impl<'a> Case<'a> {
    pub(crate) fn of(value: &'a Value) -> Self {
        Self(value)
    }

    pub(crate) fn get(&self, name: &str) -> Computed<&'a Value> {
        self.0.get(name).ok_or_else(|| format!("it has no {name}"))
    }

    /// `None` where it is absent or null.
    pub(crate) fn some(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn inner(&self, name: &str) -> Computed<Case<'a>> {
        self.get(name).map(Case)
    }

    pub(crate) fn number(&self, name: &str) -> Computed<f64> {
        number(self.get(name)?)
    }

    pub(crate) fn some_number(&self, name: &str) -> Computed<Option<f64>> {
        self.some(name).map(number).transpose()
    }

    pub(crate) fn count(&self, name: &str) -> Computed<u64> {
        count(self.get(name)?)
    }

    pub(crate) fn text(&self, name: &str) -> Computed<&'a str> {
        text(self.get(name)?)
    }

    /// The text, if there is one.
    pub(crate) fn some_text(&self, name: &str) -> Computed<Option<&'a str>> {
        self.some(name).map(text).transpose()
    }

    /// Its `kind`; a file of one kind has none.
    pub(crate) fn kind(&self) -> &'a str {
        self.0.get("kind").and_then(Value::as_str).unwrap_or("")
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn level(&self, name: &str) -> Computed<Level> {
        Level::new(self.number(name)?).map_err(refused)
    }

    pub(crate) fn list(&self, name: &str) -> Computed<&'a [Value]> {
        list(self.get(name)?)
    }

    pub(crate) fn cases(&self, name: &str) -> Computed<impl Iterator<Item = Case<'a>>> {
        Ok(self.list(name)?.iter().map(Case))
    }

    pub(crate) fn numbers(&self, name: &str) -> Computed<Vec<f64>> {
        numbers(self.get(name)?)
    }

    pub(crate) fn counts(&self, name: &str) -> Computed<Vec<u64>> {
        self.list(name)?.iter().map(count).collect()
    }

    /// Values in order, of which those at the places under `censored` are only bounds.
    pub(crate) fn observations(&self, values: &str, censored: &str) -> Computed<Vec<Observation>> {
        let values = self.numbers(values)?.into_iter();
        let mut observations: Vec<Observation> = values.map(Observation::value).collect();
        for place in self.counts(censored)? {
            let index = usize::try_from(place).map_err(|error| error.to_string())?;
            let one = observations.get_mut(index);
            one.ok_or("a censored place past the end")?.censored = true;
        }
        Ok(observations)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let object = self.0.as_object().into_iter().flatten();
        object.map(|(key, value)| (key.as_str(), value))
    }
}

pub(crate) fn number(value: &Value) -> Computed<f64> {
    match value.as_str() {
        Some("inf") => Ok(f64::INFINITY),
        Some("-inf") => Ok(f64::NEG_INFINITY),
        Some("nan") => Ok(f64::NAN),
        _ => value
            .as_f64()
            .ok_or_else(|| format!("{value} is no number")),
    }
}

/// A whole number, also if it is written as `5.0`.
pub(crate) fn count(value: &Value) -> Computed<u64> {
    let written = || value.as_f64().filter(|number| number.fract() == 0.0);
    let whole = value
        .as_u64()
        .or_else(|| format!("{}", written()?).parse().ok());
    whole.ok_or_else(|| format!("{value} is no count"))
}

pub(crate) fn text(value: &Value) -> Computed<&str> {
    value.as_str().ok_or_else(|| format!("{value} is no text"))
}

pub(crate) fn list(value: &Value) -> Computed<&[Value]> {
    let list = value.as_array().map(Vec::as_slice);
    list.ok_or_else(|| format!("{value} is no list"))
}

pub(crate) fn numbers(value: &Value) -> Computed<Vec<f64>> {
    list(value)?.iter().map(number).collect()
}

/// What the program says to an input that it refuses.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is handed to map_err, which gives the error away"
)]
pub(crate) fn refused(error: JudgeError) -> String {
    format!("refused: {error}")
}

/// A number as the files write it.
pub(crate) fn json_number(value: f64) -> Value {
    if value.is_nan() {
        json!("nan")
    } else if value == f64::INFINITY {
        json!("inf")
    } else if value == f64::NEG_INFINITY {
        json!("-inf")
    } else {
        json!(value)
    }
}

pub(crate) fn json_some(value: Option<f64>) -> Value {
    value.map_or(Value::Null, json_number)
}

pub(crate) fn json_interval(interval: Interval) -> Value {
    json!([json_number(interval.lower), json_number(interval.upper)])
}

pub(crate) fn json_numbers(values: &[f64]) -> Value {
    values.iter().copied().map(json_number).collect()
}

pub(crate) fn unknown_kind(case: &Case<'_>) -> Computed {
    Err(format!("kind {:?} is none that this file has", case.kind()))
}
