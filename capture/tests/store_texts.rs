//! Texts in a store: beside the segment that has their rows, in its digest, and there after a kill.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should stop")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use age::secrecy::ExposeSecret;
use capture::remote::{AfterUpload, Remote, Uploader, UploaderSettings};
use capture::text::{
    Body, Heard, HeardBody, Identities, Reader as Texts, Recipients, Redaction, Text,
};
use capture::{Limits, Reader, Stop, Store, Tenant, verify};
use support::{about, at, limits, row};

struct Place {
    folder: tempfile::TempDir,
    key: tempfile::TempDir,
    recipients: Recipients,
}

impl Place {
    fn new() -> Self {
        let identity = age::x25519::Identity::generate();
        let key = tempfile::tempdir().unwrap();
        fs::write(
            key.path().join("key.txt"),
            identity.to_string().expose_secret(),
        )
        .unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            key,
            recipients: Recipients::parse(&[identity.to_public().to_string()]).unwrap(),
        }
    }

    fn open(&self, capture: &str, limits: Limits) -> Store {
        let about = about("pod-a", capture);
        let mut store = Store::open(self.folder.path(), about, limits, at(0)).unwrap();
        store.keep_texts(self.recipients.clone());
        store
    }

    /// What each row of the capture said, by the segment that it lies in.
    fn said(&self) -> Vec<(u64, Option<Text>)> {
        let identities = Identities::from_file(&self.key.path().join("key.txt")).unwrap();
        let reader = Reader::open(self.folder.path()).unwrap();
        let mut said = Vec::new();
        for segment in reader.segments() {
            let mut texts = Texts::open(&beside(&segment.path), &identities).unwrap();
            for row in segment.rows().unwrap() {
                let exchange = row.unwrap().exchange;
                said.push((exchange, texts.find(exchange).unwrap()));
            }
        }
        said
    }

    fn is_empty_of(&self, ending: &str) -> bool {
        let state = self.folder.path().join(".loadproof/pod=pod-a");
        fs::read_dir(state)
            .unwrap()
            .all(|entry| !entry.unwrap().path().to_str().unwrap().ends_with(ending))
    }
}

fn beside(segment: &Path) -> PathBuf {
    segment.with_extension("text.tar")
}

fn text(exchange: u64) -> Text {
    let heard = Heard {
        exchange,
        request: HeardBody {
            bytes: format!("prompt {exchange} {}", "word ".repeat(200))
                .into_bytes()
                .into(),
            ..HeardBody::default()
        },
        ..Heard::default()
    };
    // Rules take long to compile without optimisation.
    static RULES: LazyLock<Redaction> = LazyLock::new(|| Redaction::new(&[]).unwrap());
    RULES.clone().text(&heard)
}

fn append(store: &mut Store, exchanges: std::ops::RangeInclusive<u64>) {
    for exchange in exchanges {
        store.append_text(&text(exchange)).unwrap();
        store.append(&row(exchange, exchange * 1_000)).unwrap();
    }
}

fn assert_said(said: &[(u64, Option<Text>)], exchanges: u64) {
    assert_eq!(said.len() as u64, exchanges);
    for (exchange, said) in said {
        assert_eq!(said.as_ref(), Some(&text(*exchange)));
        assert!(matches!(
            &said.as_ref().unwrap().request.body,
            Body::Text(_)
        ));
    }
}

#[test]
fn each_segment_has_its_texts_beside_it_and_their_digest_in_it() {
    let place = Place::new();
    // Small enough for several segments.
    let mut store = place.open(
        "c1",
        Limits {
            segment_bytes: 20_000,
            ..limits()
        },
    );
    for hundred in 0..5 {
        append(&mut store, hundred * 100 + 1..=hundred * 100 + 100);
        store.tick(at(1));
    }
    let status = store.close().unwrap();
    assert_eq!(
        (status.texts, status.texts_dropped, status.rows),
        (500, 0, 500)
    );
    assert!(status.segments > 1, "{status:?}");
    let reader = Reader::open(place.folder.path()).unwrap();
    for segment in reader.segments() {
        let bytes = fs::read(beside(&segment.path)).unwrap();
        let texts = segment.seal.texts.as_ref().unwrap();
        assert_eq!(texts.bytes, bytes.len() as u64);
        assert_eq!(texts.sha256, sha256(&bytes));
    }
    assert_said(&place.said(), 500);
    assert!(place.is_empty_of(".texts"));
}

#[test]
fn texts_that_are_gone_changed_or_strange_are_found() {
    let place = Place::new();
    let mut store = place.open("c1", limits());
    append(&mut store, 1..=3);
    store.close().unwrap();
    let segment = Reader::open(place.folder.path()).unwrap().segments()[0]
        .path
        .clone();
    let texts = beside(&segment);
    let faults = || {
        let found = verify(place.folder.path()).unwrap();
        assert_eq!(found.whole, found.captures[0].faults.is_empty());
        found.captures[0].faults.clone()
    };
    assert!(faults().is_empty());
    let mut bytes = fs::read(&texts).unwrap();
    bytes[600] ^= 1;
    fs::write(&texts, &bytes).unwrap();
    assert!(faults()[0].ends_with("was changed after it was sealed"));
    fs::remove_file(&texts).unwrap();
    assert!(faults()[0].ends_with("is missing"));
}

/// Nobody can tell whose texts are which in a file without its key: all of a segment's go with a tenant's rows.
#[test]
fn an_erasure_takes_the_texts_of_its_segments() {
    let place = Place::new();
    let mut store = place.open("c1", limits());
    append(&mut store, 1..=3);
    let mut theirs = row(4, 4_000);
    theirs.tenant = Some(99);
    store.append_text(&text(4)).unwrap();
    store.append(&theirs).unwrap();
    let erased = store
        .erase(Tenant {
            key: "k1",
            hash: 99,
        })
        .unwrap();
    assert_eq!((erased.rows, erased.texts), (1, 1));
    append(&mut store, 5..=6);
    store.close().unwrap();
    let found = verify(place.folder.path()).unwrap();
    assert!(found.whole, "{found}");
    let reader = Reader::open(place.folder.path()).unwrap();
    let there = reader
        .segments()
        .iter()
        .map(|segment| beside(&segment.path).exists());
    assert_eq!(there.collect::<Vec<_>>(), [false, true]);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A process that is killed runs no destructor: its store is forgotten, and its lock alone let go of.
#[test]
fn fault_59_what_was_flushed_before_a_kill_is_sealed_by_the_next_start() {
    let place = Place::new();
    let mut store = place.open("c1", limits());
    append(&mut store, 1..=50);
    store.tick(at(1));
    let state = place.folder.path().join(".loadproof/pod=pod-a");
    let killed = [("c1-000000.log", 7), ("c1-000000.texts", 700)].map(|(name, torn)| {
        let mut bytes = fs::read(state.join(name)).unwrap();
        bytes.extend(vec![1; torn]);
        (name, bytes)
    });
    drop(store);
    for (name, bytes) in killed {
        fs::write(state.join(name), bytes).unwrap();
    }
    fs::write(state.join("c0-000000.texts"), "no log has these").unwrap();
    let store = place.open("c2", limits());
    drop(store);
    let reader = Reader::open(place.folder.path()).unwrap();
    let seal = &reader.segments()[0].seal;
    assert_eq!(
        (seal.torn_bytes, seal.texts.as_ref().unwrap().torn_bytes),
        (7, 700)
    );
    assert_said(&place.said(), 50);
    assert!(place.is_empty_of(".texts"));
}

#[test]
fn texts_count_for_the_quota_and_an_upload_makes_room() {
    let place = Place::new();
    let quota = Limits {
        segment_bytes: 4_000,
        quota_bytes: Some(40_000),
        ..limits()
    };
    let mut store = place.open("c1", quota);
    let mut exchange = 0;
    let stop = loop {
        exchange += 1;
        store.tick(at(1));
        match store.append_text(&text(exchange)) {
            Ok(()) => store.append(&row(exchange, exchange)).unwrap(),
            Err(stop) => break stop,
        }
    };
    assert_eq!(stop, Stop::Quota);
    assert_eq!(store.append(&row(exchange, exchange)), Err(Stop::Quota));
    let status = store.status();
    assert_eq!((status.texts, status.texts_dropped), (exchange - 1, 1));
    let up = tempfile::tempdir().unwrap();
    let settings = UploaderSettings {
        folder: place.folder.path().to_owned(),
        pod: "pod-a".to_owned(),
        after: AfterUpload::Delete,
    };
    let remote = Remote::open(&format!("file://{}", up.path().display()), []).unwrap();
    let uploads = Uploader::start(remote, &settings)
        .unwrap()
        .finish(std::time::Duration::from_secs(60));
    assert_eq!((uploads.failed, uploads.pending_files), (0, 0));
    store.tick(at(30));
    append(&mut store, exchange..=exchange);
    store.close().unwrap();
    // What is up and what is still here are the whole capture.
    let at_both =
        [up.path(), place.folder.path()].map(|folder| Reader::open(folder).unwrap().count());
    assert_eq!(at_both.iter().sum::<usize>() as u64, exchange);
}
