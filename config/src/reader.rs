//! Reads keys out of the draft and notes what happens.
//!
//! A value that cannot be read is noted, and its default stands in until the end so that the other faults, also those
//! between values, are found in the same pass.

use crate::draft::{Draft, Found, Written};
use crate::effective::{Setting, Warning};
use crate::fault::{Code, Complaint, Fault, shown};
use crate::key::{Key, environment_name};
use crate::kind::Kind;
use crate::origin::Origin;

/// What was read so far, and what was noted.
pub(crate) struct Reader {
    draft: Draft,
    pub(crate) settings: Vec<Setting>,
    pub(crate) notes: Found,
    /// Keys whose value is only standing in.
    spoilt: Vec<&'static str>,
}

impl Reader {
    /// A reader of `draft`, with the `notes` that were made while it was gathered.
    pub(crate) fn new(draft: Draft, notes: Found) -> Self {
        Self {
            draft,
            settings: Vec::new(),
            notes,
            spoilt: Vec::new(),
        }
    }

    /// The value of `key`, from the draft or the default.
    pub(crate) fn take<K: Kind>(&mut self, key: &Key<K>) -> K::Value {
        let stand_in = || ((key.default)(), Origin::Default);
        let (value, origin) = self.read(key).unwrap_or_else(stand_in);
        self.settings.push(Setting {
            key: key.path,
            value: key.kind.show(&value),
            origin,
        });
        value
    }

    /// As [`Reader::take`], for a count of things that are held in memory. No such key's range exceeds 32 bits.
    pub(crate) fn take_usize<K: Kind<Value = u64>>(&mut self, key: &Key<K>) -> usize {
        usize::try_from(self.take(key)).unwrap_or(usize::MAX)
    }

    /// As [`Reader::take`], for a count whose range is within 32 bits.
    pub(crate) fn take_u32<K: Kind<Value = u64>>(&mut self, key: &Key<K>) -> u32 {
        u32::try_from(self.take(key)).unwrap_or(u32::MAX)
    }

    /// What was written for `key`, or `None` where there is nothing or nothing that can be used.
    fn read<K: Kind>(&mut self, key: &Key<K>) -> Option<(K::Value, Origin)> {
        let Some(written) = self.draft.get(key.path) else {
            if key.required {
                self.missing(key);
            }
            return None;
        };
        match key.kind.read(written) {
            Ok(value) => Some((value, written.origin.clone())),
            Err(complaints) => {
                let complaints = complaints.into_iter();
                let faults = complaints.map(|complaint| fault(key.path, written, complaint));
                self.notes.faults.extend(faults);
                self.spoilt.push(key.path);
                None
            }
        }
    }

    /// A required key was not given. Nothing is said where the file that may give it could not be read to its end.
    fn missing<K: Kind>(&mut self, key: &Key<K>) {
        self.spoilt.push(key.path);
        let mut faults = self.notes.faults.iter();
        if !faults.any(|fault| fault.code == Code::Syntax) {
            self.notes.faults.push(missing(key));
        }
    }

    /// The setting of `path`, unless its value could not be read.
    pub(crate) fn sound(&self, path: &str) -> Option<Setting> {
        let sound = |setting: &&Setting| setting.key == path && !self.spoilt.contains(&path);
        self.settings.iter().find(sound).cloned()
    }

    /// Notes that the values of `first` and `second` cannot both hold. It is said at the one that somebody wrote.
    pub(crate) fn conflict(
        &mut self,
        (first, second): (&Setting, &Setting),
        wrong: String,
        fix: String,
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
