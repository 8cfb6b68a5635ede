//! Uploads from the disk on: what goes up, in which order, what stays, and what a store that is not there costs.
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't set up its case must fail"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capture::remote::{AfterUpload, Remote, RemoteError, Uploader, UploaderSettings, Uploads};

/// Far more than a pass takes.
const PATIENCE: Duration = Duration::from_secs(60);

const HOUR: &str = "date=2026-01-31/hour=07/pod=a";

/// A capture's folder with these files of pod `a` in it.
fn spool(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".loadproof/pod=a")).unwrap();
    for (name, bytes) in files {
        write(&folder.path().join(HOUR).join(name), bytes);
    }
    folder
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn local(folder: &Path) -> Remote {
    Remote::open(&format!("file://{}", folder.display()), []).unwrap()
}

/// A store at a port where nobody listens.
fn dead() -> Remote {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let environment = [
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "hunter2".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ];
    let environment = environment.map(|(key, value)| (key.to_owned(), value));
    Remote::open("s3://bucket/captures", environment).unwrap()
}

fn upload(remote: Remote, folder: &Path, after: AfterUpload) -> Uploads {
    let settings = UploaderSettings {
        folder: folder.to_owned(),
        pod: "a".to_owned(),
        after,
    };
    Uploader::start(remote, &settings).unwrap().finish(PATIENCE)
}

/// Files below a folder, without our own state.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.file_name().and_then(|name| name.to_str()) {
                Some(".loadproof") => {}
                _ if path.is_dir() => open.push(path),
                _ => found.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_sealed_goes_up_and_nothing_else() {
    let folder = spool(&[
        ("segment-c-000000.parquet", b"rows"),
        ("segment-c-000000.text.tar", b"texts"),
        ("segment-c-000001.partial", b"half"),
    ]);
    write(
        &folder
            .path()
            .join("date=2026-01-31/hour=07/pod=b/segment-d-000000.parquet"),
        b"another's",
    );
    write(
        &folder.path().join(".loadproof/pod=a/c-000001.log"),
        b"open",
    );
    let up = tempfile::tempdir().unwrap();
    let uploads = upload(local(up.path()), folder.path(), AfterUpload::Delete);
    assert_eq!((uploads.files, uploads.bytes, uploads.failed), (2, 9, 0));
    assert_eq!((uploads.pending_files, uploads.error), (0, None));
    let names = ["segment-c-000000.parquet", "segment-c-000000.text.tar"];
    assert_eq!(
        files(up.path()),
        names.map(|name| Path::new(HOUR).join(name))
    );
    assert_eq!(
        files(folder.path()),
        [
            Path::new(HOUR).join("segment-c-000001.partial"),
            PathBuf::from("date=2026-01-31/hour=07/pod=b/segment-d-000000.parquet")
        ]
    );
}

#[test]
fn what_stays_here_goes_up_once_and_again_when_it_was_rewritten() {
    let folder = spool(&[
        ("segment-c-000000.parquet", b"rows"),
        ("segment-c-000001.parquet", b"more rows"),
    ]);
    let up = tempfile::tempdir().unwrap();
    let again = || upload(local(up.path()), folder.path(), AfterUpload::Keep).files;
    assert_eq!(again(), 2);
    assert_eq!(again(), 0);
    // Something was erased from it.
    write(
        &folder.path().join(HOUR).join("segment-c-000000.parquet"),
        b"row",
    );
    assert_eq!(again(), 1);
    assert_eq!(
        fs::read(up.path().join(HOUR).join("segment-c-000000.parquet")).unwrap(),
        b"row"
    );
    // The list is no longer than the folder.
    fs::remove_file(folder.path().join(HOUR).join("segment-c-000001.parquet")).unwrap();
    assert_eq!(again(), 0);
    let list = fs::read_to_string(folder.path().join(".loadproof/pod=a/uploaded")).unwrap();
    assert_eq!(list.lines().count(), 1, "{list}");
    assert_eq!(files(folder.path()).len(), 1);
}

#[test]
fn a_dead_store_costs_nothing_but_the_disk_and_the_next_start_goes_on() {
    let folder = spool(&[
        ("segment-c-000000.parquet", b"rows"),
        ("segment-c-000000.text.tar", b"texts"),
    ]);
    let uploads = upload(dead(), folder.path(), AfterUpload::Delete);
    assert_eq!(
        (uploads.files, uploads.pending_files, uploads.pending_bytes),
        (0, 2, 9)
    );
    assert!(uploads.failed > 0);
    let error = uploads.error.unwrap();
    assert!(
        error.starts_with("uploading captures/date=2026-01-31"),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
    assert_eq!(files(folder.path()).len(), 2);
    let up = tempfile::tempdir().unwrap();
    assert_eq!(
        upload(local(up.path()), folder.path(), AfterUpload::Delete).files,
        2
    );
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_prefix_of_many_pods_comes_down_as_it_lies_there() {
    use std::os::unix::fs::PermissionsExt;
    let up = tempfile::tempdir().unwrap();
    for name in [
        "pod=a/segment-c-000000.parquet",
        "pod=b/segment-d-000000.parquet",
        "pod=b/notes.txt",
    ] {
        write(
            &up.path().join("date=2026-01-31/hour=07").join(name),
            name.as_bytes(),
        );
    }
    let down = tempfile::tempdir().unwrap();
    let fetched = local(up.path()).fetch(down.path()).unwrap();
    assert_eq!((fetched.files, fetched.here), (2, 0));
    let here = files(down.path());
    assert_eq!(here.len(), 2);
    for path in &here {
        assert_eq!(
            fs::read(up.path().join(path)).unwrap(),
            fs::read(down.path().join(path)).unwrap()
        );
        let mode = fs::metadata(down.path().join(path))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let fetched = local(up.path()).fetch(down.path()).unwrap();
    assert_eq!((fetched.files, fetched.here), (0, 2));
}

#[test]
fn a_name_that_leads_elsewhere_is_refused() {
    let up = tempfile::tempdir().unwrap();
    write(&up.path().join("date=2026-01-31/.ssh/x.parquet"), b"rows");
    let down = tempfile::tempdir().unwrap();
    let error = local(up.path()).fetch(down.path()).unwrap_err();
    assert!(matches!(error, RemoteError::Name(_)), "{error}");
    assert!(files(down.path()).is_empty());
}
