//! The places where servers put an error: `{"error":{"message":…}}`, `{"error":"text"}`, `{"object":"error","message":…}`,
//! `{"type":"error","error":{…}}` and `{"detail":…}`. Texts are as they are written in JSON, escapes and all.

#![deny(clippy::indexing_slicing)]

use crate::json::Cursor;

/// What an object says about an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault<'a> {
    error: Option<ErrorValue<'a>>,
    /// `"object":"error"`: the message is a member of the object itself.
    flat: bool,
    message: Option<&'a [u8]>,
    detail: Option<ErrorValue<'a>>,
}

/// A text, or an object with or without a message.
#[derive(Debug, PartialEq, Eq)]
struct ErrorValue<'a> {
    message: Option<&'a [u8]>,
}

// ---- Fault

impl<'a> Fault<'a> {
    /// Reads the value of a member that tells of an error, and skips that of any other.
    pub(crate) fn member(&mut self, cursor: &mut Cursor<'a>, key: &[u8]) -> Option<()> {
        match key {
            b"object" => self.flat = cursor.text()? == Some(b"error"),
            b"error" => self.error = ErrorValue::read(cursor)?,
            b"message" => self.message = cursor.text()?,
            b"detail" => self.detail = ErrorValue::read(cursor)?,
            _ => cursor.skip()?,
        }
        Some(())
    }

    /// Whether the object reports an error. `detail` alone does so only where there is no answer beside it.
    pub(crate) fn is_error(&self, has_answer: bool) -> bool {
        self.error.is_some() || self.flat || (self.detail.is_some() && !has_answer)
    }

    /// The message in the place where an error says that it is.
    pub(crate) fn message(&self) -> Option<&'a [u8]> {
        let flat = if self.flat { self.message } else { None };
        self.error
            .as_ref()
            .and_then(|error| error.message)
            .or(flat)
            .or_else(|| self.detail.as_ref().and_then(|detail| detail.message))
    }

    /// The message of something that is known to be an error from elsewhere.
    pub(crate) fn message_anywhere(&self) -> Option<&'a [u8]> {
        self.message().or(self.message)
    }
}

impl<'a> ErrorValue<'a> {
    /// `None` inside for what is no error: `null`, an empty text, a number.
    fn read(cursor: &mut Cursor<'a>) -> Option<Option<Self>> {
        match cursor.peek()? {
            b'{' => {
                let mut message = None;
                cursor.object(|cursor, key| {
                    match key {
                        b"message" => message = cursor.text()?,
                        _ => cursor.skip()?,
                    }
                    Some(())
                })?;
                Some(Some(Self { message }))
            }
            b'[' => Some(
                cursor
                    .length()?
                    .filter(|length| *length > 0)
                    .map(|_| Self { message: None }),
            ),
            _ => Some(
                cursor
                    .text()?
                    .filter(|text| !text.is_empty())
                    .map(|text| Self {
                        message: Some(text),
                    }),
            ),
        }
    }
}
