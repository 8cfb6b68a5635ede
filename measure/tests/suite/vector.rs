//! Vector files: read, and compared within their tolerance.

use serde_json::Value;
use std::path::PathBuf;

/// One file of `tests/fixtures/vectors`.
pub(crate) struct Vector {
    pub(crate) file: Value,
    relative: f64,
    absolute: f64,
}

impl Vector {
    pub(crate) fn read(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/vectors")
            .join(format!("{name}.json"));
        let text = std::fs::read_to_string(&path).expect("the vector file is in the repository");
        let file: Value = serde_json::from_str(&text).expect("a vector file is JSON");
        let limit = |which: &str| number(&file["tolerance"][which]);
        Self {
            relative: limit("rel"),
            absolute: limit("abs"),
            file,
        }
    }

    /// The cases, of which there is at least one.
    pub(crate) fn cases(&self) -> &[Value] {
        let cases = list(&self.file["cases"]);
        assert!(!cases.is_empty(), "a vector without cases proves nothing");
        cases
    }

    /// `got` is what `case` expects under `field`; null expects `None`.
    pub(crate) fn check(&self, case: &Value, field: &str, got: Option<f64>) {
        let expected = case
            .get(field)
            .unwrap_or_else(|| panic!("{field} is missing in {case}"));
        match (got, expected.as_f64()) {
            (None, None) if expected.is_null() => {}
            (Some(got), Some(expected)) => {
                let allowed = self
                    .absolute
                    .max(self.relative * got.abs().max(expected.abs()));
                let off = (got - expected).abs();
                assert!(
                    off <= allowed,
                    "{field}: got {got}, expected {expected} in {case}"
                );
            }
            _ => panic!("{field}: got {got:?}, expected {expected} in {case}"),
        }
    }
}

pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

pub(crate) fn whole(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no whole number"))
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{value} is no list"))
}

pub(crate) fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
}
