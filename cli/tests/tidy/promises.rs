//! What documents say of tests, keys and constants, held against them.
//!
//! A test is named in backticks, by a name of four words or more; a key by its path and a constant as `FILE: NAME`, each in
//! a row whose next cell is its value, written as the configuration writes it (`10s`, `64KiB`).

use crate::finding::Finding;
use crate::tree::Tree;

const SECURITY: &str = "SECURITY.md";
const LIMITS: &str = "docs/LIMITS.md";
const CONFIG: &str = "docs/CONFIG.md";

/// Sections of the configuration that hold nothing but limits.
const SECTIONS: [&str; 2] = ["limits.", "drain."];

/// Sizes and durations as the configuration writes them.
const UNITS: [(&str, u64); 6] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("ms", 1_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Tests that are named and don't exist.
pub(crate) fn tests_exist(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<&str> = tree
        .texts()
        .filter_map(|(path, text)| path.ends_with(".rs").then_some(text))
        .collect();
    let exists = |name: &str| {
        let function = format!("fn {name}(");
        sources.iter().any(|text| text.contains(&function))
    };
    let named = cells(tree, SECURITY).flat_map(|(line, cell)| {
        quoted(cell)
            .filter(|word| is_test_name(word))
            .map(move |name| (line, name))
    });
    named
        .filter(|(_, name)| !exists(name))
        .map(|(line, name)| Finding::new(SECURITY, line, format!("no test is called {name}")))
        .collect()
}

/// Limits whose value is not the one of the table of keys or the source, and keys of limits that the page lacks.
pub(crate) fn limits_hold(tree: &Tree) -> Vec<Finding> {
    let keys: Vec<_> = rows(tree, CONFIG, 0, 2).collect();
    let listed: Vec<_> = rows(tree, LIMITS, 1, 2).collect();
    let mut findings = Vec::new();
    for (line, name, value) in &listed {
        let found = match name.split_once(": ") {
            Some((path, constant)) => constant_value(tree, path, constant) == parse(value),
            None => keys
                .iter()
                .any(|(_, key, default)| key == name && default.trim_matches('"') == *value),
        };
        if !found {
            let message = format!("{name} is not {value}, or not there any more");
            findings.push(Finding::new(LIMITS, *line, message));
        }
    }
    for (_, key, _) in keys {
        let is_limit = SECTIONS.iter().any(|section| key.starts_with(section))
            || (key.starts_with("upstream.") && key.ends_with("_timeout"));
        if is_limit && !listed.iter().any(|(_, name, _)| *name == key) {
            findings.push(Finding::new(LIMITS, 0, format!("lacks a row for {key}")));
        }
    }
    findings
}

/// Rows of the tables of a page, by line, with what is quoted in two of their cells.
fn rows<'a>(
    tree: &'a Tree,
    page: &str,
    name: usize,
    value: usize,
) -> impl Iterator<Item = (usize, &'a str, &'a str)> {
    cells(tree, page).filter_map(move |(line, row)| {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let one = |at: usize| quoted(cells.get(at)?).next();
        Some((line, one(name)?, one(value)?))
    })
}

/// Rows of the tables of a page, by line.
fn cells<'a>(tree: &'a Tree, page: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = tree.text(page).unwrap_or_default().lines().enumerate();
    lines
        .filter(|(_, line)| line.starts_with('|'))
        .map(|(at, line)| (at + 1, line))
}

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_test_name(word: &str) -> bool {
    word.matches('_').count() >= 3
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The value of `const NAME: … = VALUE;`, in bytes, items or nanoseconds.
fn constant_value(tree: &Tree, path: &str, name: &str) -> Option<u64> {
    let declaration = format!("const {name}: ");
    let line = tree
        .text(path)?
        .lines()
        .find(|line| line.contains(&declaration))?;
    let value = line.split_once(" = ")?.1.trim_end_matches(';');
    let duration = value
        .strip_suffix(')')
        .and_then(|call| call.strip_prefix("Duration::from_"));
    match duration.and_then(|call| call.split_once('(')) {
        Some(("secs", count)) => Some(integer(count)? * 1_000_000_000),
        Some(("millis", count)) => Some(integer(count)? * 1_000_000),
        _ => value.split(" * ").map(integer).product(),
    }
}

fn integer(text: &str) -> Option<u64> {
    text.replace('_', "").parse().ok()
}

/// `64KiB` in bytes, `10s` in nanoseconds, `100` as it is.
fn parse(value: &str) -> Option<u64> {
    let unit = UNITS.iter().find_map(|(unit, factor)| {
        let count = integer(value.strip_suffix(unit)?)?;
        Some(count * factor)
    });
    unit.or_else(|| integer(value))
}

#[test]
fn a_test_that_is_named_and_gone_is_found() {
    let page = "| promise | `a_test_that_is_there`, `a_test_that_is_gone`, `cargo test` |\n";
    let source = "#[test]\nfn a_test_that_is_there() {}\n";
    let found = tests_exist(&Tree::of_all(&[(SECURITY, page), ("a/b.rs", source)]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("gone"));
}

#[test]
fn a_limit_that_moved_is_found() {
    let config = "| `limits.a` | size | `1KiB` |\n| `limits.b` | size | `2KiB` |\n";
    let source = "const A: usize = 3 * 1_024;\nconst B: Duration = Duration::from_secs(5);\n";
    let check = |rows: &str| {
        let tree = Tree::of_all(&[(CONFIG, config), ("a/b.rs", source), (LIMITS, rows)]);
        limits_hold(&tree).len()
    };
    let keys = "| a | `limits.a` | `1KiB` |\n| b | `limits.b` | `2KiB` |\n";
    let row = |name: &str, value: &str| check(&format!("{keys}| c | `{name}` | `{value}` |\n"));
    assert_eq!(check(keys), 0);
    assert_eq!(check("| a | `limits.a` | `1KiB` |\n"), 1);
    assert_eq!(check(&keys.replace("2KiB", "3KiB")), 1);
    assert_eq!(row("a/b.rs: A", "3KiB") + row("a/b.rs: B", "5s"), 0);
    assert_eq!(row("a/b.rs: A", "4KiB"), 1);
    assert_eq!(row("a/b.rs: B", "6s"), 1);
    assert_eq!(row("a/b.rs: C", "6"), 1);
}
