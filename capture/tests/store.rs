//! Rows go into a store and come back from a reader: equal, all of them, in order.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use capture::{Error, Limits, Notice, Reader, Row, SealedBy, Store};
use support::{about, at, limits, row};

fn read(folder: &Path) -> Vec<Row> {
    Reader::open(folder)
        .unwrap()
        .map(|located| located.unwrap().row)
        .collect()
}

#[test]
fn what_goes_in_comes_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    let rows: Vec<Row> = (1..=20_000)
        .map(|number| row(number, number * 50_000))
        .collect();
    for row in &rows {
        store.append(row).unwrap();
    }
    store.count_dropped("queue_full", 3);
    let status = store.close().unwrap();
    assert_eq!((status.rows, status.segments), (20_000, 1));
    let reader = Reader::open(folder.path()).unwrap();
    let segment = reader.segments().first().unwrap().clone();
    assert_eq!(segment.about, about("pod-a", "c1"));
    assert_eq!(
        (segment.seal.rows, segment.seal.by),
        (20_000, SealedBy::Closed)
    );
    assert_eq!(
        (
            segment.seal.dropped[0].kind.as_str(),
            segment.seal.dropped[0].count
        ),
        ("queue_full", 3)
    );
    let name = segment.path.strip_prefix(folder.path()).unwrap();
    assert_eq!(
        name,
        Path::new("date=2026-01-31/hour=07/pod=pod-a/segment-c1-000000.parquet")
    );
    assert_eq!(
        fs::metadata(&segment.path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(read(folder.path()) == rows);
}

#[test]
fn nothing_is_written_where_nothing_was_captured() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    store.close().unwrap();
    let error = Reader::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("there is no segment in it"), "{error}");
}

/// A row of a long exchange is written late, in a later segment: it comes at its arrival all the same.
#[test]
fn segments_are_chained_and_rows_come_by_arrival() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    for (secs, arrivals) in [(1, [5, 2, 9]), (400, [3, 12, 11]), (800, [1, 20, 10])] {
        store.tick(at(secs));
        for arrival in arrivals {
            store.append(&row(arrival, arrival * 1_000_000)).unwrap();
        }
        store.tick(at(secs + 1));
    }
    store.close().unwrap();
    let reader = Reader::open(folder.path()).unwrap();
    let segments = reader.segments().to_vec();
    let by: Vec<_> = segments.iter().map(|segment| segment.seal.by).collect();
    assert_eq!(by, [SealedBy::Age, SealedBy::Age, SealedBy::Closed]);
    assert_eq!(segments[0].about.previous, "");
    assert_eq!(segments[1].about.previous.len(), 64);
    assert_ne!(segments[1].about.previous, segments[2].about.previous);
    assert_eq!(segments[2].seal.rows_before, 6);
    let numbers: Vec<u64> = reader
        .map(|located| located.unwrap().row.exchange)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 5, 9, 10, 11, 12, 20]);
}

#[test]
fn a_log_is_sealed_at_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        segment_bytes: 100_000,
        ..limits()
    };
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits, at(0)).unwrap();
    for number in 1..=3000 {
        store.append(&row(number, number * 1000)).unwrap();
    }
    store.close().unwrap();
    let reader = Reader::open(folder.path()).unwrap();
    assert!(reader.segments().len() > 3, "{}", reader.segments().len());
    assert_eq!(reader.segments()[0].seal.by, SealedBy::Size);
    assert_eq!(reader.count(), 3000);
}

#[test]
fn pods_are_merged_by_the_wall_clock() {
    let folder = tempfile::tempdir().unwrap();
    for (pod, first) in [("pod-a", 0), ("pod-b", 1)] {
        let mut store = Store::open(folder.path(), about(pod, "c1"), limits(), at(0)).unwrap();
        for number in 0..100 {
            store
                .append(&row(number * 2 + first, (number * 2 + first) * 1_000_000))
                .unwrap();
        }
        store.close().unwrap();
    }
    let numbers: Vec<u64> = read(folder.path()).iter().map(|row| row.exchange).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
}

#[test]
fn two_processes_need_two_pod_names() {
    let folder = tempfile::tempdir().unwrap();
    let first = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    let second = Store::open(folder.path(), about("pod-a", "c2"), limits(), at(0));
    assert!(matches!(second, Err(Error::Locked { .. })));
    let _other = Store::open(folder.path(), about("pod-b", "c2"), limits(), at(0)).unwrap();
    drop(first);
    Store::open(folder.path(), about("pod-a", "c3"), limits(), at(0)).unwrap();
}

#[test]
fn names_stay_within_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for (pod, capture) in [
        ("../up", "c1"),
        ("", "c1"),
        (".hidden", "c1"),
        ("pod", "a/b"),
        ("pod", ""),
    ] {
        let opened = Store::open(folder.path(), about(pod, capture), limits(), at(0));
        assert!(
            matches!(opened, Err(Error::Setting { .. })),
            "{pod} {capture}"
        );
    }
}

/// Dropping a store without closing it is what a kill leaves: what was flushed is there.
#[test]
fn what_a_dead_process_flushed_is_sealed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    for number in 1..=10 {
        store.append(&row(number, number)).unwrap();
    }
    store.tick(at(1));
    store.append(&row(11, 11)).unwrap();
    drop(store);
    let log = folder.path().join(".loadproof/pod=pod-a/c1-000000.log");
    OpenOptions::new()
        .append(true)
        .open(&log)
        .unwrap()
        .write_all(b"half a record")
        .unwrap();

    let mut next = Store::open(folder.path(), about("pod-a", "c2"), limits(), at(9)).unwrap();
    let notices: Vec<Notice> = next.notices().collect();
    let [
        Notice::Recovered {
            path,
            rows: 10,
            torn_bytes: 13,
        },
    ] = notices.as_slice()
    else {
        unreachable!("{notices:?}");
    };
    assert!(path.ends_with("segment-c1-000000.parquet"));
    next.close().unwrap();
    let reader = Reader::open(folder.path()).unwrap();
    let seal = &reader.segments()[0].seal;
    assert_eq!((seal.by, seal.torn_bytes), (SealedBy::Recovered, 13));
    assert_eq!(reader.count(), 10);
    assert!(!log.exists());
}

/// The process may die after its segment has got its name and before its log is gone.
#[test]
fn a_log_whose_segment_is_there_is_not_sealed_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap();
    store.append(&row(1, 1)).unwrap();
    store.tick(at(1));
    let log = folder.path().join(".loadproof/pod=pod-a/c1-000000.log");
    let kept = fs::read(&log).unwrap();
    store.close().unwrap();
    fs::write(&log, kept).unwrap();
    let next = Store::open(folder.path(), about("pod-a", "c2"), limits(), at(9)).unwrap();
    next.close().unwrap();
    assert!(!log.exists());
    assert_eq!(read(folder.path()).len(), 1);
}
