//! The configuration in force, for people and for machines.
//!
//! Every key stands in it, limits too, with the place its value came from. The YAML is itself a configuration file: read
//! again it gives the same values. No value that passes the check holds a secret, so nothing needs masking here.

use serde_json::{Map, Value, json};

use crate::effective::{Effective, Setting, Warning};
use crate::keys::SECTIONS;

/// Words that some YAML tool takes for a truth value or a null.
const WORDS_QUOTED: [&str; 10] = [
    "true", "false", "yes", "no", "on", "off", "y", "n", "null", "none",
];

/// `effective` as YAML, each value's origin behind it as a comment.
#[must_use]
pub fn print(effective: &Effective) -> String {
    let mut text = String::new();
    for (section, _) in SECTIONS {
        let of_section = |setting: &&Setting| section_of(setting.key).0 == *section;
        let depth = section.split_terminator('.').count();
        if !section.is_empty() {
            let outer = "  ".repeat(depth - 1);
            text.push_str(&format!("{outer}{}:\n", section_of(section).1));
        }
        let indent = "  ".repeat(depth);
        for setting in effective.settings.iter().filter(of_section) {
            let name = section_of(setting.key).1;
            text.push_str(&format!(
                "{indent}{name}: {} # {}\n",
                yaml(&setting.value),
                comment(setting)
            ));
        }
    }
    text
}

/// `effective` as a JSON object: `config` as in the file, `sources` by key path, and `warnings`.
#[must_use]
pub fn print_json(effective: &Effective) -> Value {
    let mut config = Map::new();
    let mut sources = Map::new();
    for setting in &effective.settings {
        sources.insert(setting.key.to_owned(), setting.origin.to_json());
        let (section, name) = section_of(setting.key);
        let mut fields = Some(&mut config);
        for part in section.split_terminator('.') {
            fields = fields.and_then(|fields| {
                let inner = fields.entry(part).or_insert_with(|| json!({}));
                inner.as_object_mut()
            });
        }
        if let Some(fields) = fields {
            fields.insert(name.to_owned(), setting.value.clone());
        }
    }
    let warnings: Vec<Value> = effective.warnings.iter().map(Warning::to_json).collect();
    json!({"config": config, "sources": sources, "warnings": warnings})
}

/// `limits.queue_bytes` → `("limits", "queue_bytes")`, `upstream.tls.ca` → `("upstream.tls", "ca")`.
pub(crate) fn section_of(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// A value in YAML, on one line.
pub(crate) fn yaml(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(yaml).collect();
            format!("[{}]", items.join(", "))
        }
        // A JSON string is a double-quoted YAML string.
        other => other.to_string(),
    }
}

/// Whether every YAML tool reads `text` without quotes as that text.
fn is_plain(text: &str) -> bool {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:".contains(&byte);
    let starts_plainly = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    let looks_like_a_number = text.parse::<f64>().is_ok()
        || ["0x", "0o", "0b"]
            .iter()
            .any(|radix| text.starts_with(radix));
    starts_plainly
        && text.bytes().all(safe)
        && !text.ends_with(':')
        && !looks_like_a_number
        && !is_number_or_date(text)
        && !WORDS_QUOTED.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether `text` is a number in base 60, a date or a number with `_` to YAML 1.1: `12:30`, `2024-01-31`, `1_000`.
fn is_number_or_date(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_digit() || b":-_".contains(&byte))
}

/// The origin on one line whatever a file's name holds.
fn comment(setting: &Setting) -> String {
    setting.origin.to_string().replace(char::is_control, " ")
}
