//! A real process that captures, killed, or on a disk that fails it.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod support;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use capture::{Ending, Limits, Reader, Stop, Store, verify};
use support::{about, at, limits, row};

const FOLDER: &str = "LOADPROOF_TEST_FOLDER";
const CAPTURE: &str = "LOADPROOF_TEST_CAPTURE";
/// A user that owns nothing: nobody.
const NOBODY: u32 = 65534;

/// No test by itself: the process that the others start. It writes rows until it is killed, or 20,000, and says after each
/// flush how many are safe.
#[test]
fn the_process_that_captures() {
    let (Some(folder), Some(name)) = (env::var_os(FOLDER), env::var_os(CAPTURE)) else {
        return;
    };
    let limits = Limits {
        segment_bytes: 30_000,
        ..limits()
    };
    let name = name.into_string().unwrap();
    let mut store = Store::open(Path::new(&folder), about("pod-a", &name), limits, at(0)).unwrap();
    let mut out = std::io::stdout();
    for number in 1..=20_000 {
        if let Err(stop) = store.append(&row(number, number * 50_000)) {
            writeln!(out, "stopped {}", stop.label()).unwrap();
        }
        if number % 7 == 0 {
            store.tick(at(number / 100));
            writeln!(
                out,
                "safe {} dropped {}",
                store.status().rows,
                store.status().dropped.values().sum::<u64>()
            )
            .unwrap();
        }
    }
}

fn child(program: &mut Command, folder: &Path, name: &str) -> Child {
    program.env(FOLDER, folder).env(CAPTURE, name);
    program
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// This test binary, as the process that captures.
fn arguments() -> [OsString; 4] {
    let exe = env::current_exe().unwrap().into_os_string();
    [
        exe,
        "--exact".into(),
        "the_process_that_captures".into(),
        "--nocapture".into(),
    ]
}

fn plain() -> Command {
    let [exe, rest @ ..] = arguments();
    let mut command = Command::new(exe);
    command.args(rest);
    command
}

/// What the child says is safe, until it has said `lines` such things or ends.
fn listen(child: &mut Child, lines: usize) -> (u64, u64) {
    let said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let safe = said.filter_map(|line| {
        let (rows, dropped) = line.strip_prefix("safe ")?.split_once(" dropped ")?;
        Some((rows.parse().ok()?, dropped.parse().ok()?))
    });
    safe.take(lines).last().unwrap_or((0, 0))
}

/// Each time, what was said to be safe is there, without a hole, and the chain of segments says how it ended. A kill may
/// come in the midst of a record, a segment, a note or a rename.
#[test]
fn fault_59_two_hundred_kills_lose_nothing_that_was_flushed() {
    let segments: u64 = std::thread::scope(|scope| {
        let quarters = [0, 1, 2, 3].map(|seed| {
            scope.spawn(move || (0..5).map(|part| ten_kills(seed * 5 + part)).sum::<u64>())
        });
        quarters
            .into_iter()
            .map(|quarter| quarter.join().unwrap())
            .sum()
    });
    assert!(segments > 200, "{segments} segments");
}

/// Returns how many segments were found whole.
fn ten_kills(seed: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut safe = Vec::new();
    for kill in 0..10 {
        let mut process = child(&mut plain(), folder.path(), &format!("c{kill:02}"));
        safe.push(listen(&mut process, (seed * 10 + kill) * 37 % 29).0);
        process.kill().unwrap();
        process.wait().unwrap();
    }
    Store::open(folder.path(), about("pod-a", "last"), limits(), at(0)).unwrap();
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    for capture in &verified.captures {
        assert_eq!(capture.ending, Ending::Died, "{verified}");
        let kill: usize = capture.capture[1..].parse().unwrap();
        assert!(
            capture.rows >= safe[kill],
            "{} of {}",
            capture.rows,
            safe[kill]
        );
    }
    whole_from_one(folder.path());
    verified
        .captures
        .iter()
        .map(|capture| capture.segments)
        .sum()
}

/// Each capture in the folder has the exchanges from 1 to its last.
fn whole_from_one(folder: &Path) {
    let reader = Reader::open(folder).unwrap();
    let names: Vec<String> = reader
        .segments()
        .iter()
        .map(|segment| segment.about.capture.clone())
        .collect();
    let mut last = std::collections::BTreeMap::new();
    for located in reader {
        let located = located.unwrap();
        let due = last.entry(names[located.segment].clone()).or_insert(0);
        *due += 1;
        assert_eq!(located.row.exchange, *due);
    }
}

/// No file may grow beyond 32 KiB: the system refuses the write that would. The process goes on, drops what it can't keep,
/// and counts it; what was kept is there.
#[test]
fn fault_58_a_full_disk_stops_the_capture_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    // The signal that comes with the refusal is ignored, as it is on a disk that is full.
    shell
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"])
        .args(arguments());
    let mut process = child(&mut shell, folder.path(), "c1");
    let (kept, dropped) = listen(&mut process, usize::MAX);
    assert!(process.wait().unwrap().success());
    assert!(
        kept > 0 && dropped > 0 && kept + dropped > 19_990,
        "{kept} kept, {dropped} dropped"
    );
    Store::open(folder.path(), about("pod-a", "c2"), limits(), at(0))
        .unwrap()
        .close()
        .unwrap();
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    let rows = verified.captures[0].rows;
    assert!(rows >= kept && rows < 20_000, "{rows} of {kept}");
    let counted: u64 = verified.captures[0]
        .dropped
        .iter()
        .filter(|count| count.kind == "disk_full")
        .map(|count| count.count)
        .sum();
    assert!(counted > 0, "{verified}");
}

/// A user who may not write there: the one that we become where we are root, who may.
#[test]
fn fault_58_a_read_only_folder_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.path().join("probe"), b"").is_ok() {
        chown(folder.path(), Some(0), Some(0)).unwrap();
        fs::remove_file(folder.path().join("probe")).unwrap();
        let process = child(plain().uid(NOBODY), folder.path(), "c1")
            .wait_with_output()
            .unwrap();
        assert!(!process.status.success());
        return;
    }
    let why = Store::open(folder.path(), about("pod-a", "c1"), limits(), at(0)).unwrap_err();
    assert_eq!(
        why.io().unwrap().kind(),
        std::io::ErrorKind::PermissionDenied
    );
}

#[test]
fn fault_58_the_quota_stops_the_capture_and_room_resumes_it() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        quota_bytes: Some(40_000),
        keep_secs: Some(1000),
        ..limits()
    };
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits, at(0)).unwrap();
    let mut number = 0;
    let stop = loop {
        number += 1;
        if let Err(stop) = store.append(&row(number, number)) {
            break stop;
        }
    };
    assert_eq!(
        (stop, store.status().stopped),
        (Stop::Quota, Some(Stop::Quota))
    );
    store.tick(at(5));
    assert_eq!(store.append(&row(number, number)), Err(Stop::Quota));
    // The log takes the quota, and sealed it takes a part; the tick after the next finds it so.
    store.tick(at(400));
    store.tick(at(420));
    assert_eq!(store.status().stopped, None);
    store.append(&row(number, number)).unwrap();
    assert_eq!(store.status().dropped.get("quota"), Some(&2));
    store.close().unwrap();
    let verified = verify(folder.path()).unwrap();
    assert!(verified.whole, "{verified}");
    assert_eq!(verified.captures[0].dropped[0].count, 2);
}

/// More than the whole disk is to stay free.
#[test]
fn fault_58_below_the_low_water_mark_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        low_water_bytes: u64::MAX,
        ..limits()
    };
    let mut store = Store::open(folder.path(), about("pod-a", "c1"), limits, at(0)).unwrap();
    store.tick(at(1));
    assert_eq!(store.append(&row(1, 1)), Err(Stop::LowWater));
    assert_eq!(store.status().dropped.get("low_water"), Some(&1));
    let notices: Vec<_> = store.notices().collect();
    assert!(
        matches!(
            notices.as_slice(),
            [capture::Notice::Stopped {
                stop: Stop::LowWater,
                ..
            }]
        ),
        "{notices:?}"
    );
}
