//! Files that are not what they seem: each is refused with its path, and the row where it is one row's fault.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use capture::{About, Error, Reader, Row, Seal, SealedBy, Segment, Store};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use support::{about, at, limits, row};

/// A folder with one segment of these rows.
fn written(about: About, rows: impl Iterator<Item = Row>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), about, limits(), at(0)).unwrap();
    for row in rows {
        store.append(&row).unwrap();
    }
    let notices: Vec<_> = {
        store.tick(at(1));
        store.tick(at(400));
        store.notices().collect()
    };
    let [capture::Notice::Sealed { path, .. }] = notices.as_slice() else {
        unreachable!("{notices:?}");
    };
    (folder, path.clone())
}

/// Reads until the first error.
fn refusal(path: &Path) -> Error {
    let read = Reader::open(path).and_then(|mut rows| rows.try_for_each(|row| row.map(|_| ())));
    let why = read.unwrap_err();
    assert!(why.to_string().contains(path.to_str().unwrap()), "{why}");
    why
}

fn refused_row(row: impl FnOnce(&mut Row)) -> (u64, String) {
    let mut bad = support::row(3, 3);
    row(&mut bad);
    let rows = [support::row(1, 1), support::row(2, 2), bad].into_iter();
    let (_folder, path) = written(about("pod-a", "c1"), rows);
    match refusal(&path) {
        Error::Row { row, why, .. } => (row, why),
        other => unreachable!("{other}"),
    }
}

#[test]
fn fault_73_a_row_that_cannot_be_is_refused_by_its_number() {
    let (number, why) = refused_row(|row| row.blocks = vec![7; (1 << 20) + 1]);
    assert!(
        number == 3 && why.contains("blocks has 1048577 entries"),
        "{number}: {why}"
    );
    let (number, why) = refused_row(|row| row.in_flight_life = Some(f64::NAN));
    assert!(number == 3 && why.contains("no number"), "{number}: {why}");
    let (number, why) = refused_row(|row| row.engine_kv_usage = Some(-1.0));
    assert!(number == 3 && why.contains("below 0"), "{number}: {why}");
}

#[test]
fn fault_73_a_rate_that_no_traffic_has_is_refused() {
    let rows = (0..10_001).map(|number| Row {
        exchange: number,
        arrival_ns: number,
        ..Row::default()
    });
    let (_folder, path) = written(about("pod-a", "c1"), rows);
    let why = refusal(&path);
    assert!(matches!(why, Error::Row { row: 10_001, .. }), "{why}");
    // A thousand times slower is a busy pod.
    let rows = (0..10_001).map(|number| Row {
        exchange: number,
        arrival_ns: number * 1000,
        ..Row::default()
    });
    let (_folder, path) = written(about("pod-a", "c1"), rows);
    assert_eq!(Reader::open(&path).unwrap().count(), 10_001);
}

#[test]
fn fault_73_what_a_file_says_of_itself_is_checked() {
    let good = || about("pod-a", "c1");
    let cases: [(About, &str); 4] = [
        (
            About {
                version: 2,
                ..good()
            },
            "version 2",
        ),
        (
            About {
                sample: 0.0,
                ..good()
            },
            "sample of 0",
        ),
        (
            About {
                sample: f64::INFINITY,
                ..good()
            },
            "under loadproof.about",
        ),
        (About { block: 0, ..good() }, "blocks of 0"),
    ];
    for (about, expected) in cases {
        let (_folder, path) = written_unread(&about);
        let why = refusal(&path).to_string();
        assert!(why.contains(expected), "{why}");
    }
}

/// As `written`, for what the store itself can't read back.
fn written_unread(about: &About) -> (tempfile::TempDir, PathBuf) {
    let (folder, path) = written(self::about("pod-a", "c1"), std::iter::once(row(1, 1)));
    let seal = Segment::open(&path).unwrap().seal;
    let json = (
        serde_json::to_string(&about).unwrap(),
        serde_json::to_string(&seal).unwrap(),
    );
    one_column(&path, &json.0, &json.1);
    (folder, path)
}

/// A Parquet file with a column of another's, which says of itself what a segment says.
fn one_column(path: &Path, about: &str, seal: &str) {
    let column: ArrayRef = Arc::new(UInt64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("exchange", column)]).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.append_key_value_metadata(KeyValue::new("loadproof.about".into(), about.to_owned()));
    writer.append_key_value_metadata(KeyValue::new("loadproof.seal".into(), seal.to_owned()));
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn fault_73_names_that_lead_elsewhere_are_refused() {
    for name in ["../../etc", "a/b", "", "..", "a\0b"] {
        for about in [about(name, "c1"), about("pod-a", name)] {
            let (_folder, path) = written_unread(&about);
            let why = refusal(&path).to_string();
            assert!(why.contains("letters, digits"), "{why}");
        }
    }
}

#[test]
fn fault_73_other_columns_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment-c1-000000.parquet");
    let seal = Seal {
        rows: 3,
        rows_before: 0,
        dropped: Vec::new(),
        by: SealedBy::Closed,
        torn_bytes: 0,
        texts: None,
        first_wall_us: Some(0),
        last_wall_us: Some(0),
        first_arrival_ns: Some(0),
        last_arrival_ns: Some(0),
        replaced: Vec::new(),
    };
    let about = serde_json::to_string(&about("pod-a", "c1")).unwrap();
    one_column(&path, &about, &serde_json::to_string(&seal).unwrap());
    assert!(
        refusal(&path)
            .to_string()
            .contains("column role is missing")
    );
    one_column(&path, "{}", "{}");
    assert!(refusal(&path).to_string().contains("under loadproof.about"));
}

#[test]
fn fault_73_a_file_that_was_cut_anywhere_is_refused() {
    let (_folder, path) = written(
        about("pod-a", "c1"),
        (1..=50).map(|number| row(number, number)),
    );
    let bytes = fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&path, &bytes[..length]).unwrap();
        refusal(&path);
    }
}

/// The length of the footer stands in the last eight bytes.
#[test]
fn fault_73_a_footer_that_claims_more_than_there_is_is_refused() {
    let (_folder, path) = written(
        about("pod-a", "c1"),
        (1..=5).map(|number| row(number, number)),
    );
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.len() - 8;
    for claim in [u32::MAX, 17 << 20, 1 << 20] {
        bytes[at..at + 4].copy_from_slice(&claim.to_le_bytes());
        fs::write(&path, &bytes).unwrap();
        assert!(refusal(&path).to_string().contains("its footer claims"));
    }
}

#[test]
fn fault_73_links_are_not_followed() {
    let (folder, path) = written(
        about("pod-a", "c1"),
        (1..=5).map(|number| row(number, number)),
    );
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(folder.path(), elsewhere.path().join("date=2026-01-31")).unwrap();
    std::os::unix::fs::symlink(&path, elsewhere.path().join("segment-c1-000000.parquet")).unwrap();
    assert!(
        Reader::open(elsewhere.path())
            .unwrap_err()
            .to_string()
            .contains("there is no segment")
    );
}
