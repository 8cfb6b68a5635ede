//! The known name that somebody most likely meant.

/// The known name nearest to `wrong`, or `None` where none is near enough to be a likely slip.
///
/// Case, hyphens and camel case count as nothing; a right last part in the wrong section counts as one slip.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wrong = folded(wrong);
    known
        .into_iter()
        .map(|name| (slips(&wrong, &folded(name)), name))
        .filter(|(slips, name)| *slips <= allowed(&wrong, name))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

/// One slip for every three characters, and at least one.
fn allowed(wrong: &str, name: &str) -> usize {
    let shorter = wrong.chars().count().min(name.chars().count());
    (shorter / 3).max(1)
}

fn slips(wrong: &str, name: &str) -> usize {
    let whole = strsim::osa_distance(wrong, name);
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    if name.contains('.') && last(wrong) == last(name) {
        return whole.min(1);
    }
    whole
}

/// `queueBytes` and `Queue-Bytes` → `queue_bytes`.
fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_lower {
            folded.push('_');
        }
        after_lower = c.is_ascii_lowercase();
        folded.push(if c == '-' {
            '_'
        } else {
            c.to_ascii_lowercase()
        });
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const KNOWN: [&str; 5] = [
        "listen",
        "limits.queue_bytes",
        "limits.queue_bytes_max",
        "limits.body_bytes",
        "log.level",
    ];

    #[test]
    fn slips_find_the_name_that_was_meant() {
        for (wrong, meant) in [
            ("limits.queue_byte", Some("limits.queue_bytes")),
            ("limits.queueBytes", Some("limits.queue_bytes")),
            ("limits.body-bytes", Some("limits.body_bytes")),
            ("Listen", Some("listen")),
            ("lisetn", Some("listen")),
            ("body_bytes", Some("limits.body_bytes")),
            ("proxy.log.level", Some("log.level")),
            ("tokenizer", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(wrong, KNOWN), meant, "{wrong}");
        }
    }
}
