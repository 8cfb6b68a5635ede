//! The environment: variables that begin with `LOADPROOF_`, read once and handed on.
//!
//! A name that is neither a key's nor [`CONFIG_VARIABLE`] is a fault, since a typo would switch a limit off in silence. One
//! exception is forced by Kubernetes: for a Service called `loadproof` it puts `LOADPROOF_SERVICE_HOST`, `LOADPROOF_PORT`
//! and their like into every pod of the namespace. They are ignored with a warning.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::draft::{Found, Raw, Written};
use crate::effective::Warning;
use crate::fault::{Code, Fault};
use crate::key::{PREFIX, environment_name};
use crate::keys::TABLE;
use crate::nearest::nearest;
use crate::origin::Origin;

/// Names the configuration file where no `--config` does.
pub const CONFIG_VARIABLE: &str = "LOADPROOF_CONFIG";

/// The variables that concern us.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment(BTreeMap<String, OsString>);

impl Environment {
    /// The environment of this process, as it is now.
    #[must_use]
    pub fn of_process() -> Self {
        Self::of(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))),
        )
    }

    /// An environment made of `pairs`, of which those without our prefix are left out.
    pub fn of<N: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self(pairs.filter(|(name, _)| name.starts_with(PREFIX)).collect())
    }

    /// The value of [`CONFIG_VARIABLE`], unless it is empty.
    #[must_use]
    pub fn config_file(&self) -> Option<&OsString> {
        self.0
            .get(CONFIG_VARIABLE)
            .filter(|value| !value.is_empty())
    }

    /// What the variables say.
    pub(crate) fn read(&self) -> Found {
        let mut found = Found::default();
        let mut links = Vec::new();
        for (name, value) in self.0.iter().filter(|(name, _)| *name != CONFIG_VARIABLE) {
            let origin = Origin::Environment { name: name.clone() };
            let path = TABLE
                .iter()
                .map(|key| key.path())
                .find(|path| environment_name(path) == *name);
            match (path, value.to_str()) {
                (Some(path), Some(text)) => {
                    let raw = Raw::One(text.to_owned());
                    found.values.push((path, Written { raw, origin }));
                }
                (Some(path), None) => found.faults.push(not_text(path, origin)),
                (None, text) if is_service_link(name, text.unwrap_or_default()) => {
                    links.push(name.as_str());
                }
                (None, _) => found.faults.push(unknown_variable(name, origin)),
            }
        }
        if let Some(first) = links.first() {
            found
                .warnings
                .push(service_links_ignored(first, links.len()));
        }
        found
    }
}

/// Whether Kubernetes makes such a variable for a Service whose name begins with ours.
fn is_service_link(name: &str, value: &str) -> bool {
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || (name.ends_with("_PORT") && value.contains("://"))
        || is_numbered_port(name)
}

/// `…_PORT_8080_TCP` and what may follow it.
fn is_numbered_port(name: &str) -> bool {
    let mut parts = name
        .split_once("_PORT_")
        .map_or("", |(_, rest)| rest)
        .split('_');
    let number = parts.next().unwrap_or_default();
    let protocol = parts.next().unwrap_or_default();
    !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && ["TCP", "UDP", "SCTP"].contains(&protocol)
}

fn service_links_ignored(first: &str, count: usize) -> Warning {
    Warning {
        key: String::new(),
        origin: Origin::Environment {
            name: first.to_owned(),
        },
        wrong: format!(
            "{count} variables that Kubernetes makes for a Service called loadproof were ignored"
        ),
        advice: "set enableServiceLinks: false in the pod".to_owned(),
    }
}

fn not_text(path: &str, origin: Origin) -> Fault {
    Fault {
        code: Code::Value,
        key: path.to_owned(),
        value: None,
        origin,
        wrong: "not UTF-8".to_owned(),
        fix: "write the value in UTF-8".to_owned(),
    }
}

fn unknown_variable(name: &str, origin: Origin) -> Fault {
    let mut names: Vec<String> = TABLE
        .iter()
        .map(|key| environment_name(key.path()))
        .collect();
    names.push(CONFIG_VARIABLE.to_owned());
    let fix = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "unset it; `loadproof config reference` lists every variable".to_owned(),
    };
    Fault {
        code: Code::UnknownKey,
        key: String::new(),
        value: None,
        origin,
        wrong: "unknown variable".to_owned(),
        fix,
    }
}

#[cfg(test)]
mod tests {
    use super::is_service_link;

    #[test]
    fn variables_of_a_kubernetes_service_are_told_from_typos() {
        for (name, value, link) in [
            ("LOADPROOF_SERVICE_HOST", "10.0.0.1", true),
            ("LOADPROOF_SERVICE_PORT", "8080", true),
            ("LOADPROOF_SERVICE_PORT_METRICS", "9464", true),
            ("LOADPROOF_PORT", "tcp://10.0.0.1:8080", true),
            ("LOADPROOF_PORT_8080_TCP", "tcp://10.0.0.1:8080", true),
            ("LOADPROOF_PORT_8080_TCP_PROTO", "tcp", true),
            ("LOADPROOF_PORT_8080_TCP_PORT", "8080", true),
            ("LOADPROOF_PORT_8080_TCP_ADDR", "10.0.0.1", true),
            ("LOADPROOF_ADMIN_PORT_53_UDP", "udp://10.0.0.1:53", true),
            ("LOADPROOF_PORT", "8080", false),
            ("LOADPROOF_UPSTREAM_PORT", "8000", false),
            ("LOADPROOF_LIMITS_BODY_BYTE", "1", false),
            ("LOADPROOF_TCP_KEEPALIVE", "1s", false),
        ] {
            assert_eq!(is_service_link(name, value), link, "{name}={value}");
        }
    }
}
