//! HAR files (HTTP Archive 1.2), as browsers and proxies export them. A browser's has the body unpacked and no times within it.

use crate::head::Head;
use crate::recording::{Read, Recorded, Recording};
use crate::{Error, Form, route};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::{End, Nanos};
use serde::Deserialize;

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    method: String,
    url: String,
    #[serde(rename = "postData")]
    post: Option<Text>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    content: Text,
    /// Chrome's word for an answer that broke off.
    #[serde(rename = "_error")]
    error: Option<String>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    value: String,
}

#[derive(Deserialize, Default)]
struct Text {
    text: Option<String>,
    encoding: Option<String>,
}

/// Whether a file is an object whose first member is `log`.
pub(crate) fn is_har(text: &[u8]) -> bool {
    text.trim_ascii_start()
        .strip_prefix(b"{")
        .is_some_and(|inside| inside.trim_ascii_start().starts_with(b"\"log\""))
}

/// The entries that are answers of known routes, or the one asked for.
pub(crate) fn read(text: &[u8], wanted: Option<usize>) -> Result<Recording, Error> {
    let har: Har = serde_json::from_slice(text).map_err(|source| Error::Har { source })?;
    let entries = har.log.entries.len();
    if let Some(entry) = wanted.filter(|entry| *entry >= entries) {
        return Err(Error::EntryOutOfRange { entry, entries });
    }
    let answers = har
        .log
        .entries
        .into_iter()
        .enumerate()
        .filter(|(place, entry)| match wanted {
            Some(wanted) => *place == wanted,
            None => entry.is_known(),
        })
        .map(|(place, entry)| entry.recorded(place))
        .collect::<Result<Vec<_>, _>>()?;
    if answers.is_empty() {
        return Err(Error::NoEntry { entries });
    }
    let others = entries - answers.len();
    let notes = (others > 0 && wanted.is_none())
        .then(|| format!("{others} of {entries} entries are no POST to a known route"));
    Ok(Recording {
        form: Form::Har,
        answers,
        notes: notes.into_iter().collect(),
    })
}

// ---- Entry

impl Entry {
    fn is_known(&self) -> bool {
        self.request.method == "POST" && route::of_path(&route::path(&self.request.url)).is_some()
    }

    fn recorded(self, place: usize) -> Result<Recorded, Error> {
        let content = self.response.content;
        let mut notes = Vec::new();
        let bytes = match (content.text, content.encoding.as_deref()) {
            (None, _) => {
                notes
                    .push("the file has no body of this entry: export it with contents".to_owned());
                Vec::new()
            }
            (Some(text), Some("base64")) => {
                STANDARD
                    .decode(text.trim())
                    .map_err(|source| Error::Base64 {
                        place: format!("entry {place}"),
                        source,
                    })?
            }
            (Some(text), _) => text.into_bytes(),
        };
        let fields: Vec<(String, String)> = self
            .response
            .headers
            .into_iter()
            .map(|field| (field.name, field.value))
            .collect();
        let end = match self.response.error {
            Some(error) => {
                notes.push(format!("the recorder says that it broke off: {error}"));
                End::Truncated
            }
            None => {
                notes.push(
                    "a HAR file does not say how the body ended: whole is assumed".to_owned(),
                );
                End::Clean
            }
        };
        let mut recorded = Recorded {
            entry: Some(place),
            path: Some(route::path(&self.request.url)),
            head: Head::of(self.response.status, &fields),
            head_at: None,
            reads: vec![Read {
                at: Nanos::ZERO,
                bytes,
            }],
            end,
            end_at: None,
            request: self
                .request
                .post
                .and_then(|post| post.text)
                .map(String::into_bytes),
            notes,
        };
        recorded.note_undone_coding();
        Ok(recorded)
    }
}
