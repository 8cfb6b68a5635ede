//! Written values to [`Checked`], or every fault.
//!
//! A value that cannot be read is noted, and its default stands in until the end so that the other faults, also those
//! between values, are found in the same pass. What stands in never gets out: one fault and there is no [`Effective`].

use std::fmt;

use serde_json::{Value, json};

use crate::checked::{Checked, Drain, Limits, Log, Models, Shape, Slo, Upstream};
use crate::cross;
use crate::draft::{Draft, Flag, Found, Written};
use crate::environment::Environment;
use crate::fault::{Code, Complaint, Fault, Faults, shown};
use crate::key::{Key, environment_name};
use crate::keys;
use crate::kind::Kind;
use crate::origin::Origin;

/// Everything that may say something about the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The file, already read.
    pub file: Option<FileText<'a>>,
    /// The environment.
    pub environment: &'a Environment,
    /// Flags, in the order given.
    pub flags: &'a [Flag],
}

/// A file's name and content.
#[derive(Debug, Clone, Copy)]
pub struct FileText<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// Content.
    pub text: &'a str,
}

/// A configuration without a fault, and where each value came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The values.
    pub checked: Checked,
    /// Each key with its value as it would be written, in the order of the file.
    pub settings: Vec<Setting>,
    /// What is allowed but likely not meant.
    pub warnings: Vec<Warning>,
}

/// One key in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Key path.
    pub key: &'static str,
    /// Value as it would be written in the file.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// What is allowed but likely not meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Key path; empty where no one key is meant.
    pub key: String,
    /// Where the value came from.
    pub origin: Origin,
    /// What is odd about it.
    pub wrong: String,
    /// What to do about it.
    pub advice: String,
}

/// Reads keys out of the draft and notes what happens.
pub(crate) struct Reader {
    draft: Draft,
    settings: Vec<Setting>,
    notes: Found,
    /// Keys whose value is only standing in.
    spoilt: Vec<&'static str>,
}

/// The configuration that `sources` say, or everything that is wrong with it.
///
/// # Errors
/// [`Faults`], all of them at once.
pub fn check(sources: &Sources<'_>) -> Result<Effective, Faults> {
    let mut notes = Found::default();
    let draft = Draft::gather(sources, &mut notes);
    let mut reader = Reader {
        draft,
        settings: Vec::new(),
        notes,
        spoilt: Vec::new(),
    };
    let checked = checked(&mut reader);
    cross::check(&checked, &mut reader);
    match Faults::sorted(reader.notes.faults) {
        Some(faults) => Err(faults),
        None => Ok(Effective {
            checked,
            settings: reader.settings,
            warnings: reader.notes.warnings,
        }),
    }
}

// ---------------------------------------------------------------------------------------- one line for every field

fn checked(reader: &mut Reader) -> Checked {
    Checked {
        listen: reader.take(&keys::LISTEN),
        admin: reader.take(&keys::ADMIN_LISTEN),
        upstream: upstream(reader),
        models: Models {
            names: reader.take(&keys::MODELS_NAMES),
            learn: reader.take(&keys::MODELS_LEARN),
        },
        shape: Shape {
            input_len: reader.take(&keys::SHAPE_INPUT_LEN),
            output_len: reader.take(&keys::SHAPE_OUTPUT_LEN),
            concurrency: reader.take(&keys::SHAPE_CONCURRENCY),
            max_cells: reader.take_usize(&keys::SHAPE_MAX_CELLS),
        },
        slo: Slo {
            ttft: reader.take(&keys::SLO_TTFT),
            tpot: reader.take(&keys::SLO_TPOT),
            e2e: reader.take(&keys::SLO_E2E),
        },
        limits: limits(reader),
        drain: Drain {
            delay: reader.take(&keys::DRAIN_DELAY),
            timeout: reader.take(&keys::DRAIN_TIMEOUT),
        },
        log: Log {
            level: reader.take(&keys::LOG_LEVEL),
            format: reader.take(&keys::LOG_FORMAT),
        },
    }
}

fn upstream(reader: &mut Reader) -> Upstream {
    let engine = reader.take(&keys::UPSTREAM_URL);
    Upstream {
        host: engine.host,
        port: engine.port,
        connect_timeout: reader.take(&keys::UPSTREAM_CONNECT_TIMEOUT),
        idle_timeout: reader.take(&keys::UPSTREAM_IDLE_TIMEOUT),
        max_idle: reader.take_usize(&keys::UPSTREAM_MAX_IDLE),
        ttft_timeout: reader.take(&keys::UPSTREAM_TTFT_TIMEOUT),
        silence_timeout: reader.take(&keys::UPSTREAM_SILENCE_TIMEOUT),
    }
}

fn limits(reader: &mut Reader) -> Limits {
    Limits {
        connections: reader.take_usize(&keys::LIMITS_CONNECTIONS),
        head_bytes: reader.take_usize(&keys::LIMITS_HEAD_BYTES),
        head_fields: reader.take_usize(&keys::LIMITS_HEAD_FIELDS),
        head_timeout: reader.take(&keys::LIMITS_HEAD_TIMEOUT),
        body_bytes: reader.take(&keys::LIMITS_BODY_BYTES),
        client_idle: reader.take(&keys::LIMITS_CLIENT_IDLE),
        client_write: reader.take(&keys::LIMITS_CLIENT_WRITE),
        queue_bytes: reader.take_usize(&keys::LIMITS_QUEUE_BYTES),
        queue_bytes_max: reader.take_usize(&keys::LIMITS_QUEUE_BYTES_MAX),
        queue_bytes_total: reader.take_usize(&keys::LIMITS_QUEUE_BYTES_TOTAL),
    }
}

// --------------------------------------------------------------------------------------------------------- Reader

impl Reader {
    /// The value of `key`, from the draft or the default.
    fn take<K: Kind>(&mut self, key: &Key<K>) -> K::Value {
        let (value, origin) = match self.draft.get(key.path) {
            Some(written) => match key.kind.read(written) {
                Ok(value) => (value, written.origin.clone()),
                Err(complaints) => {
                    let faults = complaints
                        .into_iter()
                        .map(|complaint| fault(key.path, written, complaint));
                    self.notes.faults.extend(faults);
                    self.spoilt.push(key.path);
                    ((key.default)(), Origin::Default)
                }
            },
            None => {
                if key.required {
                    self.missing(key);
                }
                ((key.default)(), Origin::Default)
            }
        };
        self.settings.push(Setting {
            key: key.path,
            value: key.kind.show(&value),
            origin,
        });
        value
    }

    /// A required key was not given. Nothing is said where the file that may give it could not be read to its end.
    fn missing<K: Kind>(&mut self, key: &Key<K>) {
        self.spoilt.push(key.path);
        if !self
            .notes
            .faults
            .iter()
            .any(|fault| fault.code == Code::Syntax)
        {
            self.notes.faults.push(missing(key));
        }
    }

    /// As [`Reader::take`], for a count of things that are held in memory. No such key's range exceeds 32 bits.
    fn take_usize<K: Kind<Value = u64>>(&mut self, key: &Key<K>) -> usize {
        usize::try_from(self.take(key)).unwrap_or(usize::MAX)
    }

    /// The settings of `paths`, unless one of them could not be read.
    pub(crate) fn sound<const N: usize>(&self, paths: [&str; N]) -> Option<[Setting; N]> {
        if paths.iter().any(|path| self.spoilt.contains(path)) {
            return None;
        }
        let found = paths.map(|path| self.settings.iter().find(|setting| setting.key == path));
        if found.iter().any(Option::is_none) {
            return None;
        }
        let default = || Setting {
            key: "",
            value: Value::Null,
            origin: Origin::Default,
        };
        Some(found.map(|setting| setting.map_or_else(default, Setting::clone)))
    }

    /// Notes that the values of `first` and `second` cannot both hold. It is said at the one that somebody wrote.
    pub(crate) fn conflict(
        &mut self,
        first: &Setting,
        second: &Setting,
        (wrong, fix): (String, String),
    ) {
        let at = if first.origin == Origin::Default {
            second
        } else {
            first
        };
        self.notes.faults.push(Fault {
            code: Code::Conflict,
            key: at.key.to_owned(),
            value: Some(at.text()),
            origin: at.origin.clone(),
            wrong,
            fix,
        });
    }

    pub(crate) fn warn(&mut self, at: &Setting, wrong: String, advice: &str) {
        self.notes.warnings.push(Warning {
            key: at.key.to_owned(),
            origin: at.origin.clone(),
            wrong,
            advice: advice.to_owned(),
        });
    }
}

fn fault(path: &str, written: &Written, complaint: Complaint) -> Fault {
    let (key, written) = match complaint.item {
        Some(index) => (format!("{path}[{index}]"), written.item(index)),
        None => (path.to_owned(), written.clone()),
    };
    Fault {
        code: complaint.code,
        key,
        value: written.text().map(shown),
        origin: written.origin,
        wrong: complaint.wrong,
        fix: complaint.fix,
    }
}

fn missing<K: Kind>(key: &Key<K>) -> Fault {
    let flag = key.flag.unwrap_or("--set");
    Fault {
        code: Code::Missing,
        key: key.path.to_owned(),
        value: None,
        origin: Origin::Default,
        wrong: "not given, and it has no default".to_owned(),
        fix: format!(
            "give {} by {flag}, {} or the file",
            key.kind.range(),
            environment_name(key.path)
        ),
    }
}

// ------------------------------------------------------------------------------------------- Setting and Warning

impl Setting {
    /// The value without quotes.
    pub(crate) fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Setting {
    /// `limits.queue_bytes (256KiB, default)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.key, self.text(), self.origin)
    }
}

impl Warning {
    /// The warning as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "source": self.origin.to_json(),
            "wrong": self.wrong,
            "advice": self.advice,
        })
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
            write!(f, "{}: ", self.origin)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}\n  advice: {}", self.wrong, self.advice)
    }
}
