//! The request: where in its body to ask.

use super::Habit;
use super::strip::UsageStrip;
use crate::json::Cursor;
use crate::{Endpoint, EngineKind, RequestFacts};

/// A request that asks for usage.
#[derive(Debug)]
pub struct AskedUsage {
    /// The body, with what was added.
    pub body: Vec<u8>,
    /// What takes the usage out of an event stream that answers it.
    pub strip: UsageStrip,
}

/// The request `body` made to ask for usage; `None` if it is to be sent as it is. `facts` are those of the whole body.
///
/// A member `stream_options` is put before all others, or two members into an object of that name that says nothing of
/// usage; no other byte is changed.
pub fn ask_for_usage(
    body: &[u8],
    kind: EngineKind,
    endpoint: Endpoint,
    facts: &RequestFacts,
) -> Option<AskedUsage> {
    let habit = Habit::of(kind, endpoint, facts)?;
    let place = Place::find(body)?;
    let (from, to, text) = match place.options {
        None => {
            let comma = if place.is_empty { "" } else { "," };
            let text = format!("\"stream_options\":{{{}}}{comma}", habit.options);
            (place.inside, place.inside, text)
        }
        Some(Options::Null { from, to }) => (from, to, format!("{{{}}}", habit.options)),
        // Its presence is a yes already.
        Some(Options::Object { .. }) if kind == EngineKind::Trtllm => return None,
        Some(Options::Object { inside, is_empty }) => {
            let comma = if is_empty { "" } else { "," };
            (inside, inside, format!("{}{comma}", habit.options))
        }
    };
    let mut asking = Vec::with_capacity(body.len() + text.len());
    asking.extend_from_slice(body.get(..from)?);
    asking.extend_from_slice(text.as_bytes());
    asking.extend_from_slice(body.get(to..)?);
    Some(AskedUsage {
        body: asking,
        strip: UsageStrip::new(habit),
    })
}

/// Where in a body to ask.
struct Place {
    /// Just behind the brace that opens it.
    inside: usize,
    is_empty: bool,
    options: Option<Options>,
}

/// What `stream_options` is.
enum Options {
    Null { from: usize, to: usize },
    Object { inside: usize, is_empty: bool },
}

impl Place {
    /// `None` if the body is no JSON object, or leaves a doubt which member an engine goes by.
    fn find(body: &[u8]) -> Option<Self> {
        Cursor::new(body).whole(|cursor| {
            if cursor.peek()? != b'{' {
                return None;
            }
            let mut place = Self {
                inside: cursor.at() + 1,
                is_empty: true,
                options: None,
            };
            cursor.object(|cursor, key| {
                place.is_empty = false;
                if key.contains(&b'\\') {
                    return None;
                }
                if key != b"stream_options" {
                    return cursor.skip();
                }
                if place.options.is_some() {
                    return None;
                }
                place.options = Some(Options::read(cursor)?);
                Some(())
            })?;
            Some(place)
        })
    }
}

impl Options {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        let first = cursor.peek()?;
        let from = cursor.at();
        let is_empty = !cursor.is_filled()?;
        match first {
            b'n' => Some(Self::Null {
                from,
                to: cursor.at(),
            }),
            b'{' => Some(Self::Object {
                inside: from + 1,
                is_empty,
            }),
            _ => None,
        }
    }
}
