//! What can be wrong with a configuration, and how it is said.
//!
//! A fault names the place, the key, the value, what is wrong and the fix. Values are shown shortened and with
//! credentials masked; the value of an unknown key is never shown, since nobody knows whether it is a secret.

use std::fmt;

use serde_json::{Value, json};

use crate::origin::Origin;

/// Longest value shown in a message, characters.
const SHOWN_CHARS_MAX: usize = 60;

/// Kind of fault, for machines; the JSON form has it in snake case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The file could not be read.
    Unreadable,
    /// The file is not YAML, or not one mapping.
    Syntax,
    /// No such key, section or variable.
    UnknownKey,
    /// The same key twice in one source.
    Twice,
    /// A key that has no default was not given.
    Missing,
    /// A list or mapping where one value belongs, or the reverse, or nothing at all.
    Shape,
    /// Text that does not say a value of the key's kind.
    Value,
    /// A value of the right kind outside its range.
    Range,
    /// Two values that cannot both hold.
    Conflict,
    /// A value that is well, but what it names is not.
    Unusable,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// Kind of fault.
    pub code: Code,
    /// Key path such as `limits.queue_bytes`; empty where the whole file is meant.
    pub key: String,
    /// The value as written, shortened and masked; absent where there is none or it may be a secret.
    pub value: Option<String>,
    /// Where it was written.
    pub origin: Origin,
    /// What is wrong.
    pub wrong: String,
    /// What to do about it.
    pub fix: String,
}

/// Every fault that was found: at least one, in the order of the file, then the environment, then flags.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults(Vec<Fault>);

/// A fault of one value, before the reader adds the key and the place.
#[derive(Debug)]
pub(crate) struct Complaint {
    pub(crate) code: Code,
    pub(crate) wrong: String,
    pub(crate) fix: String,
    /// Index in a list.
    pub(crate) item: Option<usize>,
}

// ----------------------------------------------------------------------------------------------------------- Code

impl Code {
    /// The name used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Syntax => "syntax",
            Self::UnknownKey => "unknown_key",
            Self::Twice => "twice",
            Self::Missing => "missing",
            Self::Shape => "shape",
            Self::Value => "value",
            Self::Range => "range",
            Self::Conflict => "conflict",
            Self::Unusable => "unusable",
        }
    }
}

// ---------------------------------------------------------------------------------------------------------- Fault

impl Fault {
    /// The fault as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "code": self.code.as_str(),
            "key": self.key,
            "value": self.value,
            "source": self.origin.to_json(),
            "wrong": self.wrong,
            "fix": self.fix,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
            write!(f, "{}: ", self.origin)?;
        }
        match (self.key.as_str(), &self.value) {
            ("", _) => {}
            (key, None) => write!(f, "{key}: ")?,
            (key, Some(value)) => write!(f, "{key} = {value}: ")?,
        }
        write!(f, "{}\n  fix: {}", self.wrong, self.fix)
    }
}

// --------------------------------------------------------------------------------------------------------- Faults

impl Faults {
    /// `faults` in their order, or `None` where there is none.
    pub(crate) fn sorted(mut faults: Vec<Fault>) -> Option<Self> {
        if faults.is_empty() {
            return None;
        }
        faults.sort_by_key(|fault| fault.origin.rank());
        Some(Self(faults))
    }

    pub(crate) fn one(fault: Fault) -> Self {
        Self(vec![fault])
    }

    /// The faults in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

// ------------------------------------------------------------------------------------------------------ Complaint

impl Complaint {
    pub(crate) fn new(code: Code, wrong: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            code,
            wrong: wrong.into(),
            fix: fix.into(),
            item: None,
        }
    }

    /// Text that does not say a value of its kind.
    pub(crate) fn value(wrong: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Code::Value, wrong, fix)
    }

    /// A value outside `range`.
    pub(crate) fn range(range: &str) -> Self {
        Self::new(
            Code::Range,
            format!("outside the range {range}"),
            format!("write a value from {range}"),
        )
    }

    pub(crate) fn at(self, item: usize) -> Self {
        Self {
            item: Some(item),
            ..self
        }
    }
}

/// `text` fit for a message: quoted where it is not a plain word, shortened, credentials masked.
pub(crate) fn shown(text: &str) -> String {
    let masked = masked(text);
    let mut short: String = masked.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < masked.len() {
        short.push('…');
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:[]*@,…".contains(c);
    if !short.is_empty() && short.chars().all(plain) {
        short
    } else {
        format!("{short:?}")
    }
}

/// `text` without what stands before an `@`, the place of credentials in a URL.
fn masked(text: &str) -> String {
    let Some((secret, rest)) = text.rsplit_once('@') else {
        return text.to_owned();
    };
    match secret.split_once("://") {
        Some((scheme, _)) => format!("{scheme}://***@{rest}"),
        None => format!("***@{rest}"),
    }
}
