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
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "loadproof configuration",
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties(""),
    })
}

/// The keys of a section, and the sections below it.
fn properties(section: &str) -> Map<String, Value> {
    let keys = TABLE
        .iter()
        .filter(|key| section_of(key.path()).0 == section)
        .map(|key| (section_of(key.path()).1.to_owned(), key.schema()));
    let below = SECTIONS
        .iter()
        .filter(|(name, _)| !name.is_empty() && section_of(name).0 == section)
        .map(|(name, doc)| (section_of(name).1.to_owned(), object(name, doc)));
    keys.chain(below).collect()
}

fn object(section: &str, doc: &str) -> Value {
    json!({
        "type": ["object", "null"],
        "description": doc,
        "additionalProperties": false,
        "properties": properties(section),
    })
}
