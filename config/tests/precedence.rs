//! A flag wins over the environment, the environment over the file, the file over the default; and it is said which won.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use config::{
    Effective, Environment, Faults, FileText, Flag, Origin, Position, Sources, check, keys, load,
};
use serde_json::Value;

const ENGINE: &str = "http://engine:8000";

/// `drain.delay` in each source, where it is given.
struct Given {
    file: Option<&'static str>,
    variable: Option<&'static str>,
    flag: Option<&'static str>,
}

fn effective(given: &Given) -> Result<Effective, Faults> {
    let delay = given
        .file
        .map(|delay| format!("drain: {{delay: {delay}}}\n"))
        .unwrap_or_default();
    let text = format!("upstream: {{url: 'http://engine:8000'}}\n{delay}");
    let flags: Vec<Flag> = given
        .flag
        .iter()
        .map(|delay| Flag::one("--set", "drain.delay", delay))
        .collect();
    let variables = given
        .variable
        .iter()
        .map(|delay| ("LOADPROOF_DRAIN_DELAY", *delay));
    check(&Sources {
        file: Some(FileText {
            name: "c.yaml",
            text: &text,
        }),
        environment: &Environment::of(variables),
        flags: &flags,
    })
}

#[test]
fn the_nearest_source_wins_and_is_named() {
    let place = "c.yaml:2:16";
    let variable = "environment LOADPROOF_DRAIN_DELAY";
    for (file, from_variable, flag, seconds, origin) in [
        (None, None, None, 15, "default"),
        (Some("1s"), None, None, 1, place),
        (None, Some("2s"), None, 2, variable),
        (Some("1s"), Some("2s"), None, 2, variable),
        (None, None, Some("3s"), 3, "flag --set"),
        (Some("1s"), None, Some("3s"), 3, "flag --set"),
        (None, Some("2s"), Some("3s"), 3, "flag --set"),
        (Some("1s"), Some("2s"), Some("3s"), 3, "flag --set"),
        // A value that lost is not read, so that a bad line can be overridden in a hurry.
        (Some("soon"), Some("later"), Some("3s"), 3, "flag --set"),
    ] {
        let given = Given {
            file,
            variable: from_variable,
            flag,
        };
        let effective = effective(&given).unwrap_or_else(|faults| panic!("{faults}"));
        let setting = effective
            .settings
            .iter()
            .find(|setting| setting.key == "drain.delay")
            .unwrap();
        assert_eq!(
            effective.checked.drain.delay.as_secs(),
            seconds,
            "{file:?} {from_variable:?} {flag:?}"
        );
        assert_eq!(
            setting.origin.to_string(),
            origin,
            "{file:?} {from_variable:?} {flag:?}"
        );
    }
}

/// A value as it is written in a variable or a flag.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[test]
fn every_key_is_read_from_its_variable_and_from_a_flag() {
    for key in keys() {
        let value = key.default.clone().unwrap_or_else(|| ENGINE.into());
        let text = text_of(&value);
        let variable = Environment::of([(key.environment.clone(), text.clone())]);
        let flag = Flag::assignment(&format!("{}={text}", key.path));
        let engine =
            (key.default.is_some()).then(|| Flag::one("--upstream", "upstream.url", ENGINE));
        for (environment, flag) in [(variable, None), (Environment::default(), Some(flag))] {
            let origin = match flag {
                None => format!("environment {}", key.environment),
                Some(_) => "flag --set".to_owned(),
            };
            let flags: Vec<Flag> = engine.clone().into_iter().chain(flag).collect();
            let result = check(&Sources {
                file: None,
                environment: &environment,
                flags: &flags,
            });
            let effective = result.unwrap_or_else(|faults| panic!("{}: {faults}", key.path));
            let setting = effective
                .settings
                .iter()
                .find(|setting| setting.key == key.path)
                .unwrap();
            assert_eq!(
                (&setting.value, setting.origin.to_string()),
                (&value, origin),
                "{}",
                key.path
            );
        }
    }
}

#[test]
fn the_file_is_named_by_the_flag_or_else_by_the_variable() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, listen: &str| {
        let path = dir.path().join(name);
        std::fs::write(
            &path,
            format!("listen: {listen}\nupstream: {{url: 'http://engine:8000'}}\n"),
        )
        .unwrap();
        path
    };
    let (by_flag, by_variable) = (
        write("flag.yaml", "127.0.0.1:1"),
        write("variable.yaml", "127.0.0.1:2"),
    );
    let environment = Environment::of([("LOADPROOF_CONFIG", by_variable.as_os_str())]);
    for (file, port) in [(Some(by_flag.as_path()), 1), (None, 2)] {
        let effective = load(file, &environment, &[]).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(
            effective.checked.listen[0].address().map(|at| at.port()),
            Some(port)
        );
    }
    let listen = load(None, &environment, &[]).unwrap().settings.remove(0);
    let name = by_variable.display().to_string();
    assert_eq!(
        listen.origin,
        Origin::File {
            name,
            position: Some(Position { line: 1, column: 9 })
        }
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_fault_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.yaml");
    let said = load(Some(&missing), &Environment::default(), &[])
        .unwrap_err()
        .to_string();
    let expected = format!(
        "{}: the configuration file cannot be read: No such file or directory (os error 2)\n  fix: correct the path in --config, or the file",
        missing.display()
    );
    assert_eq!(said, expected);

    let large = dir.path().join("large.yaml");
    std::fs::write(&large, "#".repeat(1 << 21)).unwrap();
    let environment = Environment::of([("LOADPROOF_CONFIG", large.as_os_str())]);
    let said = load(None, &environment, &[]).unwrap_err().to_string();
    assert!(
        said.contains("larger than 1048576 bytes\n  fix: correct the path in LOADPROOF_CONFIG"),
        "{said}"
    );

    let binary = dir.path().join("binary.yaml");
    std::fs::write(&binary, [0xff, 0xfe, 0x00]).unwrap();
    let said = load(Some(&binary), &Environment::default(), &[])
        .unwrap_err()
        .to_string();
    assert!(said.contains("UTF-8"), "{said}");
}

#[test]
fn variables_of_a_service_called_loadproof_only_warn() {
    let environment = Environment::of([
        ("LOADPROOF_SERVICE_HOST", "10.0.0.7"),
        ("LOADPROOF_PORT", "tcp://10.0.0.7:8080"),
        ("LOADPROOF_UPSTREAM_URL", "http://engine:8000"),
    ]);
    let effective = check(&Sources {
        file: None,
        environment: &environment,
        flags: &[],
    })
    .unwrap();
    let warnings: Vec<String> = effective.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "environment LOADPROOF_PORT: 2 variables that Kubernetes makes for a Service called loadproof were ignored\n  advice: set enableServiceLinks: false in the pod"
        ]
    );
}
