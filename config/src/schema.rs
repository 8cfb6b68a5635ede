//! A JSON schema of the file, made from the table.
//!
//! It accepts exactly the keys and checks the form of values; ranges of durations and checks between values are left to
//! [`crate::check()`]. No key is required, since each may come from the environment or a flag instead.

use serde_json::{Map, Value, json};

use crate::keys::{SECTIONS, TABLE};
use crate::print::section_of;

/// The schema, draft 2020-12.
#[must_use]
pub fn schema() -> Value {
    let mut top = properties("");
    for (section, doc) in SECTIONS.iter().filter(|(section, _)| !section.is_empty()) {
        let object = json!({
            "type": ["object", "null"],
            "description": doc,
            "additionalProperties": false,
            "properties": properties(section),
        });
        top.insert((*section).to_owned(), object);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loadproof configuration",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": top,
    })
}

fn properties(section: &str) -> Map<String, Value> {
    let keys = TABLE
        .iter()
        .filter(|key| section_of(key.path()).0 == section);
    keys.map(|key| (section_of(key.path()).1.to_owned(), key.schema()))
        .collect()
}
