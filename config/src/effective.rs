//! A configuration in force: its values, where each came from, and what is odd about them.

use std::fmt;

use serde_json::{Value, json};

use crate::checked::Checked;
use crate::fault::{Code, Fault, Faults};
use crate::origin::Origin;

/// A configuration without a fault, and where each value came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The values.
    pub checked: Checked,
    /// Each key with its value as it would be written, in the order of the file.
    pub settings: Vec<Setting>,
    /// What is allowed but likely not meant.
    pub warnings: Vec<Warning>,
}

/// One key in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Key path.
    pub key: &'static str,
    /// Value as it would be written in the file.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// What is allowed but likely not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Key path; empty where no one key is meant.
    pub key: String,
    /// Where the value came from.
    pub origin: Origin,
    /// What is odd about it.
    pub wrong: String,
    /// What to do about it.
    pub advice: String,
}

// ------------------------------------------------------------------------------------------------------ Effective

impl Effective {
    /// A fault of the value of `key` that shows only when it is used: a file that is not there.
    #[must_use]
    pub fn fault(&self, key: &str, wrong: String, fix: String) -> Faults {
        let setting = self.settings.iter().find(|setting| setting.key == key);
        Faults::one(Fault {
            code: Code::Unusable,
            key: key.to_owned(),
            value: setting.map(Setting::text),
            origin: setting.map_or(Origin::Default, |setting| setting.origin.clone()),
            wrong,
            fix,
        })
    }
}

// -------------------------------------------------------------------------------------------------------- Setting

impl Setting {
    /// The value without quotes.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Setting {
    /// `limits.queue_bytes (256KiB, default)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.key, self.text(), self.origin)
    }
}

// -------------------------------------------------------------------------------------------------------- Warning

impl Warning {
    /// The warning as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "source": self.origin.to_json(),
            "wrong": self.wrong,
            "advice": self.advice,
        })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
            write!(f, "{}: ", self.origin)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}\n  advice: {}", self.wrong, self.advice)
    }
}
