//! Messages of a chat, and the parts of their content.

use super::member::{as_text, is_filled};
use super::{Piece, Pieces};
use crate::json::{Cursor, all_text, plain};
use crate::request::{is_image, is_sound};

/// Members of a message or an item that are no part of what the model reads.
const LEFT_OUT: &[&[u8]] = &[
    b"role",
    b"content",
    b"id",
    b"status",
    b"cache_control",
    b"images",
];

/// A list of messages or items, or one text, which is a user's.
pub(super) fn read_messages(value: &[u8], pieces: &mut Pieces) {
    if value.first() == Some(&b'"') {
        pieces.push(Piece::Message("user".to_owned()));
        return read_content(value, pieces);
    }
    // Where it breaks, what was read stands.
    let _ = Cursor::new(value).whole(|cursor| {
        cursor.array(|cursor| {
            read_message(cursor.raw()?, pieces);
            Some(())
        })
    });
}

/// What is taken of a message.
#[derive(Default)]
struct Message<'b> {
    role: Option<&'b [u8]>,
    kind: Option<&'b [u8]>,
    content: Option<&'b [u8]>,
    images: Option<&'b [u8]>,
    others: Vec<(&'b [u8], &'b [u8])>,
}

fn read_message(value: &[u8], pieces: &mut Pieces) {
    let mut message = Message::default();
    // A message that broke off has what came of it.
    let _ = Cursor::new(value).whole(|cursor| {
        cursor.object(|cursor, key| {
            let value = cursor.raw()?;
            match key {
                b"role" => message.role = inside(value),
                b"content" => message.content = Some(value),
                b"images" => message.images = Some(value),
                _ if LEFT_OUT.contains(&key) || value == b"null" => {}
                b"type" => message.kind = inside(value),
                _ => message.others.push((key, value)),
            }
            Some(())
        })
    });
    let named = message.role.or(message.kind).unwrap_or(b"message");
    pieces.push(Piece::Message(all_text(named)));
    if let Some(content) = message.content {
        read_content(content, pieces);
    }
    if let Some(images) = message.images {
        // Ollama's: a list of data.
        let _ = Cursor::new(images).whole(|cursor| {
            cursor.array(|cursor| {
                pieces.push(Piece::Media(cursor.raw()?.to_vec()));
                Some(())
            })
        });
    }
    for (key, value) in message
        .others
        .into_iter()
        .filter(|(_, value)| is_filled(value))
    {
        pieces.push(Piece::Member(all_text(key)));
        pieces.push(Piece::Text(as_text(value)));
    }
}

/// A text, or a list of parts.
pub(super) fn read_content(value: &[u8], pieces: &mut Pieces) {
    match value.first() {
        Some(b'"') => pieces.text(inside(value)),
        Some(b'[') => {
            let _ = Cursor::new(value).whole(|cursor| {
                cursor.array(|cursor| {
                    read_part(cursor.raw()?, pieces);
                    Some(())
                })
            });
        }
        Some(b'{') => pieces.push(Piece::Text(as_text(value))),
        _ => {}
    }
}

fn read_part(value: &[u8], pieces: &mut Pieces) {
    if value.first() == Some(&b'"') {
        return pieces.text(inside(value));
    }
    let (mut kind, mut text) = (None, None);
    let _ = Cursor::new(value).whole(|cursor| {
        cursor.object(|cursor, key| {
            let value = cursor.raw()?;
            match key {
                b"type" => kind = inside(value),
                b"text" => text = inside(value),
                _ => {}
            }
            Some(())
        })
    });
    match kind.unwrap_or(b"text") {
        b"text" | b"input_text" | b"output_text" => pieces.text(text),
        kind if is_image(kind) || is_sound(kind) => {
            pieces.push(Piece::Media(plain(value, &[b"cache_control"])));
        }
        _ => pieces.push(Piece::Text(as_text(value))),
    }
}

/// The inside of a string, as it is written.
fn inside(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}
