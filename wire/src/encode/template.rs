//! Templates: bytes as an engine writes them, with holes.
//!
//! `$name` is a hole; what it holds is the [`Holes`]' business. `$?name{…$}` is there if that name has something to say,
//! `$!name{…$}` if it hasn't. Both may lie within each other. A comma right after an opening bracket is left out, so that
//! every optional member can bring its own. Names are of lower-case letters and `_`.

/// What holes are filled with.
pub(super) trait Holes {
    /// Appends what belongs into the hole.
    fn put(&self, hole: &str, out: &mut Vec<u8>);

    /// Whether a group of this name is there.
    fn has(&self, group: &str) -> bool;
}

/// Appends a template with its holes filled.
pub(super) fn fill(template: &str, holes: &impl Holes, out: &mut Vec<u8>) {
    let mut rest = template;
    while !rest.is_empty() {
        group(&mut rest, holes, Some(&mut *out));
    }
}

/// Goes through a template up to the end of a group; writes nothing where there is nowhere to write to.
fn group(rest: &mut &str, holes: &impl Holes, mut out: Option<&mut Vec<u8>>) {
    loop {
        let (text, after) = rest.split_once('$').unwrap_or((rest, ""));
        if let Some(out) = out.as_deref_mut() {
            put_text(text, out);
        }
        let wanted = match after.as_bytes().first() {
            None => return *rest = "",
            Some(b'}') => return *rest = &after[1..],
            Some(b'?') => true,
            Some(b'!') => false,
            Some(_) => {
                let name = name_of(after);
                *rest = &after[name.len()..];
                if let Some(out) = out.as_deref_mut() {
                    holes.put(name, out);
                }
                continue;
            }
        };
        let name = name_of(&after[1..]);
        debug_assert!(
            after[1 + name.len()..].starts_with('{'),
            "{name} opens no group"
        );
        *rest = after.get(name.len() + 2..).unwrap_or_default();
        let shown = holes.has(name) == wanted;
        group(rest, holes, out.as_deref_mut().filter(|_| shown));
    }
}

fn name_of(text: &str) -> &str {
    let end = text.find(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
    &text[..end.unwrap_or(text.len())]
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    let opens = matches!(out.last(), Some(b'{' | b'['));
    let text = match text.strip_prefix(',') {
        Some(text) if opens => text,
        _ => text,
    };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Letters;

    impl Holes for Letters {
        fn put(&self, hole: &str, out: &mut Vec<u8>) {
            out.extend_from_slice(hole.to_uppercase().as_bytes());
        }

        fn has(&self, group: &str) -> bool {
            group == "yes"
        }
    }

    #[track_caller]
    fn check(template: &str, expected: &str) {
        let mut out = Vec::new();
        fill(template, &Letters, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{template}");
    }

    #[test]
    fn holes_are_filled() {
        check("", "");
        check("plain", "plain");
        check(r#"{"a":$a,"b":"$b_c"}"#, r#"{"a":A,"b":"B_C"}"#);
        check("$a$b", "AB");
    }

    #[test]
    fn groups_are_there_or_not() {
        check("a$?yes{b$}c$?no{d$}e", "abce");
        check("a$!yes{b$}c$!no{$d$}e", "acDe");
        check("$?yes{a$?no{b$}$?yes{c$}$}$?no{a$?yes{b$}$c$}d", "acd");
        check(r#"$?yes{{"a":{}}$}"#, r#"{"a":{}}"#);
    }

    #[test]
    fn the_first_member_has_no_comma_before_it() {
        check(r#"{$?no{,"a":1$}$?yes{,"b":2$},"c":3}"#, r#"{"b":2,"c":3}"#);
        check(r#"[],[{},{}]"#, r#"[],[{},{}]"#);
    }
}
