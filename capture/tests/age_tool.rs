//! Texts against the tools that everybody has: tar, age, zstd's format. Needs `age` and `age-keygen` (`scripts/setup age`).
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't set up its case must fail"
)]

use std::path::Path;
use std::process::{Command, Output};

use capture::text::{Batches, Heard, HeardBody, Identities, Reader, Recipients, Redaction, Text};

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// Runs what must go well.
fn must(command: &mut Command) -> Vec<u8> {
    let output = run(command);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output.stdout
}

/// A key made by the tool; its public half.
fn keygen(path: &Path) -> String {
    must(Command::new("age-keygen").arg("-o").arg(path));
    let public = must(Command::new("age-keygen").arg("-y").arg(path));
    String::from_utf8(public).unwrap()
}

#[test]
fn fault_63_the_age_tool_opens_each_batch_with_the_identity_and_not_without() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let public = [keygen(&at("one.txt")), keygen(&at("two.txt"))];
    keygen(&at("stranger.txt"));
    let mut batches =
        Batches::create(&at("a.partial"), Recipients::parse(&public).unwrap()).unwrap();
    let mut redaction = Redaction::new(&[]).unwrap();
    for exchange in 1..=2 {
        let heard = Heard {
            exchange,
            request: HeardBody {
                // More than a chunk of age's.
                bytes: format!("prompt {exchange} {}", "é".repeat(100_000))
                    .into_bytes()
                    .into(),
                ..HeardBody::default()
            },
            ..Heard::default()
        };
        batches.push(&redaction.text(&heard)).unwrap();
        batches.flush().unwrap();
    }
    batches.seal(&at("a.text.tar")).unwrap();
    must(
        Command::new("tar")
            .arg("-xf")
            .arg(at("a.text.tar"))
            .arg("-C")
            .arg(folder.path()),
    );
    for exchange in 1..=2 {
        let sealed = at(&format!(
            "{:06}-{exchange}-{exchange}.jsonl.zst.age",
            exchange - 1
        ));
        for key in ["one.txt", "two.txt"] {
            let packed = must(
                Command::new("age")
                    .arg("-d")
                    .arg("-i")
                    .arg(at(key))
                    .arg(&sealed),
            );
            let line = zstd::decode_all(&packed[..]).unwrap();
            let text: Text = serde_json::from_slice(&line).unwrap();
            assert_eq!(text.exchange, exchange);
            let identities = Identities::from_file(&at(key)).unwrap();
            let mut reader = Reader::open(&at("a.text.tar"), &identities).unwrap();
            assert_eq!(reader.find(exchange).unwrap(), Some(text));
        }
        let refused = run(Command::new("age")
            .arg("-d")
            .arg("-i")
            .arg(at("stranger.txt"))
            .arg(&sealed));
        assert!(!refused.status.success() && refused.stdout.is_empty());
        let refused = run(Command::new("age").arg("-d").arg(&sealed));
        assert!(!refused.status.success() && refused.stdout.is_empty());
    }
}
