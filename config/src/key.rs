//! One row of the table of keys.
//!
//! A key is typed by its kind, so that the value read for it fits the field it fills; [`AnyKey`] is the same row with the
//! type taken away, for everything that walks the table.

use serde_json::Value;

use crate::kind::Kind;

/// Prefix of every environment variable.
pub(crate) const PREFIX: &str = "LOADPROOF_";

/// One row: how a key is called, read, defaulted and described.
pub(crate) struct Key<K: Kind> {
    pub(crate) path: &'static str,
    pub(crate) kind: K,
    pub(crate) default: fn() -> K::Value,
    /// No default: `default` only stands in while the other faults are found.
    pub(crate) required: bool,
    pub(crate) flag: Option<&'static str>,
    pub(crate) doc: &'static str,
}

/// A row of any kind.
pub(crate) trait AnyKey: Sync {
    fn path(&self) -> &'static str;
    fn doc(&self) -> KeyDoc;
    fn schema(&self) -> Value;
}

/// What is known about a key, for help, reference and completion.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDoc {
    /// Path in the file, such as `limits.queue_bytes`.
    pub path: &'static str,
    /// Environment variable, such as `LOADPROOF_LIMITS_QUEUE_BYTES`.
    pub environment: String,
    /// Flag of `loadproof proxy`, where there is one of its own; `--set PATH=VALUE` works for every key.
    pub flag: Option<&'static str>,
    /// What the value is, such as `duration`.
    pub kind: String,
    /// Which values are allowed; empty where the kind says it all.
    pub range: String,
    /// Default as it would be written; `None` where the key must be given.
    pub default: Option<Value>,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
}

impl<K: Kind> Key<K> {
    pub(crate) const fn new(path: &'static str, kind: K, default: fn() -> K::Value) -> Self {
        Self {
            path,
            kind,
            default,
            required: false,
            flag: None,
            doc: "",
        }
    }

    /// A key that must be given. `stand_in` never leaves the check.
    pub(crate) const fn required(path: &'static str, kind: K, stand_in: fn() -> K::Value) -> Self {
        let mut key = Self::new(path, kind, stand_in);
        key.required = true;
        key
    }

    pub(crate) const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    pub(crate) const fn doc(mut self, doc: &'static str) -> Self {
        self.doc = doc;
        self
    }
}

impl<K: Kind> AnyKey for Key<K> {
    fn path(&self) -> &'static str {
        self.path
    }

    fn doc(&self) -> KeyDoc {
        KeyDoc {
            path: self.path,
            environment: environment_name(self.path),
            flag: self.flag,
            kind: self.kind.name(),
            range: self.kind.range(),
            default: (!self.required).then(|| self.kind.show(&(self.default)())),
            doc: self.doc,
        }
    }

    fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), Value::from(self.doc));
            if !self.required {
                fields.insert("default".to_owned(), self.kind.show(&(self.default)()));
            }
        }
        schema
    }
}

/// `limits.queue_bytes` → `LOADPROOF_LIMITS_QUEUE_BYTES`.
pub(crate) fn environment_name(path: &str) -> String {
    format!("{PREFIX}{}", path.replace('.', "_").to_ascii_uppercase())
}
