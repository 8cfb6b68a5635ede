//! Texts as Python's `json.dumps` writes them by default: nothing but ASCII.

use std::fmt::Write;

/// Appends a text without its quotes.
pub(super) fn escape_ascii(text: &str, out: &mut Vec<u8>) {
    let mut escaped = String::new();
    for character in text.chars() {
        if character.is_ascii() && character != '\u{7f}' {
            let mut plain = Vec::new();
            super::escape(character.encode_utf8(&mut [0; 4]), &mut plain);
            escaped.extend(plain.into_iter().map(char::from));
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string can't fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    out.extend_from_slice(escaped.as_bytes());
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_ascii_is_escaped() {
        let mut out = Vec::new();
        super::escape_ascii("a \"no\"\n – 🦦\u{7f}", &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"a \"no\"\n \u2013 \ud83e\udda6\u007f"#
        );
    }
}
