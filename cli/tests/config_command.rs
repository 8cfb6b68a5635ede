//! `loadproof config` and the command line around it: the real binary, its exit codes and what it writes where.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const WELL: &str = "upstream: {url: 'http://127.0.0.1:8000'}\n";

/// What one run did.
struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

/// The binary with no environment but `variables`.
fn command(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loadproof"));
    command
        .args(arguments)
        .env_clear()
        .envs(variables.iter().copied());
    command.stdin(Stdio::null());
    command
}

fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let output = command(arguments, variables).output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A configuration file and the folder that goes with it.
fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.yaml");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn check(path: &Path, more: &[&str]) -> Run {
    let path = path.to_str().unwrap();
    run(
        &[&["config", "check", "--config", path], more].concat(),
        &[],
    )
}

#[test]
fn check_says_ok_and_warns_aside() {
    let (_dir, path) = file(&format!("{WELL}models: {{learn: false}}\n"));
    let well = check(&path, &["--model", "m"]);
    assert_eq!(
        (well.code, well.stdout.as_str(), well.stderr.as_str()),
        (0, "ok\n", "")
    );

    let odd = check(&path, &[]);
    assert_eq!((odd.code, odd.stdout.as_str()), (0, "ok\n"));
    let place = format!("warning: {}:2:17: models.learn: no name", path.display());
    assert!(odd.stderr.starts_with(&place), "{}", odd.stderr);
}

#[test]
fn check_tells_all_faults_aside_and_exits_with_2() {
    let (_dir, path) = file("lisetn: 1\nlimits: {body_bytes: lots}\n");
    let run = check(&path, &["--upstream", "engine:8000"]);
    let at = path.display();
    let expected = format!(
        "{at}:1:1: lisetn: unknown key
  fix: did you mean `listen`?
{at}:2:22: limits.body_bytes = lots: not a size
  fix: write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB
flag --upstream: upstream.url = engine:8000: a URL without http://
  fix: write http://engine:8000
loadproof: 3 faults in the configuration
"
    );
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(run.stderr, expected);
}

#[test]
fn check_has_a_form_for_machines() {
    let (_dir, path) = file("lisetn: 1\n");
    let wrong = check(
        &path,
        &["--output-format", "json", "--upstream", "http://e:1"],
    );
    let said: Value = serde_json::from_str(&wrong.stdout).unwrap();
    assert_eq!(wrong.code, 2);
    assert_eq!(said["ok"], json!(false));
    assert_eq!(
        said["faults"],
        json!([{
            "code": "unknown_key", "key": "lisetn", "value": null, "wrong": "unknown key", "fix": "did you mean `listen`?",
            "source": {"kind": "file", "name": path.to_str().unwrap(), "line": 1, "column": 1},
        }])
    );

    let (_dir, path) = file(WELL);
    let well = check(
        &path,
        &[
            "--output-format",
            "json",
            "--set",
            "upstream.idle_timeout=7s",
        ],
    );
    let said: Value = serde_json::from_str(&well.stdout).unwrap();
    assert_eq!((well.code, &said["ok"]), (0, &json!(true)));
    assert_eq!(
        said["warnings"][0]["source"],
        json!({"kind": "flag", "name": "--set"})
    );
}

#[test]
fn print_shows_each_source_and_is_itself_a_file() {
    let (dir, path) = file(&format!("{WELL}slo: {{ttft: [1s]}}\n"));
    let arguments = [
        "config",
        "print",
        "--config",
        path.to_str().unwrap(),
        "--listen",
        "127.0.0.1:0",
    ];
    let printed = run(&arguments, &[("LOADPROOF_LOG_LEVEL", "debug")]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    for line in [
        "listen: 127.0.0.1:0 # flag --listen\n",
        "  level: debug # environment LOADPROOF_LOG_LEVEL\n",
        &format!("  ttft: [1s] # {}:2:13\n", path.display()),
        "  body_bytes: 512MiB # default\n",
    ] {
        assert!(
            printed.stdout.contains(line),
            "{line} is not in\n{}",
            printed.stdout
        );
    }

    let again = dir.path().join("again.yaml");
    std::fs::write(&again, &printed.stdout).unwrap();
    let json_of = |arguments: &[&str], variables: &[(&str, &str)]| {
        let run = run(
            &[arguments, &["--output-format", "json"]].concat(),
            variables,
        );
        serde_json::from_str::<Value>(&run.stdout).unwrap()["config"].clone()
    };
    let first = json_of(&arguments, &[("LOADPROOF_LOG_LEVEL", "debug")]);
    let second = json_of(
        &["config", "print", "--config", again.to_str().unwrap()],
        &[],
    );
    assert_eq!(first, second);
    assert_eq!(first["log"]["level"], json!("debug"));
}

#[test]
fn print_and_proxy_refuse_what_check_refuses() {
    let (_dir, path) = file(&format!("{WELL}tokenizer: x\n"));
    let path = path.to_str().unwrap();
    let checked = run(&["config", "check", "--config", path], &[]);
    for arguments in [
        ["config", "print", "--config", path].as_slice(),
        &["proxy", "--config", path],
    ] {
        let refused = run(arguments, &[]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        assert_eq!(refused.stderr, checked.stderr, "{arguments:?}");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_fault_of_the_configuration() {
    let run = run(
        &["config", "check"],
        &[("LOADPROOF_CONFIG", "/nowhere/c.yaml")],
    );
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .starts_with("/nowhere/c.yaml: the configuration file cannot be read"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("correct the path in LOADPROOF_CONFIG"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_certificate_that_is_not_there_is_a_fault_of_its_line() {
    let tls = "tls:\n  certificate: /nowhere/tls.crt\n  key: /nowhere/tls.key\n";
    let (_dir, path) = file(&format!("{WELL}listen: 127.0.0.1:0\n{tls}"));
    let path = path.to_str().unwrap();
    let run = run(
        &["proxy", "--config", path, "--admin-listen", "127.0.0.1:0"],
        &[],
    );
    assert_eq!(run.code, 2);
    let said = format!("{path}:4:16: tls.certificate = /nowhere/tls.crt: ");
    assert!(run.stderr.contains(&said), "{}", run.stderr);
    assert!(
        run.stderr.contains("fix: correct the path"),
        "{}",
        run.stderr
    );
}

#[test]
fn schema_and_reference_are_the_rooms_own() {
    let schema = run(&["config", "schema"], &[]);
    assert_eq!(schema.code, 0);
    assert_eq!(
        serde_json::from_str::<Value>(&schema.stdout).unwrap(),
        config::schema()
    );
    assert_eq!(
        run(&["config", "reference"], &[]).stdout,
        config::reference()
    );
}

#[test]
fn every_flag_of_the_table_is_a_flag_of_the_proxy_and_the_other_way_round() {
    let help = run(&["proxy", "--help"], &[]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    let options = help
        .stdout
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"));
    let mut offered: Vec<&str> = options
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut known: Vec<&str> = config::keys()
        .filter_map(|key| key.flag?.strip_prefix("--"))
        .collect();
    known.extend(["config", "set"]);
    offered.sort_unstable();
    known.sort_unstable();
    assert_eq!(offered, known);
}

#[test]
fn help_and_version_go_to_stdout_and_mistakes_to_stderr() {
    for arguments in [
        ["--help"].as_slice(),
        &["--version"],
        &["config", "check", "--help"],
        &["help", "proxy"],
    ] {
        let run = run(arguments, &[]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
        assert!(!run.stdout.is_empty(), "{arguments:?}");
    }
    assert_eq!(
        run(&["--version"], &[]).stdout,
        concat!("loadproof ", env!("CARGO_PKG_VERSION"), "\n")
    );
    for arguments in [
        [].as_slice(),
        &["frobnicate"],
        &["config"],
        &["proxy", "--lisetn", "x"],
        &["config", "check", "--listen"],
    ] {
        let run = run(arguments, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(!run.stderr.is_empty(), "{arguments:?}");
    }
}

/// `loadproof config reference | head -1`: the reader leaves, and that is no failure.
#[test]
fn a_reader_that_has_gone_ends_the_writing_quietly() {
    for arguments in [
        ["config", "reference"].as_slice(),
        &["config", "check", "--upstream", "http://e:1"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(arguments, &[])
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_told_and_exits_with_3() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = command(&["config", "schema"], &[])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.starts_with("loadproof: cannot write to standard output: "),
        "{stderr}"
    );
}
