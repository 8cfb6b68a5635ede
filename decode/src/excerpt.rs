//! A piece of an event's data, to be recognised by: one line, without control characters.
//!
//! It is the begin, but for chunks of OpenAI's dialect: id, object, time and model are the same in each, and what differs
//! begins with `choices`.

use wire::Framing;

/// Longest excerpt, in characters.
const CHARACTERS: usize = 96;

/// The excerpt of the bytes that an event came in.
pub(crate) fn of(bytes: &[u8], framing: Framing) -> String {
    match framing {
        Framing::Events => of_lines(bytes),
        Framing::Lines | Framing::Body => cut(&String::from_utf8_lossy(bytes.trim_ascii())),
        Framing::Messages => format!("{} bytes", bytes.len()),
    }
}

/// The values of the lines that carry data; comments and other fields stand between them.
fn of_lines(bytes: &[u8]) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let values: Vec<String> = bytes
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter_map(|line| {
            let value = line
                .strip_prefix(b"data:")
                .or_else(|| line.strip_prefix(b"error:"))?;
            Some(String::from_utf8_lossy(value.trim_ascii()).into_owned())
        })
        .collect();
    cut(&values.join(" "))
}

fn cut(text: &str) -> String {
    let begin = text.find("\"choices\"").filter(|_| text.starts_with('{'));
    let (mark, text) = match begin.and_then(|at| text.get(at..)) {
        Some(rest) if text.chars().count() > CHARACTERS && begin > Some(1) => ("…", rest),
        _ => ("", text),
    };
    let mut excerpt: String = mark
        .chars()
        .chain(text.chars().take(CHARACTERS))
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().count() > CHARACTERS {
        excerpt.push('…');
    }
    excerpt
}
