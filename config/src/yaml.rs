//! The configuration file: YAML to written values.
//!
//! The document is read into a tree that keeps each key's and value's place and a scalar's own text, so that `0x10`, `1e3`
//! or `off` reach the kinds as they were written and not as some schema of YAML takes them. Anchors, aliases and merge
//! keys work; how far they may blow up is bounded by the parser. One fault of syntax ends the reading, since nothing
//! after it can be trusted; faults of keys do not.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, NonFiniteFloatPolicy, Options, Spanned, UserMessageFormatter};

use crate::draft::{Found, Raw, Written, known_path, twice, unknown_key};
use crate::fault::{Code, Fault};
use crate::keys::SECTIONS;
use crate::origin::{Origin, Position};

/// Deepest nesting read. The table needs three levels.
const DEPTH_MAX: usize = 16;

/// One node of the document.
#[derive(Debug)]
enum Node {
    Null,
    /// A bare scalar that YAML takes for a number or a truth value, as the parser respells it.
    Bare(String),
    Text(String),
    List(Vec<Spanned<Node>>),
    Mapping(Vec<(Spanned<String>, Spanned<Node>)>),
}

/// The file being read.
struct Document<'a> {
    name: &'a str,
    text: &'a str,
}

/// What the file `name` with the content `text` says.
pub(crate) fn read(name: &str, text: &str) -> Found {
    let document = Document { name, text };
    let mut found = Found::default();
    match serde_saphyr::from_str_with_options::<Spanned<Node>>(text, options()) {
        Ok(root) => document.walk_root(&root, &mut found),
        Err(error) => found.faults.push(document.syntax(&error)),
    }
    found
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: 100_000,
            max_events: 400_000,
        },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        emit_comments: false,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        strict_booleans: true,
        with_snippet: false,
    }
}

// ------------------------------------------------------------------------------------------------------- Document

impl Document<'_> {
    fn walk_root(&self, root: &Spanned<Node>, found: &mut Found) {
        match &root.value {
            Node::Null => {}
            Node::Mapping(entries) => self.walk("", entries, found),
            Node::Bare(_) | Node::Text(_) | Node::List(_) => found.faults.push(Fault {
                code: Code::Syntax,
                key: String::new(),
                value: None,
                origin: self.origin(root.referenced),
                wrong: "not a mapping of keys to values".to_owned(),
                fix: "write KEY: VALUE lines, for example listen: 127.0.0.1:8080".to_owned(),
            }),
        }
    }

    /// Goes through the keys of the section `section`, which is empty at the top level.
    fn walk(&self, section: &str, entries: &[(Spanned<String>, Spanned<Node>)], found: &mut Found) {
        let mut seen: Vec<(&str, Location)> = Vec::new();
        for (key, node) in entries {
            let path = if section.is_empty() {
                key.value.clone()
            } else {
                format!("{section}.{}", key.value)
            };
            let origin = self.origin(key.referenced);
            if let Some((_, first)) = seen.iter().find(|(name, _)| *name == key.value) {
                found
                    .faults
                    .push(twice(&path, origin, &self.origin(*first)));
                continue;
            }
            seen.push((&key.value, key.referenced));
            if section.is_empty() && key.value.contains('.') && known_path(&path).is_some() {
                found.faults.push(dotted(&path, origin));
            } else if let Some(path) = known_path(&path) {
                found.values.push((path, self.written(node)));
            } else if SECTIONS
                .iter()
                .any(|(name, _)| *name == path && !name.is_empty())
            {
                self.walk_section(&path, node, found);
            } else {
                found.faults.push(unknown_key(&path, origin));
            }
        }
    }

    fn walk_section(&self, path: &str, node: &Spanned<Node>, found: &mut Found) {
        match &node.value {
            Node::Null => {}
            Node::Mapping(entries) => self.walk(path, entries, found),
            Node::Bare(_) | Node::Text(_) | Node::List(_) => found.faults.push(Fault {
                code: Code::Shape,
                key: path.to_owned(),
                value: None,
                origin: self.origin(node.referenced),
                wrong: "a value where a section of keys belongs".to_owned(),
                fix: format!("write the keys of `{path}` below it, indented"),
            }),
        }
    }

    fn written(&self, node: &Spanned<Node>) -> Written {
        let raw = match &node.value {
            Node::Null => Raw::Nothing,
            Node::Bare(respelt) => {
                Raw::One(self.source(node.defined).unwrap_or(respelt).to_owned())
            }
            Node::Text(text) => Raw::One(text.clone()),
            Node::List(items) => Raw::List(items.iter().map(|item| self.written(item)).collect()),
            Node::Mapping(_) => Raw::Mapping,
        };
        Written {
            raw,
            origin: self.origin(node.referenced),
        }
    }

    /// The characters of the file at `location`.
    fn source(&self, location: Location) -> Option<&str> {
        let start = usize::try_from(location.span().byte_offset()?).ok()?;
        let length = usize::try_from(location.span().byte_len()?).ok()?;
        self.text.get(start..start.checked_add(length)?)
    }

    fn origin(&self, location: Location) -> Origin {
        let known = location != Location::UNKNOWN;
        Origin::File {
            name: self.name.to_owned(),
            position: known.then(|| Position {
                line: location.line(),
                column: location.column(),
            }),
        }
    }

    fn syntax(&self, error: &serde_saphyr::Error) -> Fault {
        let location = error.location().unwrap_or(Location::UNKNOWN);
        let place = format!(" at line {}, column {}", location.line(), location.column());
        let message = error.render_with_formatter(&UserMessageFormatter);
        let reason = message.strip_suffix(&place).unwrap_or(&message);
        Fault {
            code: Code::Syntax,
            key: String::new(),
            value: None,
            origin: self.origin(location),
            wrong: format!("not readable as YAML: {reason}"),
            fix: syntax_fix(reason).to_owned(),
        }
    }
}

/// What to do about the parser's complaint `reason`.
fn syntax_fix(reason: &str) -> &'static str {
    let says = |words: &str| reason.contains(words);
    if says("tab") {
        "indent with spaces"
    } else if says("mapping values are not allowed") || says("block mapping") {
        "indent the keys of a section alike, and quote a value that contains \": \""
    } else if says("unclosed quote") {
        "close the quote on the same line"
    } else if says("bracket") {
        "close the bracket"
    } else if says("single YAML document") {
        "remove everything from the line --- on"
    } else if says("unknown value") {
        "define the anchor with & before the alias * uses it, or quote the value"
    } else if says("unexpected character") {
        "quote the value"
    } else {
        "correct the line; every key is `KEY: VALUE`, indented with spaces below its section"
    }
}

/// `limits.body_bytes: …` written as one key.
fn dotted(path: &str, origin: Origin) -> Fault {
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    Fault {
        code: Code::UnknownKey,
        key: path.to_owned(),
        value: None,
        origin,
        wrong: "a key path in one word".to_owned(),
        fix: format!("write `{section}:` and below it, indented, `{name}:`"),
    }
}

// ----------------------------------------------------------------------------------------------------------- Node

struct NodeVisitor;

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Bare(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut mapping = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            mapping.push(entry);
        }
        Ok(Node::Mapping(mapping))
    }
}
