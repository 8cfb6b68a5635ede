//! JSON written anew without white space, and JSON that broke off, ended.

use super::Cursor;
use crate::limits;

/// The value without white space between its parts, and without the members of objects that are named in `without`; what
/// came of it, if it is no JSON.
pub(crate) fn plain(value: &[u8], without: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    // Where it breaks, what was written stands.
    let _ = write(&mut Cursor::new(value), without, &mut out);
    out
}

fn write(cursor: &mut Cursor<'_>, without: &[&[u8]], out: &mut Vec<u8>) -> Option<()> {
    match cursor.peek()? {
        b'{' => {
            out.push(b'{');
            let mut first = true;
            cursor.object(|cursor, key| {
                if without.contains(&key) {
                    return cursor.skip();
                }
                comma(&mut first, out);
                out.push(b'"');
                out.extend_from_slice(key);
                out.extend_from_slice(b"\":");
                write(cursor, without, out)
            })?;
            out.push(b'}');
        }
        b'[' => {
            out.push(b'[');
            let mut first = true;
            cursor.array(|cursor| {
                comma(&mut first, out);
                write(cursor, without, out)
            })?;
            out.push(b']');
        }
        _ => out.extend_from_slice(cursor.raw()?),
    }
    Some(())
}

fn comma(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::replace(first, false) {
        out.push(b',');
    }
}

/// A text that broke off, ended: a string value that is open is closed, and so is every list and object around it; a key
/// without its value, a number or a word that may go on are left out.
pub(crate) fn completed(text: &[u8]) -> Vec<u8> {
    let mut broken = Broken::default();
    for (at, byte) in text.iter().enumerate() {
        broken.take(at, *byte);
    }
    let (end, close): (_, &[u8]) = match broken.string {
        Some(Within::Value) => (text.len(), b"\""),
        Some(Within::Escape { begin, .. }) if !broken.in_key => (begin, b"\""),
        _ => (broken.whole, b""),
    };
    let mut out = text.get(..end).unwrap_or(text).to_vec();
    out.extend_from_slice(close);
    out.extend(broken.open.iter().rev());
    out
}

/// A text up to where it broke.
#[derive(Default)]
struct Broken {
    /// What closes the open objects and lists, the outermost first.
    open: Vec<u8>,
    string: Option<Within>,
    /// A string that begins is a key.
    at_key: bool,
    /// The string at hand, or the last one, is a key.
    in_key: bool,
    /// All before this is whole, but for what is open.
    whole: usize,
}

#[derive(Clone, Copy)]
enum Within {
    Value,
    Key,
    /// `left` bytes of it have not come.
    Escape {
        begin: usize,
        left: Option<u8>,
    },
}

impl Broken {
    fn take(&mut self, at: usize, byte: u8) {
        let Some(string) = self.string else {
            return self.structure(at, byte);
        };
        let plain = if self.in_key {
            Within::Key
        } else {
            Within::Value
        };
        self.string = match (string, byte) {
            (Within::Escape { begin, left: None }, b'u') => Some(Within::Escape {
                begin,
                left: Some(4),
            }),
            (
                Within::Escape {
                    begin,
                    left: Some(left),
                },
                _,
            ) if left > 1 => Some(Within::Escape {
                begin,
                left: Some(left - 1),
            }),
            (Within::Escape { .. }, _) => Some(plain),
            (_, b'\\') => Some(Within::Escape {
                begin: at,
                left: None,
            }),
            (_, b'"') => {
                if !self.in_key {
                    self.whole = at + 1;
                }
                None
            }
            _ => Some(plain),
        };
    }

    fn structure(&mut self, at: usize, byte: u8) {
        match byte {
            b'"' => {
                self.in_key = self.at_key;
                self.string = Some(if self.at_key {
                    Within::Key
                } else {
                    Within::Value
                });
            }
            b'{' | b'[' if self.open.len() < limits::JSON_DEPTH => {
                self.open.push(if byte == b'{' { b'}' } else { b']' });
                self.at_key = byte == b'{';
                self.whole = at + 1;
            }
            b'}' | b']' => {
                self.open.pop();
                self.at_key = false;
                self.whole = at + 1;
            }
            b',' => {
                self.at_key = self.open.last() == Some(&b'}');
                self.whole = at;
            }
            b':' => self.at_key = false,
            _ => {}
        }
    }
}
