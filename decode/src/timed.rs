//! Timed recordings: a JSON object a line, each with the time since the request was sent and what came then.
//!
//! ```text
//! {"at_ms":40,"head":{"path":"/v1/chat/completions","status":200,"content-type":"text/event-stream"}}
//! {"at_ms":150,"data":"data: {…}\n\n"}
//! {"at_ms":430,"end":"clean"}
//! ```
//!
//! `data` is one read of the body as text, `base64` one that is no text. `end` is `clean`, `truncated` or `reset`; without it
//! the recording broke off, and so is taken the answer. Times are milliseconds and never go back.

use crate::head::Head;
use crate::recording::{Read, Recorded, Recording};
use crate::{Error, Form};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::{End, Nanos};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Line {
    at_ms: f64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Head(BTreeMap<String, Value>),
    Data(String),
    Base64(String),
    End(Ending),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ending {
    Clean,
    Truncated,
    Reset,
}

/// Whether the first line is one of a timed recording.
pub(crate) fn is_timed(text: &[u8]) -> bool {
    text.trim_ascii_start()
        .strip_prefix(b"{")
        .is_some_and(|inside| inside.trim_ascii_start().starts_with(b"\"at_ms\""))
}

/// The one answer of a timed recording.
pub(crate) fn read(text: &[u8]) -> Result<Recording, Error> {
    let mut recorded = Recorded {
        entry: None,
        path: None,
        head: Head {
            status: 200,
            ..Head::default()
        },
        head_at: None,
        reads: Vec::new(),
        end: End::Truncated,
        end_at: Some(Nanos::ZERO),
        request: None,
        notes: Vec::new(),
    };
    let mut before = 0.0;
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    for (place, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let number = place + 1;
        let line: Line = serde_json::from_slice(line).map_err(|source| Error::Timed {
            line: number,
            source,
        })?;
        if line.at_ms < before {
            return Err(Error::TimeWentBack {
                line: number,
                at: line.at_ms,
            });
        }
        before = line.at_ms;
        recorded.take(line.what, nanos(line.at_ms), number)?;
    }
    Ok(Recording {
        form: Form::Timed,
        answers: vec![recorded],
        notes: Vec::new(),
    })
}

impl Recorded {
    fn take(&mut self, what: What, at: Nanos, number: usize) -> Result<(), Error> {
        self.end_at = Some(at);
        match what {
            What::Head(members) => self.take_head(&members, at),
            What::Data(text) => self.reads.push(Read {
                at,
                bytes: text.into_bytes(),
            }),
            What::Base64(text) => {
                let bytes = STANDARD.decode(text).map_err(|source| Error::Base64 {
                    place: format!("line {number}"),
                    source,
                })?;
                self.reads.push(Read { at, bytes });
            }
            What::End(Ending::Clean) => self.end = End::Clean,
            What::End(Ending::Truncated) => self.end = End::Truncated,
            What::End(Ending::Reset) => self.end = End::Reset,
        }
        Ok(())
    }

    fn take_head(&mut self, members: &BTreeMap<String, Value>, at: Nanos) {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let status = members.get("status").and_then(Value::as_u64);
        let fields: Vec<(String, String)> = members
            .iter()
            .map(|(name, value)| (name.clone(), text(value)))
            .collect();
        let status = status.and_then(|status| u16::try_from(status).ok());
        self.head = Head::of(status.unwrap_or(200), &fields);
        self.head_at = Some(at);
        self.path = members.get("path").map(text);
        self.request = members.get("request").map(|body| text(body).into_bytes());
    }
}

/// Rounded down to a nanosecond.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the caller refuses what is negative; a float that is too large becomes the largest"
)]
fn nanos(ms: f64) -> Nanos {
    Nanos((ms * 1e6) as u64)
}
