//! Whatever the sources hold, the check answers; and what it prints it takes back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

mod any_text;

use any_text::{check_again, check_any, check_file, check_input};
use config::{Environment, Flag, Sources, check, keys, print};
use proptest::prelude::*;

/// Characters that YAML gives a meaning, and pieces of our own keys and values.
fn yaml_like() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("\n".to_owned()),
        Just("\n  ".to_owned()),
        Just(": ".to_owned()),
        "[\\[\\]{},&*!|>'\"%@`#?:\\- \t\n~<=]{1,3}",
        proptest::sample::select(
            keys()
                .flat_map(|key| key.path.split('.'))
                .collect::<Vec<_>>()
        )
        .prop_map(str::to_owned),
        proptest::sample::select(vec![
            "2s",
            "64KiB",
            "off",
            "true",
            "127.0.0.1:1",
            "http://a:1",
            "0x1f",
            "1e999",
            ".nan",
            "null",
            "&a",
            "*a",
            "<<"
        ])
        .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    proptest::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// A valid value of each kind of key, as text of a flag.
fn value_of(kind: &str) -> BoxedStrategy<String> {
    let ascending = |unit: &'static str| {
        proptest::collection::btree_set(1_u32..3000, 1..6).prop_map(move |set| {
            set.iter()
                .map(|item| format!("{item}{unit}"))
                .collect::<Vec<_>>()
                .join(",")
        })
    };
    match kind {
        "address" => (1_u16..=255, 10_000_u16..)
            .prop_map(|(host, port)| format!("127.0.0.{host}:{port}"))
            .boxed(),
        "URL" => "http://[a-z]{1,8}(\\.[a-z0-9]{1,5}){0,2}:[1-9][0-9]{0,3}".boxed(),
        "duration" => (1_u64..60_000)
            .prop_map(|millis| format!("{millis}ms"))
            .boxed(),
        "duration or off" => prop_oneof![
            Just("off".to_owned()),
            (100_u64..60_000).prop_map(|ms| format!("{ms}ms"))
        ]
        .boxed(),
        "name" => "[a-z]{1,8}(\\.[a-z0-9]{1,5}){0,2}".boxed(),
        "size" => (4096_u64..=1 << 20)
            .prop_map(|bytes| bytes.to_string())
            .boxed(),
        "number" => (8_u64..=1000).prop_map(|count| count.to_string()).boxed(),
        "text" => "[a-z0-9]([a-z0-9 =,:#\"']{0,20}[a-z0-9])?".boxed(),
        "toggle" => prop_oneof![Just("true".to_owned()), Just("false".to_owned())].boxed(),
        "list of PATH=ROUTEs" => proptest::collection::btree_set("/[a-z*/]{1,9}", 1..4)
            .prop_map(|paths| {
                let routes = paths.iter().map(|path| format!("{path}=/v1/completions"));
                routes.collect::<Vec<_>>().join(",")
            })
            .boxed(),
        "list of numbers" => ascending("").boxed(),
        "list of durations" => ascending("ms").boxed(),
        other => panic!("no values for {other}"),
    }
}

/// Some keys given valid values. Names of models come by themselves, since any text may be one; files are left out, since
/// some of them need others.
fn settings() -> impl Strategy<Value = Vec<Flag>> {
    let drawn =
        keys().filter(|key| !["word", "file", "list of model names"].contains(&key.kind.as_str()));
    let each: Vec<_> = drawn
        .map(|key| {
            let always = key.path == "upstream.url";
            let given = if always {
                Just(true).boxed()
            } else {
                any::<bool>().boxed()
            };
            (given, value_of(&key.kind))
                .prop_map(move |(given, text)| given.then(|| Flag::one("--set", key.path, &text)))
        })
        .collect();
    let names = proptest::collection::btree_set("\\PC{1,20}", 0..5).prop_map(|names| {
        let names: Vec<String> = names
            .into_iter()
            .filter(|name| !name.trim().is_empty())
            .collect();
        Flag::many("--model", "models.names", &names)
    });
    (each, names).prop_map(|(flags, names)| flags.into_iter().flatten().chain([names]).collect())
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in any::<String>()) {
        check_any(&text, &[]);
    }

    #[test]
    fn text_that_looks_like_yaml_gets_an_answer(text in yaml_like()) {
        check_any(&text, &[]);
    }

    #[test]
    fn any_value_of_any_key_gets_an_answer(key in proptest::sample::select(keys().collect::<Vec<_>>()), value in any::<String>()) {
        let environment = Environment::of([(key.environment, value.clone())]);
        let flags = [Flag::assignment(&format!("{}={value}", key.path))];
        let _ = check(&Sources { file: None, environment: &environment, flags: &[] });
        let _ = check(&Sources { file: None, environment: &Environment::default(), flags: &flags });
    }

    #[test]
    fn what_is_printed_is_read_as_the_same(flags in settings()) {
        let Ok(first) = check_file("", &flags) else {
            // Drawn values may clash with each other; that says nothing about printing.
            return Err(TestCaseError::reject("values that cannot all hold"));
        };
        check_again(&first, &print(&first));
    }
}

/// What the fuzzer kept: an input for each way through the check that it found, and each that once went wrong.
#[test]
fn what_the_fuzzer_kept_holds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/text");
    let mut kept = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check_input(&std::fs::read(entry.unwrap().path()).unwrap());
        kept += 1;
    }
    assert!(kept > 100, "{kept} inputs are there");
}

/// A document that would blow up a thousandfold with each alias is cut off, not expanded.
#[test]
fn a_document_that_multiplies_itself_is_refused() {
    let mut text = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, before) in ('b'..='h').zip('a'..) {
        let aliases = vec![format!("*{before}"); 10].join(", ");
        text.push_str(&format!("{name}: &{name} [{aliases}]\n"));
    }
    let faults = check_file(&text, &[]).unwrap_err();
    assert!(
        faults.iter().any(|fault| fault.code.as_str() == "syntax"),
        "{faults}"
    );
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    for (open, close) in [("[", "]"), ("{a: ", "}")] {
        let text = format!("listen: {}1{}", open.repeat(100_000), close.repeat(100_000));
        let faults = check_file(&text, &[]).unwrap_err();
        assert_eq!(faults.iter().count(), 1, "{faults}");
    }
}
