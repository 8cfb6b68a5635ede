//! A capture that is whole is said to be whole, and whatever is taken from it or done to it is named.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use capture::{Ending, Limits, Reader, Store, Tenant, Verified, erase, verify};
use support::{about, at, limits, row};

/// Five segments of ten rows each, 100 s apart.
fn fill(folder: &Path, limits: Limits) -> Store {
    let mut store = Store::open(folder, about("pod-a", "c1"), limits, at(0)).unwrap();
    for segment in 0..5 {
        let secs = segment * 400 + 1;
        store.tick(at(secs));
        for number in 1..=10 {
            store
                .append(&row(segment * 10 + number, secs * 1_000_000_000 + number))
                .unwrap();
        }
        store.tick(at(secs + 301));
    }
    store
}

fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), limits()).close().unwrap();
    folder
}

fn segment(folder: &Path, number: u64) -> PathBuf {
    let reader = Reader::open(folder).unwrap();
    let found = reader
        .segments()
        .iter()
        .find(|segment| segment.about.segment == number);
    found.unwrap().path.clone()
}

fn faults(verified: &Verified) -> String {
    assert!(!verified.whole);
    verified
        .captures
        .iter()
        .flat_map(|capture| &capture.faults)
        .chain(&verified.unreadable)
        .cloned()
        .collect()
}

#[test]
fn a_whole_capture() {
    let folder = filled();
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    let capture = &verified.captures[0];
    assert_eq!(
        (capture.rows, capture.segments, capture.ending),
        (50, 6, Ending::Closed)
    );
}

#[test]
fn a_capture_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = fill(folder.path(), limits());
    store.append(&row(51, 2_100_000_000_000)).unwrap();
    store.tick(at(2100));
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(
        (verified.captures[0].rows_open, verified.captures[0].ending),
        (1, Ending::Open)
    );
}

#[test]
fn a_lost_segment_is_named_wherever_it_was() {
    for number in 0..=5 {
        let folder = filled();
        fs::remove_file(segment(folder.path(), number)).unwrap();
        let faults = faults(&verify(folder.path()).unwrap());
        assert!(
            faults.contains(&format!("segments {number} to {number} are missing")),
            "{faults}"
        );
    }
}

#[test]
fn a_changed_segment_is_named() {
    for number in 0..=5 {
        let folder = filled();
        let path = segment(folder.path(), number);
        let mut bytes = fs::read(&path).unwrap();
        // What wrote it, a text in the footer that nothing else depends on.
        let at = bytes
            .windows(9)
            .rposition(|window| window == b"loadproof")
            .unwrap();
        bytes[at] = b'L';
        fs::write(&path, bytes).unwrap();
        let faults = faults(&verify(folder.path()).unwrap());
        assert!(
            faults.contains("was changed after it was sealed"),
            "{number}: {faults}"
        );
    }
}

#[test]
fn a_segment_that_is_cut_short_is_unreadable() {
    let folder = filled();
    let path = segment(folder.path(), 2);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let faults = faults(&verify(folder.path()).unwrap());
    assert!(
        faults.contains("it is cut short") && faults.contains("segments 2 to 2 are missing"),
        "{faults}"
    );
}

/// What is too old is gone at the first tick after, and the chain says so instead of missing it.
#[test]
fn fault_64_what_has_had_its_time_is_gone_and_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        keep_secs: Some(1000),
        ..limits()
    };
    let mut store = fill(folder.path(), limits);
    // The segments arrived at 1 s, 401 s and so on; those before 1001 s are due at 2001 s, the next at 2201 s.
    store.tick(at(2001));
    assert_eq!(store.status().segments, 5);
    let first = |folder: &Path| Reader::open(folder).unwrap().segments()[0].about.segment;
    assert_eq!(first(folder.path()), 3);
    store.tick(at(2200));
    assert_eq!(first(folder.path()), 3);
    store.tick(at(2203));
    assert_eq!(first(folder.path()), 4);
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(
        (verified.captures[0].rows, verified.captures[0].rows_expired),
        (10, 40)
    );
    drop(store);
    // The next process goes on with it, until nothing of the capture is left.
    let mut next = Store::open(folder.path(), about("pod-a", "c2"), limits, at(2204)).unwrap();
    next.tick(at(9000));
    assert!(Reader::open(folder.path()).is_err());
    assert!(!folder.path().join(".loadproof/pod=pod-a/c1.chain").exists());
}

#[test]
fn the_oldest_go_for_space() {
    let folder = tempfile::tempdir().unwrap();
    let one = {
        let probe = tempfile::tempdir().unwrap();
        let store = fill(probe.path(), limits());
        store.status().bytes / 5
    };
    let store = fill(
        folder.path(),
        Limits {
            keep_bytes: Some(one * 3),
            ..limits()
        },
    );
    let kept: Vec<u64> = Reader::open(folder.path())
        .unwrap()
        .segments()
        .iter()
        .map(|segment| segment.about.segment)
        .collect();
    assert!(kept == [3, 4] || kept == [2, 3, 4], "{kept:?}");
    assert!(store.status().bytes <= one * 3);
    assert!(verify(folder.path()).unwrap().whole);
}

/// A tenant's rows are gone from every segment, with the texts beside them, and the chain says why its hashes differ.
#[test]
fn fault_64_an_erased_tenant_is_gone_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = fill(folder.path(), limits());
    store.append(&row(53, 2_100_000_000_000)).unwrap();
    let texts = segment(folder.path(), 1).with_extension("text.tar");
    fs::write(&texts, b"ciphertext").unwrap();
    let erased = store.erase(Tenant { key: "k1", hash: 3 }).unwrap();
    assert_eq!((erased.rows, erased.segments, erased.texts), (11, 6, 1));
    store.append(&row(54, 2_200_000_000_000)).unwrap();
    store.close().unwrap();
    assert!(!texts.exists());
    let rows: Vec<_> = Reader::open(folder.path())
        .unwrap()
        .map(|located| located.unwrap().row)
        .collect();
    assert_eq!(rows.len(), 41);
    assert!(rows.iter().all(|row| row.tenant != Some(3)));
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(verified.captures[0].rows_erased, 11);
    // A hash under another key is another's.
    let now = at(3000);
    let none = erase(folder.path(), "pod-a", Tenant { key: "k2", hash: 2 }, now).unwrap();
    assert_eq!(none.rows, 0);
    // Twice, after the capture has ended; the last segment too.
    let more = erase(folder.path(), "pod-a", Tenant { key: "k1", hash: 4 }, now).unwrap();
    assert_eq!(more.rows, 11);
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(
        (verified.captures[0].rows, verified.captures[0].rows_erased),
        (30, 22)
    );
}

/// The process died after sealing and before its next row: nothing that was flushed is missing.
#[test]
fn a_death_between_two_segments() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(folder.path(), limits()));
    Store::open(folder.path(), about("pod-a", "c2"), limits(), at(9000)).unwrap();
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(verified.captures[0].ending, Ending::Died);
}
