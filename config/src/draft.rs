//! What was written, before anything reads it.
//!
//! Every value is text, or a list of texts, with the place it came from. Here it is decided which source wins; what a
//! value means is decided by its kind.

use std::collections::BTreeMap;

use crate::check::Sources;
use crate::effective::Warning;
use crate::fault::{Code, Complaint, Fault, shown};
use crate::keys::{SECTIONS, TABLE};
use crate::nearest::nearest;
use crate::origin::Origin;
use crate::yaml;

/// One value as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    pub(crate) raw: Raw,
    pub(crate) origin: Origin,
}

/// The forms a written value can have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Raw {
    /// A key with nothing after it, or a null.
    Nothing,
    One(String),
    List(Vec<Written>),
    Mapping,
}

/// A value given on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Flag {
    name: String,
    path: String,
    raw: Raw,
}

/// The written value of each key, from the source that wins.
#[derive(Debug, Default)]
pub(crate) struct Draft(BTreeMap<&'static str, Written>);

/// What one source says: values of known keys, in its order.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) values: Vec<(&'static str, Written)>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Warning>,
}

// -------------------------------------------------------------------------------------------------------- Written

impl Written {
    /// The text of one value, without space around it. `kind` names what belongs here.
    pub(crate) fn one(&self, kind: &str) -> Result<&str, Complaint> {
        match &self.raw {
            Raw::One(text) if !text.trim().is_empty() => Ok(text.trim()),
            Raw::One(_) | Raw::Nothing => Err(self.empty()),
            Raw::List(_) => Err(wrong_shape("a list", kind)),
            Raw::Mapping => Err(wrong_shape("a mapping", kind)),
        }
    }

    /// The texts of a list. In a file it is a YAML list, elsewhere commas divide it and an empty text is an empty list.
    pub(crate) fn many(&self, kind: &str) -> Result<Vec<Result<&str, Complaint>>, Complaint> {
        match &self.raw {
            Raw::List(items) => Ok(items.iter().map(|item| item.one(kind)).collect()),
            Raw::One(text) if self.is_in_file() => Err(Complaint::new(
                Code::Shape,
                "one value where a list belongs",
                format!("write it in brackets, [{}]", text.trim()),
            )),
            Raw::One(text) if text.trim().is_empty() => Ok(Vec::new()),
            Raw::One(text) => Ok(text
                .split(',')
                .map(|item| non_empty(item.trim(), kind))
                .collect()),
            Raw::Nothing => Err(Complaint::new(
                Code::Shape,
                "a key without a value",
                "write [] for an empty list, or remove the key",
            )),
            Raw::Mapping => Err(wrong_shape("a mapping", "list")),
        }
    }

    /// The value as a message shows it.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.raw {
            Raw::One(text) => Some(text),
            Raw::Nothing | Raw::List(_) | Raw::Mapping => None,
        }
    }

    /// The item `index` of a list, with its own place if it has one.
    pub(crate) fn item(&self, index: usize) -> Self {
        match &self.raw {
            Raw::List(items) => items.get(index).unwrap_or(self).clone(),
            Raw::One(text) => Self {
                raw: Raw::One(
                    text.split(',')
                        .nth(index)
                        .unwrap_or_default()
                        .trim()
                        .to_owned(),
                ),
                origin: self.origin.clone(),
            },
            Raw::Nothing | Raw::Mapping => self.clone(),
        }
    }

    fn is_in_file(&self) -> bool {
        matches!(self.origin, Origin::File { .. })
    }

    fn empty(&self) -> Complaint {
        let remove = match self.origin {
            Origin::Environment { .. } => "unset the variable",
            Origin::Flag { .. } => "leave the flag out",
            Origin::File { .. } | Origin::Default => "remove the key",
        };
        Complaint::new(
            Code::Shape,
            "a key without a value",
            format!("give it a value or {remove}"),
        )
    }
}

fn non_empty<'a>(item: &'a str, kind: &str) -> Result<&'a str, Complaint> {
    if item.is_empty() {
        return Err(Complaint::new(
            Code::Shape,
            "an empty item",
            format!("give one {kind} between two commas"),
        ));
    }
    Ok(item)
}

fn wrong_shape(what: &str, kind: &str) -> Complaint {
    Complaint::new(
        Code::Shape,
        format!("{what} where one {kind} belongs"),
        format!("write one {kind}"),
    )
}

// ----------------------------------------------------------------------------------------------------------- Flag

impl Flag {
    /// A flag with one value: `("--listen", "listen", "127.0.0.1:8080")`. A list is divided by commas.
    #[must_use]
    pub fn one(name: &str, path: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            raw: Raw::One(text.to_owned()),
        }
    }

    /// A flag given several times, each one item of a list. Commas are part of an item.
    #[must_use]
    pub fn many(name: &str, path: &str, texts: &[String]) -> Self {
        let item = |text: &String| Written {
            raw: Raw::One(text.clone()),
            origin: Origin::Flag {
                name: name.to_owned(),
            },
        };
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            raw: Raw::List(texts.iter().map(item).collect()),
        }
    }

    /// `KEY=VALUE`, as `--set` takes it. Text without `=` is a key without a value, which [`crate::check()`] refuses.
    #[must_use]
    pub fn assignment(text: &str) -> Self {
        let (path, raw) = match text.split_once('=') {
            Some((path, value)) => (path, Raw::One(value.to_owned())),
            None => (text, Raw::Nothing),
        };
        Self {
            name: "--set".to_owned(),
            path: path.trim().to_owned(),
            raw,
        }
    }
}

/// What the flags say.
fn from_flags(flags: &[Flag]) -> Found {
    let mut found = Found::default();
    for flag in flags {
        let origin = Origin::Flag {
            name: flag.name.clone(),
        };
        let raw = flag.raw.clone();
        let Some(path) = known_path(&flag.path) else {
            found.faults.push(unknown_key(&flag.path, origin));
            continue;
        };
        if let Some((_, first)) = found.values.iter().find(|(known, _)| *known == path) {
            found.faults.push(twice(path, origin, &first.origin));
            continue;
        }
        found.values.push((path, Written { raw, origin }));
    }
    found
}

// ---------------------------------------------------------------------------------------------------------- Draft

impl Draft {
    /// What all sources say, a flag over the environment over the file. Faults of form and warnings go into `notes`.
    pub(crate) fn gather(sources: &Sources<'_>, notes: &mut Found) -> Self {
        let file = sources
            .file
            .as_ref()
            .map(|file| yaml::read(file.name, file.text))
            .unwrap_or_default();
        let mut draft = Self::default();
        for found in [file, sources.environment.read(), from_flags(sources.flags)] {
            draft.0.extend(found.values);
            notes.faults.extend(found.faults);
            notes.warnings.extend(found.warnings);
        }
        draft
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Written> {
        self.0.get(path)
    }
}

// ---------------------------------------------------------------------------------------------------- known names

/// The table's own copy of `path`.
pub(crate) fn known_path(path: &str) -> Option<&'static str> {
    TABLE
        .iter()
        .map(|key| key.path())
        .find(|known| *known == path)
}

/// A fault for a key that the table does not have.
pub(crate) fn unknown_key(path: &str, origin: Origin) -> Fault {
    let (section, last) = path.rsplit_once('.').unwrap_or(("", path));
    let nested =
        matches!(origin, Origin::File { .. }) && known_path(last).is_some() && !section.is_empty();
    let sections = SECTIONS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.is_empty());
    let names = TABLE.iter().map(|key| key.path()).chain(sections);
    let fix = match nearest(path, names) {
        _ if nested => format!("`{last}` stands at the top level: write it without indentation"),
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("remove it; known here are {}", known_below(section)),
    };
    Fault {
        code: Code::UnknownKey,
        key: shown(path),
        value: None,
        origin,
        wrong: "unknown key".to_owned(),
        fix,
    }
}

/// The same key a second time in one source.
pub(crate) fn twice(path: &str, origin: Origin, first: &Origin) -> Fault {
    Fault {
        code: Code::Twice,
        key: path.to_owned(),
        value: None,
        origin,
        wrong: format!("given twice, first at {first}"),
        fix: "keep one of them".to_owned(),
    }
}

/// Names that may stand in `section`, or at the top level where there is no such section.
fn known_below(section: &str) -> String {
    let prefix = format!("{section}.");
    let mut names: Vec<&str> = TABLE
        .iter()
        .filter_map(|key| key.path().strip_prefix(&prefix))
        .collect();
    if names.is_empty() {
        names = TABLE
            .iter()
            .filter_map(|key| key.path().split('.').next())
            .collect();
        names.dedup();
    }
    names.join(", ")
}
