//! Files of texts as a whole: what may stand in them where, who reads them, and what a killed writer leaves.
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't set up its case must fail"
)]

use std::path::{Path, PathBuf};

use age::secrecy::ExposeSecret;
use capture::text::{
    Batches, Body, Heard, HeardBody, Identities, Reader, Recipients, Redaction, Rule, TextError,
    recover,
};

/// A folder with a key pair.
struct Place {
    folder: tempfile::TempDir,
    recipients: Recipients,
    identities: Identities,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (recipients, identities) = keys(folder.path(), "key.txt");
        Self {
            folder,
            recipients,
            identities,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn create(&self) -> Batches {
        Batches::create(&self.path("a.partial"), self.recipients.clone()).unwrap()
    }
}

/// A key pair, the private half in a file.
fn keys(folder: &Path, name: &str) -> (Recipients, Identities) {
    let identity = age::x25519::Identity::generate();
    let path = folder.join(name);
    std::fs::write(
        &path,
        format!("# a key\n{}\n", identity.to_string().expose_secret()),
    )
    .unwrap();
    (
        Recipients::parse(&[identity.to_public().to_string()]).unwrap(),
        Identities::from_file(&path).unwrap(),
    )
}

fn heard(exchange: u64, prompt: &str, answer: &str) -> Heard {
    let body = |content_type: &str, text: String| HeardBody {
        content_type: Some(content_type.to_owned()),
        bytes: text.into_bytes().into(),
        ..HeardBody::default()
    };
    Heard {
        exchange,
        agent: Some("OpenAI/Python 2.1.0".to_owned()),
        request: body(
            "application/json",
            serde_json::json!({"messages": [{"role": "user", "content": prompt}]}).to_string(),
        ),
        answer: body(
            "text/event-stream",
            format!(
                "data: {}\n\ndata: [DONE]\n\n",
                serde_json::json!({"choices": [{"index": 0, "delta": {"content": answer}}]})
            ),
        ),
    }
}

fn redaction() -> Redaction {
    Redaction::new(&[]).unwrap()
}

#[test]
fn what_was_pushed_is_read_back_by_exchange() {
    let place = Place::new();
    let (mut batches, mut redaction) = (place.create(), redaction());
    let texts: Vec<_> = [3, 1, 2, 7, 5]
        .map(|exchange| redaction.text(&heard(exchange, &format!("prompt {exchange}"), "fine")))
        .into();
    for (at, text) in texts.iter().enumerate() {
        batches.push(text).unwrap();
        if at == 2 {
            batches.flush().unwrap();
        }
    }
    let sealed = batches.seal(&place.path("a.text.tar")).unwrap();
    assert!(!place.path("a.partial").exists());
    let bytes = std::fs::read(place.path("a.text.tar")).unwrap();
    assert_eq!(sealed.bytes, bytes.len() as u64);
    assert_eq!(sealed.sha256, sha256(&bytes));
    let mut reader = Reader::open(&place.path("a.text.tar"), &place.identities).unwrap();
    assert!(reader.is_whole());
    assert_eq!(reader.batches(), 2);
    assert_eq!(reader.batch(0).unwrap(), &texts[..3]);
    assert_eq!(reader.batch(1).unwrap(), &texts[3..]);
    for text in &texts {
        assert_eq!(reader.find(text.exchange).unwrap().as_ref(), Some(text));
    }
    assert_eq!(reader.find(6).unwrap(), None);
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn fault_63_texts_open_with_their_key_and_with_no_other() {
    let place = Place::new();
    let mut batches = place.create();
    batches
        .push(&redaction().text(&heard(1, "hello", "hi")))
        .unwrap();
    batches.seal(&place.path("a.text.tar")).unwrap();
    let (_, other) = keys(place.folder.path(), "other.txt");
    let mut reader = Reader::open(&place.path("a.text.tar"), &other).unwrap();
    let error = reader.find(1).unwrap_err();
    assert!(matches!(error, TextError::NotForUs { .. }), "{error}");
    // What holds no key is told so.
    std::fs::write(place.path("empty.txt"), "# nothing\nage1abc\n").unwrap();
    let error = Identities::from_file(&place.path("empty.txt")).unwrap_err();
    assert!(matches!(error, TextError::NoIdentity(_)), "{error}");
}

#[test]
fn a_byte_that_was_changed_spoils_its_batch_and_no_other() {
    let place = Place::new();
    let (mut batches, mut redaction) = (place.create(), redaction());
    for exchange in 1..=2 {
        batches
            .push(&redaction.text(&heard(exchange, "hello", "hi")))
            .unwrap();
        batches.flush().unwrap();
    }
    batches.seal(&place.path("a.text.tar")).unwrap();
    let mut bytes = std::fs::read(place.path("a.text.tar")).unwrap();
    // In the first batch's content, after its header.
    bytes[512 + 300] ^= 1;
    std::fs::write(place.path("b.text.tar"), bytes).unwrap();
    let mut reader = Reader::open(&place.path("b.text.tar"), &place.identities).unwrap();
    let error = reader.find(1).unwrap_err();
    assert!(error.to_string().contains("000000-1-1"), "{error}");
    assert!(reader.find(2).unwrap().is_some());
}

#[test]
fn fault_60_a_secret_of_a_body_is_on_disk_as_ciphertext_only() {
    // Text without the shape of any secret, so that nothing but encryption hides it.
    let canaries = [
        "purple walrus nineteen",
        "quiet lantern orchard",
        "velvet tractor parable",
    ];
    let place = Place::new();
    let (mut batches, mut redaction) = (place.create(), redaction());
    for exchange in 1..=1000 {
        let mut heard = heard(exchange, canaries[0], canaries[1]);
        heard.agent = Some(canaries[2].to_owned());
        heard.request.content_type = Some(format!("application/json; x={}", canaries[2]));
        let text = redaction.text(&heard);
        // A header's text does not even get that far.
        assert!(!serde_json::to_string(&text).unwrap().contains(canaries[2]));
        batches.push(&text).unwrap();
        if exchange % 100 == 0 {
            batches.flush().unwrap();
        }
    }
    batches.seal(&place.path("a.text.tar")).unwrap();
    let bytes = std::fs::read(place.path("a.text.tar")).unwrap();
    for canary in canaries {
        for window in canary.as_bytes().windows(8) {
            assert!(!bytes.windows(8).any(|found| found == window), "{canary}");
        }
    }
    let mut reader = Reader::open(&place.path("a.text.tar"), &place.identities).unwrap();
    let text = reader.find(1000).unwrap().unwrap();
    assert!(matches!(&text.request.body, Body::Text(text) if text.contains(canaries[0])));
    assert!(matches!(&text.answer.body, Body::Said(said) if said[0].text == canaries[1]));
}

#[test]
fn what_is_redacted_is_not_even_in_the_ciphertext() {
    let place = Place::new();
    let rule = Rule {
        name: "walrus".to_owned(),
        pattern: "(?i)walrus".to_owned(),
    };
    let mut redaction = Redaction::new(&[rule]).unwrap();
    let mut batches = place.create();
    let prompt = "Walrus ann@example.com 4111 1111 1111 1111 +1 415 555 2671 sk-0123456789abcdef01";
    batches
        .push(&redaction.text(&heard(1, prompt, "walrus?")))
        .unwrap();
    batches.seal(&place.path("a.text.tar")).unwrap();
    let mut reader = Reader::open(&place.path("a.text.tar"), &place.identities).unwrap();
    let text = serde_json::to_string(&reader.find(1).unwrap().unwrap()).unwrap();
    assert!(
        text.contains("[walrus] [email] [card] [phone] [key]"),
        "{text}"
    );
    let counts: Vec<_> = redaction
        .counts()
        .iter()
        .map(|(name, n)| (name.as_str(), *n))
        .collect();
    assert_eq!(
        counts,
        [
            ("card", 1),
            ("email", 1),
            ("key", 1),
            ("phone", 1),
            ("walrus", 2)
        ]
    );
}

/// A crash at any byte: the file is cut there, and the next start takes over.
#[test]
fn of_a_torn_file_every_whole_batch_stays_readable() {
    let place = Place::new();
    let (mut batches, mut redaction) = (place.create(), redaction());
    let mut ends = vec![0];
    for exchange in 1..=4 {
        batches
            .push(&redaction.text(&heard(exchange, "hello", "hi")))
            .unwrap();
        batches.flush().unwrap();
        ends.push(batches.bytes());
    }
    drop(batches);
    let bytes = std::fs::read(place.path("a.partial")).unwrap();
    assert_eq!(ends.last(), Some(&(bytes.len() as u64)));
    for cut in (0..=bytes.len())
        .step_by(97)
        .chain([bytes.len(), 511, 512, 513])
    {
        std::fs::write(place.path("b.partial"), &bytes[..cut]).unwrap();
        let recovered = recover(&place.path("b.partial"), &place.path("b.text.tar")).unwrap();
        let whole = ends.iter().rposition(|end| *end <= cut as u64).unwrap();
        assert_eq!(recovered.batches, whole as u64);
        assert_eq!(recovered.torn_bytes, cut as u64 - ends[whole]);
        assert!(!place.path("b.partial").exists());
        assert_eq!(recovered.sealed.is_some(), whole > 0);
        let Some(sealed) = recovered.sealed else {
            continue;
        };
        let mended = std::fs::read(place.path("b.text.tar")).unwrap();
        assert_eq!(sealed.sha256, sha256(&mended));
        let mut reader = Reader::open(&place.path("b.text.tar"), &place.identities).unwrap();
        assert!(reader.is_whole());
        assert!(reader.find(whole as u64).unwrap().is_some());
        assert!(reader.find(whole as u64 + 1).unwrap().is_none());
        std::fs::remove_file(place.path("b.text.tar")).unwrap();
    }
}

#[test]
fn a_sealed_file_that_was_not_renamed_is_renamed() {
    let place = Place::new();
    let mut batches = place.create();
    batches
        .push(&redaction().text(&heard(1, "hello", "hi")))
        .unwrap();
    let sealed = batches.seal(&place.path("a.text.tar")).unwrap();
    std::fs::rename(place.path("a.text.tar"), place.path("a.partial")).unwrap();
    let recovered = recover(&place.path("a.partial"), &place.path("a.text.tar")).unwrap();
    assert_eq!((recovered.sealed, recovered.torn_bytes), (Some(sealed), 0));
}

#[test]
fn a_file_is_its_owners_alone_and_takes_no_others_place() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let batches = place.create();
    let mode = std::fs::metadata(place.path("a.partial"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = Batches::create(&place.path("a.partial"), place.recipients.clone()).unwrap_err();
    assert!(error.to_string().starts_with("creating"), "{error}");
    // Nothing was said: nothing but the end of a tar.
    let sealed = batches.seal(&place.path("a.text.tar")).unwrap();
    assert_eq!(sealed.bytes, 1024);
}

#[test]
fn what_is_no_file_of_texts_is_refused() {
    let place = Place::new();
    for bytes in [vec![7; 5000], b"PAR1 something".to_vec()] {
        std::fs::write(place.path("x"), &bytes).unwrap();
        let error = Reader::open(&place.path("x"), &place.identities).unwrap_err();
        assert!(matches!(error, TextError::Damaged { .. }), "{error}");
    }
}
