//! The page of faults and the tests that carry a fault's number in their names, held against each other. What no test can
//! show is shown by a target of the Makefile, which the row names.

use crate::finding::Finding;
use crate::tree::Tree;

const PAGE: &str = "docs/FAULTS.md";
const PREFIX: &str = "fn fault_";
const MAKEFILE: &str = "Makefile";

/// Faults of the page that no test shows, and tests of faults that the page lacks.
pub(crate) fn shown(tree: &Tree) -> Vec<Finding> {
    let mut rows = Vec::new();
    let mut tests = Vec::new();
    let makefile = tree.text(MAKEFILE).unwrap_or_default();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            let number = match path {
                PAGE => line
                    .strip_prefix("| ")
                    .and_then(|row| row.split(' ').next()),
                _ if path.ends_with(".rs") => line
                    .split_once(PREFIX)
                    .and_then(|(_, name)| name.split('_').next()),
                _ => None,
            };
            let Some(number) = number.and_then(|number| number.parse::<u32>().ok()) else {
                continue;
            };
            let place = (number, path.to_owned(), index + 1);
            if path == PAGE && is_made(line, makefile) {
                tests.push(place.clone());
            }
            if path == PAGE {
                rows.push(place);
            } else {
                tests.push(place);
            }
        }
    }
    let lacks =
        |number: u32, of: &[(u32, String, usize)]| !of.iter().any(|&(other, ..)| other == number);
    let unshown = rows
        .iter()
        .filter(|(number, ..)| lacks(*number, &tests))
        .map(|(number, path, line)| {
            let message =
                format!("no test is named fault_{number:02}_…: write one, or take the row out");
            Finding::new(path, *line, message)
        });
    let unlisted = tests
        .iter()
        .filter(|(number, ..)| lacks(*number, &rows))
        .map(|(number, path, line)| {
            Finding::new(
                path,
                *line,
                format!("{PAGE} has no row {number:02}: add it"),
            )
        });
    unshown.chain(unlisted).collect()
}

/// Whether a row names a target that the Makefile has.
fn is_made(row: &str, makefile: &str) -> bool {
    let named = row.split("`make ").skip(1);
    let targets = named.filter_map(|rest| rest.split('`').next());
    targets
        .map(|target| format!("{target}:"))
        .any(|target| makefile.lines().any(|line| line.starts_with(&target)))
}

#[test]
fn a_row_without_a_test_and_a_test_without_a_row_are_found() {
    let page = (
        PAGE,
        "| # | fault |\n| 01 | a |\n| 02 | b |\n| 03 | `make c` |\n| 04 | `make d` |\n",
    );
    let makefile = (MAKEFILE, "c: ## C\n\tcc\n");
    let tests = (
        "room/tests/x.rs",
        "async fn fault_01_a() {}\nfn fault_07_b() {}\n",
    );
    let found = shown(&Tree::of_all(&[page, makefile, tests]));
    let places: Vec<_> = found
        .iter()
        .map(|found| (found.path.as_str(), found.line))
        .collect();
    assert_eq!(places, [(PAGE, 3), (PAGE, 5), ("room/tests/x.rs", 2)]);
}
