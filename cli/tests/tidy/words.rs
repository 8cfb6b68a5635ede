//! What stands in the files, and what they are called.
//!
//! The words that are looked for are put together here from halves, so that this file passes its own rules.

use crate::finding::Finding;
use crate::tree::Tree;

/// What may lie at the top of the checkout.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".config",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONFIG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "METRICS.md",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "capture",
    "cli",
    "clippy.toml",
    "config",
    "decode",
    "deny.toml",
    "docs",
    "exporter",
    "grafana",
    "judge",
    "k8s",
    "measure",
    "proxy",
    "replay",
    "rig",
    "rustfmt.toml",
    "scripts",
    "sim",
    "probe",
    "upstream",
    "wire",
];

/// Names that say nothing of what a file holds.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "misc", "helper", "helpers", "manager", "stuff", "core",
];

/// Marks of work that was left.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    concat!("#[ig", "nore"),
    concat!("#[should", "_panic"),
];

/// Folders that exist on one machine only.
const MACHINE_FOLDERS: &[&str] = &[
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Rust files that don't begin with a module documentation.
pub(crate) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let rust = tree.texts().filter(|(path, _)| path.ends_with(".rs"));
    let bare =
        rust.filter(|(_, text)| !text.lines().next().unwrap_or_default().starts_with("//! "));
    let message = "begins without `//!`: say what the file is, its units, its limits";
    bare.map(|(path, _)| Finding::new(path, 1, message))
        .collect()
}

/// Files and folders with a name that says nothing.
pub(crate) fn file_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for part in file.path.split('/') {
            let stem = part.split('.').next().unwrap_or_default();
            if stem
                .split(['_', '-'])
                .any(|word| EMPTY_NAMES.contains(&word))
            {
                findings.push(Finding::new(
                    &file.path,
                    0,
                    format!("{part:?} says nothing: name it for the thing it holds"),
                ));
            }
        }
    }
    findings
}

/// What lies at the top and is not on the list.
pub(crate) fn top_level(tree: &Tree) -> Vec<Finding> {
    let mut names: Vec<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.split('/').next())
        .collect();
    names.dedup();
    let stray = names.into_iter().filter(|name| !TOP_LEVEL.contains(name));
    let message = "lies at the top of the checkout: move it into a room, or put it on the list in cli/tests/tidy/words.rs";
    stray.map(|name| Finding::new(name, 0, message)).collect()
}

/// Marks of work that was left, in any text that we wrote.
pub(crate) fn unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in ours(tree) {
        for (at, line) in text.lines().enumerate() {
            for mark in UNFINISHED.iter().filter(|mark| has_word(line, mark)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("{mark:?}: finish it, or file it where work is kept"),
                ));
            }
        }
    }
    findings
}

/// Paths that exist on one machine only.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in ours(tree) {
        for (at, line) in text.lines().enumerate() {
            for folder in MACHINE_FOLDERS
                .iter()
                .filter(|folder| has_absolute(line, folder))
            {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("{folder:?} is a folder of one machine: use a path in the checkout"),
                ));
            }
        }
    }
    findings
}

/// Documents that are named and don't exist here.
pub(crate) fn documents_exist(tree: &Tree) -> Vec<Finding> {
    let known: Vec<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.rsplit('/').next())
        .collect();
    let mut findings = Vec::new();
    for (path, text) in ours(tree).filter(|(path, _)| *path != "cli/tests/tidy/words.rs") {
        for (at, line) in text.lines().enumerate() {
            for name in documents(line)
                .into_iter()
                .filter(|name| !known.contains(name))
            {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("{name} is no document of this checkout"),
                ));
            }
        }
    }
    findings
}

/// Scripts that can't be started.
pub(crate) fn executable(tree: &Tree) -> Vec<Finding> {
    let scripts = tree.files.iter().filter(|file| {
        file.text
            .as_ref()
            .is_some_and(|text| text.starts_with("#!/"))
    });
    let message = "begins with #! and can't be executed: chmod +x";
    scripts
        .filter(|file| !file.executable)
        .map(|file| Finding::new(&file.path, 1, message))
        .collect()
}

/// Version bans that ban nothing: cargo-deny reads `name@<1.2` as exactly 1.2; a range is `name:<1.2`.
pub(crate) fn version_bans(tree: &Tree) -> Vec<Finding> {
    let path = "deny.toml";
    let lines = tree.text(path).unwrap_or_default().lines().enumerate();
    let wrong = lines.filter(|(_, line)| {
        ["@<", "@>", "@=", "@^", "@~", "@*"]
            .iter()
            .any(|sign| line.contains(sign))
    });
    let message = "`@` means one exact version whatever follows: write `name:<version` for a range";
    wrong
        .map(|(at, _)| Finding::new(path, at + 1, message))
        .collect()
}

/// Texts that we wrote: neither the licence nor the lock file, which others write.
fn ours(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts()
        .filter(|(path, _)| !matches!(*path, "LICENSE" | "Cargo.lock"))
}

/// `line` has `word` with no letter or digit of the same word around it.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |found: Option<char>| found.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let ends_open = word.ends_with(|c: char| !c.is_alphanumeric()) || word.starts_with('#');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !part_of_word(before) && (ends_open || !part_of_word(after))
    })
}

/// `line` has `folder` at the start of a path.
fn has_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '}' | ')' | '$' | '/')
        })
    })
}

/// Names in capitals that end in `.md`.
fn documents(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(".md") {
        let start = line[..at]
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .map_or(0, |before| before + 1);
        let stem = &line[start..at];
        if stem.len() > 1
            && stem
                .chars()
                .all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '-'))
        {
            found.push(&line[start..at + 3]);
        }
    }
    found
}

#[test]
fn words_are_found_and_parts_of_words_are_not() {
    let count = |text: &str| unfinished(&Tree::of("a.rs", text)).len();
    for mark in UNFINISHED {
        assert_eq!(count(&format!("//! D\n// {mark} later\n")), 1, "{mark}");
    }
    assert_eq!(count(&format!("mktemp a.{0}{0}\n", concat!("XX", "X"))), 0);
    assert_eq!(count(&format!("MAS{}N\n", concat!("TO", "DO"))), 0);
}

#[test]
fn a_path_of_a_machine_is_found_and_a_path_in_a_project_is_not() {
    let count = |text: &str| machine_paths(&Tree::of("a.md", text)).len();
    for folder in MACHINE_FOLDERS {
        assert_eq!(
            count(&format!("see {folder}a, \"{folder}b\"")),
            1,
            "{folder}"
        );
        assert_eq!(
            count(&format!("see src{folder}a, ..{folder}b")),
            0,
            "{folder}"
        );
    }
}

#[test]
fn a_document_that_is_not_here_is_found() {
    let tree = Tree::of_all(&[
        ("README.md", ""),
        ("a.rs", "see README.md, `k8s/GONE.md` and notes.md"),
    ]);
    assert_eq!(documents_exist(&tree).len(), 1);
}

#[test]
fn names_and_beginnings() {
    let tree = Tree::of_all(&[
        ("proxy/src/utils.rs", "use a;\n"),
        ("proxy/src/pool_manager.rs", "//! D\n"),
        ("proxy/src/relay.rs", "//! D\n"),
        ("notes/a.txt", ""),
    ]);
    assert_eq!(file_names(&tree).len(), 2);
    assert_eq!(module_docs(&tree).len(), 1);
    assert_eq!(
        top_level(&tree),
        [Finding::new(
            "notes",
            0,
            top_level(&tree)[0].message.clone()
        )]
    );
}

#[test]
fn a_ban_that_bans_nothing_is_found() {
    assert_eq!(
        version_bans(&Tree::of(
            "deny.toml",
            "{ crate = \"h2@<0.4.16\" },\n{ crate = \"h2:<0.4.16\" },\n"
        ))
        .len(),
        1
    );
}

#[test]
fn a_script_that_cannot_be_started_is_found() {
    assert_eq!(executable(&Tree::of("scripts/a", "#!/bin/sh\n")).len(), 1);
}
