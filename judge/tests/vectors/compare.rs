//! What was computed against what is expected.

use serde_json::Value;

/// How near a number has to come.
#[derive(Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
}

/// The first difference, with its place; `None` if there is none. All that is expected has to be there; more may be.
pub(crate) fn difference(got: &Value, expected: &Value, tolerance: Tolerance) -> Option<String> {
    at("expected", got, expected, tolerance)
}

fn at(place: &str, got: &Value, expected: &Value, tolerance: Tolerance) -> Option<String> {
    match (got, expected) {
        (Value::Object(got), Value::Object(expected)) => {
            expected.iter().find_map(|(key, value)| {
                let place = format!("{place}.{key}");
                match got.get(key) {
                    None => Some(format!("{place} was not computed")),
                    Some(got) => at(&place, got, value, tolerance),
                }
            })
        }
        (Value::Array(got), Value::Array(expected)) => {
            if got.len() != expected.len() {
                let (ours, theirs) = (got.len(), expected.len());
                return Some(format!("{place}: {ours} entries, expected {theirs}"));
            }
            got.iter()
                .zip(expected)
                .enumerate()
                .find_map(|(index, (got, expected))| {
                    at(&format!("{place}[{index}]"), got, expected, tolerance)
                })
        }
        _ if is_equal(got, expected, tolerance) => None,
        _ => Some(format!("{place}: got {got}, expected {expected}")),
    }
}

fn is_equal(got: &Value, expected: &Value, tolerance: Tolerance) -> bool {
    if got == expected {
        return true;
    }
    let is_whole = |value: &Value| value.is_i64() || value.is_u64();
    if is_whole(got) && is_whole(expected) {
        return false;
    }
    match (got.as_f64(), expected.as_f64()) {
        (Some(got), Some(expected)) => {
            let allowed = tolerance
                .absolute
                .max(tolerance.relative * got.abs().max(expected.abs()));
            (got - expected).abs() <= allowed
        }
        _ => false,
    }
}
