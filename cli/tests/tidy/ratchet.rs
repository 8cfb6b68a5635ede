//! A limit with a list of today's offenders that may only shrink.

use crate::finding::Finding;

/// Something that has a size.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// Where.
    pub(crate) path: String,
    /// Counting from 1; 0 for a whole file.
    pub(crate) line: usize,
    /// Name within the file; empty for a whole file.
    pub(crate) name: String,
    /// In lines.
    pub(crate) size: usize,
}

/// An offender that is let be for now: path, name, size.
pub(crate) type Known = (&'static str, &'static str, usize);

/// Everything above `limit` that is not `known` or has grown, and every `known` that has shrunk.
pub(crate) fn check(
    what: &str,
    limit: usize,
    measured: &[Measured],
    known: &[Known],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in measured.iter().filter(|one| one.size > limit) {
        let allowed = known
            .iter()
            .find(|(path, name, _)| *path == one.path && *name == one.name);
        let message = match allowed.map(|known| known.2) {
            None => format!(
                "{what} {}is {} lines long: {limit} at most; take a part with a name of its own out of it",
                named(one),
                one.size
            ),
            Some(size) if one.size > size => {
                format!(
                    "{what} {}has grown from {size} to {} lines: it may only shrink, to {limit}",
                    named(one),
                    one.size
                )
            }
            Some(size) if one.size < size => {
                format!(
                    "{what} {}has shrunk to {} lines: write that into the list, or it may grow again",
                    named(one),
                    one.size
                )
            }
            Some(_) => continue,
        };
        findings.push(Finding::new(&one.path, one.line, message));
    }
    for (path, name, _) in known {
        if !measured
            .iter()
            .any(|one| one.size > limit && one.path == *path && one.name == *name)
        {
            findings.push(Finding::new(
                path,
                0,
                format!("{what} {name} is within {limit} lines now: take it off the list"),
            ));
        }
    }
    findings
}

fn named(one: &Measured) -> String {
    if one.name.is_empty() {
        String::new()
    } else {
        format!("{} ", one.name)
    }
}

#[test]
fn the_list_may_only_shrink() {
    let measured = |size| {
        [Measured {
            path: "a.rs".to_owned(),
            line: 3,
            name: "f".to_owned(),
            size,
        }]
    };
    let messages = |size, known: &[Known]| -> Vec<String> {
        check("function", 70, &measured(size), known)
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(messages(70, &[]), Vec::<String>::new());
    assert!(messages(71, &[])[0].starts_with("a.rs:3: function f is 71 lines long"));
    assert_eq!(messages(80, &[("a.rs", "f", 80)]), Vec::<String>::new());
    assert!(messages(81, &[("a.rs", "f", 80)])[0].contains("has grown"));
    assert!(messages(79, &[("a.rs", "f", 80)])[0].contains("has shrunk"));
    assert!(messages(60, &[("a.rs", "f", 80)])[0].contains("take it off the list"));
}
