//! vLLM's error object, as a body before a stream and as an event inside one.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// `{"error":{"message","type","param","code"}}`
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ErrorObject<'a> {
    /// What happened, for people.
    pub message: &'a str,
    /// The kind, such as `BadRequestError` or `InternalServerError`.
    pub r#type: &'a str,
    /// The parameter at fault.
    pub param: Option<&'a str>,
    /// The HTTP status it stands for.
    pub code: u16,
}

#[derive(Serialize)]
struct Envelope<'a> {
    error: &'a ErrorObject<'a>,
}

impl ErrorObject<'_> {
    /// Appends the object without blanks.
    pub fn compact(&self, out: &mut Vec<u8>) {
        super::json(out, &Envelope { error: self });
    }

    /// Appends the object as Python's `json.dumps` writes it: blanks after separators, nothing but ASCII.
    pub fn python(&self, out: &mut Vec<u8>) {
        let mut serializer = serde_json::Serializer::with_formatter(out, Python);
        #[expect(
            clippy::expect_used,
            reason = "texts and whole numbers, written into memory: nothing can fail"
        )]
        Envelope { error: self }
            .serialize(&mut serializer)
            .expect("plain structs serialise");
    }
}

/// The defaults of Python's `json.dumps`, for objects of scalars.
struct Python;

impl Formatter for Python {
    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for character in fragment.chars() {
            if character.is_ascii() && character != '\u{7f}' {
                write!(writer, "{character}")?;
            } else {
                let mut pair = [0; 2];
                for unit in character.encode_utf16(&mut pair) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
