//! A request as a server has read it. Bytes are written as the characters U+0000 to U+00FF.

use serde::{Deserialize, Serialize};

/// Fields of one hop, and those that only say how the body comes there.
const OF_THE_HOP: [&str; 5] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "transfer-encoding",
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) method: String,
    pub(crate) target: String,
    /// In the order they came.
    pub(crate) fields: Vec<(String, String)>,
    /// Without framing.
    pub(crate) body: String,
    /// The client's port, as the server saw it.
    pub(crate) connection: String,
}

/// What all servers must agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) method: String,
    pub(crate) target: String,
    /// An empty one is none: some servers can't tell them apart.
    pub(crate) host: String,
    /// In their order; names in lower case, values without white space around them.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Report {
    /// Reads a line that a server printed, if it is a report.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap()
    }

    /// The value of the first field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self
            .fields
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| trimmed(value))
    }

    /// Host apart, since proxies write it first, and since a request that came without one gets the engine's address.
    pub(crate) fn meaning(&self) -> Meaning {
        let fields = self.fields.iter().filter_map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let is_compared = name != "host" && !OF_THE_HOP.contains(&&*name);
            is_compared.then(|| (name, trimmed(value).to_owned()))
        });
        Meaning {
            method: self.method.clone(),
            // That nothing follows the question mark is not told by every server.
            target: self
                .target
                .strip_suffix('?')
                .unwrap_or(&self.target)
                .to_owned(),
            host: self.field("host").unwrap_or_default().to_owned(),
            fields: fields.collect(),
            body: self.body.clone(),
        }
    }
}

fn trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}
