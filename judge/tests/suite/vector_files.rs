//! Every vector file of the repository is reproduced, and a file with one number changed is not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::vectors::{File, own_folder, run_folder};
use serde_json::{Value, json};

#[test]
fn every_vector_is_reproduced() {
    let reports = run_folder(&own_folder()).unwrap();
    let failed: Vec<String> = reports
        .iter()
        .filter(|report| !report.passed())
        .map(ToString::to_string)
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(reports.len(), 39);
}

/// Names under `expected` that say what is asked for, and are handed back as they came.
const ASKED: &[&str] = &["p", "target_us", "error_us"];

/// The places of all leaves below a value, as JSON pointers.
fn leaves(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                if !ASKED.contains(&key.as_str()) {
                    leaves(value, &format!("{place}/{key}"), found);
                }
            }
        }
        Value::Array(entries) => {
            for (at, value) in entries.iter().enumerate() {
                leaves(value, &format!("{place}/{at}"), found);
            }
        }
        _ => found.push(place.to_owned()),
    }
}

fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(is) => json!(!is),
        Value::Number(number) => json!(number.as_f64().unwrap() + 1.0),
        Value::String(text) => json!(format!("{text}x")),
        _ => json!("something"),
    }
}

#[test]
fn a_changed_expectation_is_found() {
    let mut tried = 0;
    for entry in std::fs::read_dir(own_folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut file = File::read(&path).unwrap();
        // One case is enough: all cases of a file are compared by the same code.
        file.whole["cases"].as_array_mut().unwrap().truncate(1);
        let mut places = Vec::new();
        leaves(
            &file.whole["cases"][0]["expected"],
            "/cases/0/expected",
            &mut places,
        );
        for place in places {
            let right = file.whole.pointer(&place).unwrap().clone();
            *file.whole.pointer_mut(&place).unwrap() = changed(&right);
            assert!(file.run(&name).is_err(), "{name}: {place} can be anything");
            *file.whole.pointer_mut(&place).unwrap() = right;
            tried += 1;
        }
        assert!(file.run(&name).is_ok(), "{name}");
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn a_file_that_nothing_belongs_to_fails() {
    let folder = own_folder();
    let file = File::read(&folder.join("38_holm.json")).unwrap();
    assert!(file.run("38_holm").is_ok());
    assert!(file.run("40_unheard_of").is_err());
}
