//! A value that is found out unless it is given.

use serde_json::{Value, json};

use super::Scalar;
use crate::fault::Complaint;

/// The word that leaves it to the program.
const AUTO: &str = "auto";

/// A scalar, or `auto`.
pub(crate) struct Auto<S>(pub(crate) S);

impl<S: Scalar> Scalar for Auto<S> {
    type Value = Option<S::Value>;

    fn parse(&self, text: &str) -> Result<Self::Value, Complaint> {
        if text == AUTO {
            return Ok(None);
        }
        self.0.parse(text).map(Some).map_err(|complaint| Complaint {
            fix: format!("{}, or {AUTO}", complaint.fix),
            ..complaint
        })
    }

    fn show(&self, value: &Self::Value) -> Value {
        value
            .as_ref()
            .map_or_else(|| Value::from(AUTO), |value| self.0.show(value))
    }

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn range(&self) -> String {
        format!("{}, or `{AUTO}`", self.0.range())
    }

    fn schema(&self) -> Value {
        json!({"anyOf": [self.0.schema(), {"const": AUTO}]})
    }
}
