//! Version 1 of the format stays what it was: the page says it, and files that were written once are read for ever.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod format_page;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use capture::{Level, Reader, Row, Segment, Store};
use support::{about, at, limits};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

#[test]
fn the_page_is_the_one_of_the_modules() {
    let page = fs::read_to_string(format_page::path()).unwrap();
    assert!(
        page == format_page::markdown(),
        "docs/CAPTURE-FORMAT.md lags behind: make generate"
    );
    assert!(page.contains("```sql") && page.contains("| `wall_us` | int64 |"));
}

/// The rows that stand in the golden files, as JSON, one a line. Columns that were added since are empty in them.
fn golden_rows() -> Vec<Row> {
    let text = fs::read_to_string(golden("v1.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A segment that the first release of version 1 sealed.
#[test]
fn a_segment_of_version_1_is_read() {
    let segment = Segment::open(&golden("segment-golden-000000.parquet")).unwrap();
    assert_eq!(
        (
            segment.about.version,
            segment.about.level,
            segment.seal.rows
        ),
        (1, Level::Prefix, 12)
    );
    let rows: Vec<Row> = Reader::open(&segment.path)
        .unwrap()
        .map(|located| located.unwrap().row)
        .collect();
    assert_eq!(rows, golden_rows());
}

/// A log that the first release of version 1 left when it was killed.
#[test]
fn a_log_of_version_1_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join(".loadproof/pod=pod-a");
    fs::create_dir_all(&state).unwrap();
    fs::copy(golden("golden-000000.log"), state.join("golden-000000.log")).unwrap();
    let mut store = Store::open(folder.path(), about("pod-a", "next"), limits(), at(0)).unwrap();
    let notices: Vec<_> = store.notices().collect();
    assert!(
        matches!(
            notices.as_slice(),
            [capture::Notice::Recovered {
                rows: 12,
                torn_bytes: 5,
                ..
            }]
        ),
        "{notices:?}"
    );
    let rows: Vec<Row> = Reader::open(folder.path())
        .unwrap()
        .map(|located| located.unwrap().row)
        .collect();
    assert_eq!(rows, golden_rows());
}
