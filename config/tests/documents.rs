//! The printed configuration, the schema and the reference: each made from the table, each held against the check.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, and these are functions of tests"
)]

use config::{
    Environment, FileText, Flag, Sources, check, keys, print, print_json, reference, schema,
};
use serde_json::{Value, json};

const EXAMPLE: &str = "\
listen: 0.0.0.0:8000
upstream:
  url: http://127.0.0.1:8001
  ttft_timeout: off
models: {names: [meta-llama/Llama-3.1-8B, '1e3', 'a, b', 'off', \"true\", 2024-01-31, 1_000, 0x1f, '#a'], learn: false}
slo: {ttft: [500ms, 2s], tpot: [30ms]}
limits:
";

fn example() -> config::Effective {
    let result = check(&Sources {
        file: Some(FileText {
            name: "c.yaml",
            text: EXAMPLE,
        }),
        environment: &Environment::of([("LOADPROOF_DRAIN_DELAY", "0s")]),
        flags: &[Flag::one("--log-format", "log.format", "json")],
    });
    result.unwrap_or_else(|faults| panic!("{faults}"))
}

const PRINTED: &str = r##"listen: 0.0.0.0:8000 # c.yaml:1:9
half_close: abort # default
allow_upgrade: "none" # default
routes: [] # default
admin:
  listen: 127.0.0.1:9464 # default
tls:
  certificate: "none" # default
  key: "none" # default
  client_ca: "none" # default
upstream:
  url: http://127.0.0.1:8001 # c.yaml:3:8
  protocol: auto # default
  connect_timeout: 2s # default
  idle_timeout: 3s # default
  max_idle: 256 # default
  ttft_timeout: "off" # c.yaml:4:17
  silence_timeout: "off" # default
  tls:
    ca: "none" # default
    server_name: auto # default
    certificate: "none" # default
    key: "none" # default
engine:
  probe: true # default
  scrape_interval: 1s # default
  kind: auto # default
  version: auto # default
  model: auto # default
  precision: auto # default
  max_model_len: auto # default
  usage: observe # default
  text: auto # default
  num_output_tokens: auto # default
models:
  names: [meta-llama/Llama-3.1-8B, "1e3", "a, b", "off", "true", "2024-01-31", "1_000", "0x1f", "#a"] # c.yaml:5:17
  learn: false # c.yaml:5:112
shape:
  input_len: [256, 1024, 4096, 16384] # default
  output_len: [32, 256, 1024] # default
  concurrency: [1, 4, 16, 64] # default
  max_cells: 48 # default
slo:
  ttft: [500ms, 2s] # c.yaml:6:13
  tpot: [30ms] # c.yaml:6:32
  e2e: [] # default
limits:
  connections: 4096 # default
  tls_handshake: 10s # default
  head_bytes: 32KiB # default
  head_fields: 100 # default
  head_timeout: 10s # default
  body_bytes: 512MiB # default
  body_pause: 1m # default
  body_rate: 1KiB # default
  client_idle: 1m5s # default
  client_write: 30s # default
  client_rate: 256 # default
  http2_control_frames: 1000 # default
  http2_new_streams: 100 # default
  queue_bytes: 256KiB # default
  queue_bytes_max: 8MiB # default
  queue_bytes_total: 64MiB # default
drain:
  delay: 0s # environment LOADPROOF_DRAIN_DELAY
  timeout: 10m # default
log:
  level: info # default
  format: json # flag --log-format
"##;

#[test]
fn what_is_in_force_is_printed_with_where_it_came_from() {
    assert_eq!(print(&example()), PRINTED);
}

#[test]
fn every_key_is_printed_once_in_the_order_of_the_table() {
    let effective = example();
    let printed: Vec<&str> = effective
        .settings
        .iter()
        .map(|setting| setting.key)
        .collect();
    let table: Vec<&str> = keys().map(|key| key.path).collect();
    assert_eq!(printed, table);
}

#[test]
fn names_of_variables_and_flags_are_each_one_keys() {
    let mut variables: Vec<String> = keys().map(|key| key.environment).collect();
    let mut flags: Vec<&str> = keys().filter_map(|key| key.flag).collect();
    for names in [
        &mut variables.iter().map(String::as_str).collect(),
        &mut flags,
    ] {
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
    variables.retain(|name| !name.starts_with("LOADPROOF_"));
    assert_eq!(variables, Vec::<String>::new());
}

#[test]
fn the_schema_accepts_what_is_printed() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    assert!(jsonschema::draft202012::meta::is_valid(&schema()));
    let printed = print_json(&example());
    let errors: Vec<String> = validator
        .iter_errors(&printed["config"])
        .map(|error| error.to_string())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    for empty in [json!(null), json!({}), json!({"limits": null})] {
        assert!(validator.is_valid(&empty), "{empty}");
    }
}

/// The schema and the check agree about a file with one key in it.
#[test]
fn the_schema_refuses_what_the_check_refuses() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for (path, value, good) in [
        ("upstream.url", json!("http://[::1]:8000"), true),
        ("upstream.url", json!("http://user@host:8000"), false),
        ("upstream.url", json!("https://host:8000"), true),
        ("upstream.url", json!("ftp://host:8000"), false),
        ("upstream.url", json!("http://host"), false),
        ("upstream.urls", json!("http://host:8000"), false),
        ("drain.delay", json!("1m30s"), true),
        ("drain.delay", json!("30s1m"), false),
        ("drain.delay", json!("1.5s"), false),
        ("drain.delay", json!(15), false),
        ("drain.delay", json!(""), false),
        ("drain.delay", json!("off"), false),
        ("upstream.ttft_timeout", json!("off"), true),
        ("upstream.ttft_timeout", json!(false), true),
        ("upstream.ttft_timeout", json!(true), false),
        ("engine.scrape_interval", json!("off"), true),
        ("engine.scrape_interval", json!("100ms"), true),
        ("engine.precision", json!("auto"), true),
        ("engine.precision", json!("weights=bfloat16,kv=fp8"), true),
        ("engine.precision", json!(""), false),
        ("engine.precision", json!("x".repeat(129)), false),
        ("engine.max_model_len", json!("auto"), true),
        ("engine.max_model_len", json!(8192), true),
        ("engine.max_model_len", json!("much"), false),
        ("engine.max_model_len", json!(0), false),
        ("limits.body_bytes", json!(1_048_576), true),
        ("limits.body_bytes", json!("1MiB"), true),
        ("limits.body_bytes", json!("1MB"), false),
        ("limits.body_bytes", json!(1), false),
        ("limits.connections", json!(0), false),
        ("limits.connections", json!(1.5), false),
        ("shape.input_len", json!([]), false),
        ("shape.input_len", json!([1, 2]), true),
        ("shape.input_len", json!(1), false),
        ("engine.kind", json!("vllm"), true),
        ("engine.kind", json!("vLLM"), false),
        ("engine.usage", json!("inject"), true),
        ("engine.usage", json!(true), false),
        ("models.learn", json!(true), true),
        ("models.learn", json!("yes"), false),
        ("models.names", json!(["other"]), false),
        ("log.level", json!("warn"), true),
        ("log.level", json!("warning"), false),
    ] {
        let (section, name) = path.split_once('.').unwrap();
        let mut document = json!({section: {name: value}});
        assert_eq!(validator.is_valid(&document), good, "schema: {document}");
        if path != "upstream.url" {
            document["upstream"]["url"] = json!("http://engine:8000");
        }
        let text = document.to_string();
        let result = check(&Sources {
            file: Some(FileText {
                name: "c.yaml",
                text: &text,
            }),
            environment: &Environment::default(),
            flags: &[],
        });
        assert_eq!(result.is_ok(), good, "check: {document} {result:?}");
    }
}

#[test]
fn the_json_form_has_config_sources_and_warnings() {
    let effective = check(&Sources {
        file: None,
        environment: &Environment::of([("LOADPROOF_UPSTREAM_URL", "http://engine:8000")]),
        flags: &[Flag::assignment("upstream.idle_timeout=5s")],
    })
    .unwrap();
    let printed = print_json(&effective);
    assert_eq!(printed["config"]["limits"]["queue_bytes"], json!("256KiB"));
    assert_eq!(
        printed["sources"]["upstream.url"],
        json!({"kind": "environment", "name": "LOADPROOF_UPSTREAM_URL"})
    );
    assert_eq!(
        printed["warnings"][0]["key"],
        json!("upstream.idle_timeout")
    );
    assert_eq!(
        printed["warnings"][0]["source"],
        json!({"kind": "flag", "name": "--set"})
    );
    fn leaves(value: &Value) -> usize {
        let fields = value.as_object().map(|fields| fields.values());
        fields.map_or(1, |fields| fields.map(leaves).sum())
    }
    assert_eq!(leaves(&printed["config"]), keys().count());
}

#[test]
fn what_is_likely_not_meant_is_warned_of() {
    for (flag, expected) in [
        (
            "upstream.idle_timeout=5s",
            "flag --set: upstream.idle_timeout: 5s is not below the 5s after which engines on uvicorn close an idle connection; a request sent at that moment fails with 502\n  advice: keep it below the engine's keep-alive, for example 3s",
        ),
        ("upstream.idle_timeout=4999ms", ""),
        (
            "shape.max_cells=179",
            "flag --set: shape.max_cells: the edges make 180 cells, of which 179 are kept apart\n  advice: raise it or give fewer edges; the rest counts as overflow",
        ),
        ("shape.max_cells=180", ""),
        (
            "models.learn=false",
            "flag --set: models.learn: no name is listed and none is learned, so every model counts as other\n  advice: list models.names, or leave models.learn on",
        ),
        (
            "upstream.ttft_timeout=2s",
            "flag --set: upstream.ttft_timeout: requests are cut after 2s and so never miss the target of 2s in slo.ttft by being late\n  advice: raise it well above the largest target, or turn it off",
        ),
        ("upstream.ttft_timeout=2001ms", ""),
    ] {
        let effective = check(&Sources {
            file: Some(FileText {
                name: "c.yaml",
                text: "upstream: {url: 'http://e:1'}\nslo: {ttft: [1s, 2s]}",
            }),
            environment: &Environment::default(),
            flags: &[Flag::assignment(flag)],
        })
        .unwrap();
        let warnings: Vec<String> = effective.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.join("\n"), expected, "{flag}");
    }
}

#[test]
fn the_committed_reference_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/CONFIG.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == reference(),
        "docs/CONFIG.md is not what the table says; write it anew: cargo run -- config reference > docs/CONFIG.md"
    );
}
