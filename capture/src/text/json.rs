//! Redaction inside JSON that leaves every other byte as it was: only string literals, member names and long numbers are
//! looked at, as what they mean and not as they are written, and one that changes is written anew.

use std::borrow::Cow;

use super::Redaction;

/// What stands for the value of a member that is named like a key.
const KEY_VALUE: &str = "\"[key]\"";

/// Names, in lower case and without `-` and `_`, whose values are credentials.
const KEY_NAMES: [&str; 6] = [
    "authorization",
    "cookie",
    "passwd",
    "secret",
    "credential",
    "credentials",
];

/// Endings of such names.
const KEY_ENDINGS: [&str; 10] = [
    "apikey",
    "apikeys",
    "apitoken",
    "secretkey",
    "accesskey",
    "privatekey",
    "accesstoken",
    "authtoken",
    "password",
    "clientsecret",
];

/// Digits from which on a number may be a card's.
const LONG_NUMBER: usize = 13;

/// Whether `text` is one JSON value, nested at most as deep as serde_json follows.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Redacts valid JSON.
pub(super) fn redact(text: &str, redaction: &mut Redaction) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut value = Value::Plain;
    while let Some(first) = rest.chars().next() {
        let (piece, after) = rest.split_at(length(rest, first));
        rest = after;
        match (first, value) {
            ('"', _) if after.trim_start().starts_with(':') => {
                let name = meaning(piece);
                value = Value::of(&name);
                push(&mut out, piece, &name, redaction);
            }
            ('"' | '0'..='9' | '-', Value::Key { shortest } | Value::Keys { shortest })
                if piece.len() >= shortest =>
            {
                redaction.count_key();
                out.push_str(KEY_VALUE);
                value = value.after();
            }
            ('"', _) => {
                push(&mut out, piece, &meaning(piece), redaction);
                value = value.after();
            }
            ('0'..='9', _) if piece.len() >= LONG_NUMBER => push(&mut out, piece, piece, redaction),
            _ => {
                value = value.passing(first);
                out.push_str(piece);
            }
        }
    }
    out
}

// ---- Value

/// What comes next in the text, by the name of its member.
#[derive(Clone, Copy)]
enum Value {
    Plain,
    /// The value of a member that is named like a key, if its literal is so long.
    Key {
        shortest: usize,
    },
    /// An element of such a value.
    Keys {
        shortest: usize,
    },
}

impl Value {
    fn of(name: &str) -> Self {
        // Longer names are none of ours, and need no copy.
        if name.len() > 64 {
            return Self::Plain;
        }
        let name: String = name
            .chars()
            .filter(|c| !matches!(c, '-' | '_' | ' ' | '.'))
            .flat_map(char::to_lowercase)
            .collect();
        if name == "token" {
            // A model's token bears this name, too, and is short.
            Self::Key { shortest: 18 }
        } else if KEY_NAMES.contains(&name.as_str())
            || KEY_ENDINGS.iter().any(|end| name.ends_with(end))
        {
            Self::Key { shortest: 0 }
        } else {
            Self::Plain
        }
    }

    /// After a literal.
    fn after(self) -> Self {
        match self {
            Self::Keys { .. } => self,
            Self::Plain | Self::Key { .. } => Self::Plain,
        }
    }

    /// After a character that begins no literal that is looked at.
    fn passing(self, character: char) -> Self {
        match (self, character) {
            (Self::Key { shortest }, '[') => Self::Keys { shortest },
            (Self::Key { .. }, ':' | ' ' | '\n' | '\r' | '\t')
            | (Self::Keys { .. }, ',' | ' ' | '\n' | '\r' | '\t') => self,
            _ => Self::Plain,
        }
    }
}

// ---- Literals

/// Length of the literal that `text` begins with, 1 character for what is none.
fn length(text: &str, first: char) -> usize {
    let bytes = text.as_bytes();
    match first {
        '"' => {
            let mut at = 1;
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => return at + 1,
                    b'\\' => at += 2,
                    _ => at += 1,
                }
            }
            text.len()
        }
        '0'..='9' | '-' => bytes
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .unwrap_or(text.len()),
        other => other.len_utf8(),
    }
}

/// What a string literal says. One that says no text (half a surrogate pair) is taken as it is written.
fn meaning(literal: &str) -> Cow<'_, str> {
    if !literal.contains('\\') {
        return Cow::Borrowed(literal.trim_matches('"'));
    }
    serde_json::from_str(literal)
        .map_or_else(|_| Cow::Borrowed(literal.trim_matches('"')), Cow::Owned)
}

fn push(out: &mut String, literal: &str, meaning: &str, redaction: &mut Redaction) {
    match redaction.apply(meaning) {
        Cow::Borrowed(_) => out.push_str(literal),
        Cow::Owned(text) => match serde_json::to_string(&text) {
            Ok(literal) => out.push_str(&literal),
            Err(_) => out.push_str("null"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        assert!(is_json(text), "{text}");
        let out = redact(text, &mut Redaction::new(&[]).unwrap());
        assert!(is_json(&out), "{out}");
        out
    }

    #[test]
    fn what_needs_no_redaction_stays_to_the_byte() {
        let text = " {\"z\" : [1.50, -2e3,\ttrue,null], \"a\": \"\\u00e9\\/\\\"x\", \"\":{} , \"id\":1733000000123}\n";
        assert_eq!(redacted(text), text);
    }

    #[test]
    fn what_escapes_hide_is_seen() {
        assert_eq!(
            redacted(r#"{"a":"to ann\u0040example.com\n","ann@example.com":1}"#),
            r#"{"a":"to [email]\n","[email]":1}"#
        );
    }

    #[test]
    fn a_card_may_be_a_number() {
        assert_eq!(redacted(r#"[4111111111111111]"#), r#"["[card]"]"#);
        assert_eq!(redacted(r#"[4111111111111112]"#), r#"[4111111111111112]"#);
    }

    #[test]
    fn values_of_members_that_are_named_like_keys_go() {
        assert_eq!(
            redacted(
                r#"{"API-Key": "abc", "x_api_keys":["a", "b"], "c":["d"], "n":{"password" : 5}}"#
            ),
            r#"{"API-Key": "[key]", "x_api_keys":["[key]", "[key]"], "c":["d"], "n":{"password" : "[key]"}}"#
        );
        // A schema that describes such a member is no credential, and a model's token is none.
        let text =
            r#"{"password":{"type":"string"},"secret":null,"token":" Hello","max_tokens":9}"#;
        assert_eq!(redacted(text), text);
        assert_eq!(
            redacted(r#"{"token":"0123456789abcdef0123"}"#),
            r#"{"token":"[key]"}"#
        );
    }
}
