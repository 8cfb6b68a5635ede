//! Rows of exchanges, against what is known of the bodies that they are made of.

use super::*;
use judge::prefix::{BlockHash, BlockIds};
use measure::{End, Exchange, Identity, InFlight, Nanos, Role};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use wire::Endpoint;

fn settings() -> ScribeSettings {
    ScribeSettings {
        level: Level::Prefix,
        block: None,
        tokenizer: None,
        key_file: None,
        sample: 1.0,
    }
}

fn scribe(settings: ScribeSettings) -> Scribe {
    Scribe::new(settings).unwrap()
}

/// An exchange that arrived at `second` and took half of one.
fn record(endpoint: Endpoint, id: u64, second: u64) -> Record {
    let identity = Identity {
        id,
        role: Role::Production,
        endpoint,
    };
    let arrival = Nanos::from_millis(second * 1_000);
    let mut exchange = Exchange::begin(identity, arrival, Arc::new(InFlight::default()));
    exchange.on_end(Nanos::from_millis(second * 1_000 + 500), End::Clean);
    exchange.finish(None)
}

fn kept(body: &Value) -> Kept {
    Kept {
        body: Some(body.to_string().into_bytes()),
        ..Kept::default()
    }
}

fn row(scribe: &mut Scribe, endpoint: Endpoint, id: u64, kept: &Kept) -> Option<Row> {
    scribe.row(&record(endpoint, id, id), kept, 0, |_| false)
}

fn chat(scribe: &mut Scribe, id: u64, texts: &[&str]) -> Row {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<_> = roles
        .zip(texts)
        .map(|(role, text)| json!({"role": role, "content": text}))
        .collect();
    row(
        scribe,
        Endpoint::ChatCompletions,
        id,
        &kept(&json!({"messages": messages})),
    )
    .unwrap()
}

fn text(scribe: &mut Scribe, id: u64, prompt: &str) -> Row {
    row(
        scribe,
        Endpoint::Completions,
        id,
        &kept(&json!({"prompt": prompt})),
    )
    .unwrap()
}

#[test]
fn prompts_share_blocks_as_far_as_they_are_the_same() {
    let part = |sign: &str| sign.repeat(64);
    let prompts = [
        part("a") + &part("b") + "cc",
        part("a") + &part("b") + "cd",
        part("a") + &part("c"),
        part("b"),
        part("a"),
        "cc".to_owned(),
    ];
    let mut scribe = scribe(settings());
    let mut ids = BlockIds::default();
    let mut renamed = Vec::new();
    for (id, prompt) in (1..).zip(&prompts) {
        let row = text(&mut scribe, id, prompt);
        assert_eq!(row.prompt_units, Some(prompt.len() as u64));
        let wide = |hash: &u64| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&hash.to_be_bytes());
            BlockHash(bytes)
        };
        renamed.push(ids.of(&row.blocks.iter().map(wide).collect::<Vec<_>>()));
    }
    // The same content after something else, or at another place, is another block.
    let truth: [&[u64]; 6] = [&[0, 1, 2], &[0, 1, 3], &[0, 4], &[5], &[0], &[6]];
    assert_eq!(renamed, truth);
}

#[test]
fn an_adapter_and_a_salt_set_prompts_apart() {
    let mut scribe = scribe(settings());
    let mut of = |body: Value| {
        row(&mut scribe, Endpoint::Completions, 1, &kept(&body))
            .unwrap()
            .blocks
    };
    let plain = of(json!({"prompt": "a"}));
    assert_eq!(plain, of(json!({"prompt": "a", "temperature": 1})));
    assert_ne!(plain, of(json!({"prompt": "a", "cache_salt": "s"})));
    assert_ne!(plain, of(json!({"prompt": "a", "lora_path": "l"})));
}

#[test]
fn a_chat_goes_on_where_an_earlier_one_ended() {
    let mut scribe = scribe(settings());
    let first = chat(&mut scribe, 1, &["hello"]);
    let other = chat(&mut scribe, 2, &["good day"]);
    let second = chat(&mut scribe, 9, &["hello", "hi", "how are you?"]);
    let third = chat(
        &mut scribe,
        11,
        &["hello", "hi", "how are you?", "fine", "good"],
    );
    let of = |row: &Row| (row.turn, row.think_ns, row.session_by.clone());
    let by = || Some("prefix".to_owned());
    assert_eq!(of(&first), (Some(1), None, by()));
    assert_eq!(of(&other), (Some(1), None, by()));
    assert_eq!(of(&second), (Some(2), Some(7_500_000_000), by()));
    assert_eq!(of(&third), (Some(3), Some(1_500_000_000), by()));
    assert_eq!([second.session, third.session], [first.session; 2]);
    assert_ne!(other.session, first.session);
    // More words of the client alone are no next turn, nor is the same prompt again.
    let user = |text: &str| json!({"role": "user", "content": text});
    let more = kept(&json!({"messages": [user("good day"), user("again")]}));
    let more = row(&mut scribe, Endpoint::ChatCompletions, 20, &more).unwrap();
    assert_eq!(more.turn, Some(1));
    assert_eq!(chat(&mut scribe, 21, &["good day"]).turn, Some(1));
    // A text has no turns.
    assert_eq!(text(&mut scribe, 22, "a").session, None);
}

#[test]
fn a_session_that_is_named_is_that_one() {
    let mut scribe = scribe(settings());
    let named = |field: &str, header: Option<&str>| Kept {
        session: header.map(str::to_owned),
        ..kept(&json!({"prompt": "a", "session_id": field, "user": "u"}))
    };
    let mut of = |id, kept: &Kept| row(&mut scribe, Endpoint::Completions, id, kept).unwrap();
    let field = of(1, &named("x", None));
    let header = of(2, &named("y", Some("x")));
    let later = of(3, &named("z", Some("x")));
    assert_eq!(field.session_by.as_deref(), Some("field"));
    assert_eq!(header.session_by.as_deref(), Some("header"));
    assert_eq!((header.turn, header.session), (Some(2), field.session));
    assert_eq!((later.turn, later.session), (Some(3), field.session));
    assert_eq!(later.think_ns, Some(500_000_000));
    assert!(field.tenant.is_some() && field.tenant == later.tenant);
    let tenant = Kept {
        tenant: Some("other".to_owned()),
        ..named("x", None)
    };
    assert_ne!(of(4, &tenant).tenant, field.tenant);
}

#[test]
fn lengths_say_nothing_of_whose_and_what() {
    let mut scribe = scribe(ScribeSettings {
        level: Level::Lengths,
        ..settings()
    });
    let kept = Kept {
        session: Some("s".to_owned()),
        tenant: Some("t".to_owned()),
        ..kept(&json!({"prompt": "a", "user": "u"}))
    };
    let row = row(&mut scribe, Endpoint::Completions, 1, &kept).unwrap();
    assert_eq!(
        (row.session, row.tenant, row.turn, row.prompt_units),
        (None, None, None, None)
    );
    assert!(row.blocks.is_empty());
}

#[test]
fn a_name_that_nobody_vouches_for_is_not_kept() {
    let mut scribe = scribe(settings());
    let mut record = record(Endpoint::Completions, 1, 1);
    record.request.model = Some("secret".to_owned());
    record.answer_model = Some("otter".to_owned());
    let row = scribe
        .row(&record, &Kept::default(), 0, |name| name == "otter")
        .unwrap();
    assert_eq!(row.model.as_deref(), Some("other"));
    assert_eq!(row.answer_model.as_deref(), Some("otter"));
}

#[test]
fn of_a_body_that_was_cut_whole_blocks_stand() {
    let mut scribe = scribe(settings());
    let body = json!({"prompt": "abcdefgh".repeat(100)}).to_string();
    let mut of = |cut: usize| {
        let kept = Kept {
            body: Some(body.as_bytes()[..cut].to_vec()),
            ..Kept::default()
        };
        row(&mut scribe, Endpoint::Completions, 1, &kept).unwrap()
    };
    let whole = of(body.len());
    assert_eq!((whole.prompt_units, whole.blocks.len()), (Some(800), 13));
    let cut = of(200);
    assert_eq!(
        (cut.prompt_units, cut.blocks.as_slice()),
        (None, &whole.blocks[..2])
    );
}

#[test]
fn a_sample_keeps_whole_sessions() {
    let mut scribe = scribe(ScribeSettings {
        sample: 0.5,
        ..settings()
    });
    let mut kept_sessions = 0;
    for session in 0..200 {
        let turns: Vec<_> = (1..4)
            .map(|turn| {
                let kept = Kept {
                    session: Some(format!("s{session}")),
                    ..Kept::default()
                };
                row(
                    &mut scribe,
                    Endpoint::Completions,
                    10 * session + turn,
                    &kept,
                )
                .is_some()
            })
            .collect();
        assert!(turns.iter().all(|kept| *kept == turns[0]));
        kept_sessions += usize::from(turns[0]);
    }
    // Of a fair half of 200, the chance of fewer than 60 or more than 140 is 1 in 10⁸.
    assert!((60..=140).contains(&kept_sessions), "{kept_sessions}");
    for sample in [0.0, -1.0, 1.1, f64::NAN] {
        assert!(
            Scribe::new(ScribeSettings {
                sample,
                ..settings()
            })
            .is_err()
        );
    }
}

#[test]
fn fault_62_hashes_are_worth_nothing_without_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let with = || ScribeSettings {
        key_file: Some(path.clone()),
        ..settings()
    };
    let of = |settings: ScribeSettings| {
        let mut scribe = scribe(settings);
        let key = scribe.about(String::new(), String::new()).key;
        (
            key,
            text(&mut scribe, 1, "You are a helpful assistant.").blocks,
        )
    };
    let kept = of(with());
    assert_eq!(kept, of(with()), "a key that is kept on purpose");
    assert_ne!(
        of(settings()),
        of(settings()),
        "one of its own for each capture"
    );
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(
        Scribe::new(with()),
        Err(SetupError::Key(KeyError::Open { .. }))
    ));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "short").unwrap();
    assert!(matches!(
        Scribe::new(with()),
        Err(SetupError::Key(KeyError::Form { .. }))
    ));
}

#[test]
fn with_a_tokenizer_blocks_are_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let words: serde_json::Map<_, _> = (0..40).map(|id| (format!("w{id}"), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "w0"}
    });
    std::fs::write(&path, tokenizer.to_string()).unwrap();
    let mut scribe = scribe(ScribeSettings {
        tokenizer: Some(path),
        block: Some(4),
        ..settings()
    });
    let about = scribe.about("c".to_owned(), "p".to_owned());
    assert_eq!(
        (
            about.unit,
            about.block,
            about.tokenizer.map(|sum| sum.len())
        ),
        (Unit::Tokens, 4, Some(64))
    );
    let written = text(&mut scribe, 1, "w1 w2 w3 w4 w5 w6");
    assert_eq!(
        (written.input_tokens, written.input_source.as_str()),
        (Some(6), "tokenizer")
    );
    let ids = kept(&json!({"prompt": [1, 2, 3, 4, 5, 6]}));
    let ids = row(&mut scribe, Endpoint::Completions, 2, &ids).unwrap();
    assert_eq!((ids.blocks.len(), &ids.blocks), (2, &written.blocks));
    let hello = chat(&mut scribe, 3, &["w1 w2"]);
    assert_eq!(hello.prompt_units, Some(3));
    assert_eq!(chat(&mut scribe, 4, &["w1 w2", "w3", "w4"]).turn, Some(2));
    assert!(
        Scribe::new(ScribeSettings {
            tokenizer: Some(folder.path().to_owned()),
            ..settings()
        })
        .is_err()
    );
}
