//! What is said about each thing that can be wrong, word for word: the messages are the product here.

use config::{Environment, FileText, Flag, Sources, check};

const UPSTREAM: &str = "upstream: {url: \"http://127.0.0.1:8000\"}\n";

/// Everything that is said about `file`, the variables and the flags.
fn said(file: &str, variables: &[(&str, &str)], flags: &[Flag]) -> String {
    let sources = Sources {
        file: Some(FileText {
            name: "c.yaml",
            text: file,
        }),
        environment: &Environment::of(variables.iter().copied()),
        flags,
    };
    check(&sources).map_or_else(|faults| faults.to_string(), |_| "ok".to_owned())
}

/// What is said about `file` beside an engine that is well.
fn said_of_file(file: &str) -> String {
    said(&format!("{UPSTREAM}{file}"), &[], &[])
}

#[test]
fn wrong_values_name_the_line_the_value_and_the_fix() {
    for (file, expected) in [
        (
            "limits:\n  body_bytes: 512MB",
            "c.yaml:3:15: limits.body_bytes = 512MB: not a size\n  fix: write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB",
        ),
        (
            "limits: {body_bytes: 0x10}",
            "c.yaml:2:22: limits.body_bytes = 0x10: not a size\n  fix: write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB",
        ),
        (
            "limits: {body_bytes: 1e3}",
            "c.yaml:2:22: limits.body_bytes = 1e3: not a size\n  fix: write bytes as a number, or with KiB, MiB or GiB, for example 65536, 64KiB or 512MiB",
        ),
        (
            "drain: {delay: 15}",
            "c.yaml:2:16: drain.delay = 15: a duration without a unit\n  fix: write 15s or 15ms",
        ),
        (
            "log: {level: WARN}",
            "c.yaml:2:14: log.level = WARN: not one of error, warn, info, debug, trace\n  fix: write one of error, warn, info, debug, trace",
        ),
        (
            "listen: 8080",
            "c.yaml:2:9: listen = 8080: not an address with a port\n  fix: write ADDRESS:PORT, for example 127.0.0.1:8080",
        ),
    ] {
        assert_eq!(said_of_file(file), expected, "{file}");
    }
}

#[test]
fn wrong_shapes_and_ranges_name_the_line_the_value_and_the_fix() {
    for (file, expected) in [
        (
            "limits: {connections: 0}",
            "c.yaml:2:23: limits.connections = 0: outside the range 1 to 1000000\n  fix: write a value from 1 to 1000000",
        ),
        (
            "limits: {connections: [1]}",
            "c.yaml:2:23: limits.connections: a list where one number belongs\n  fix: write one number",
        ),
        (
            "limits: {connections: {a: 1}}",
            "c.yaml:2:23: limits.connections: a mapping where one number belongs\n  fix: write one number",
        ),
        (
            "limits:\n  connections:\n",
            "c.yaml:3:14: limits.connections: a key without a value\n  fix: give it a value or remove the key",
        ),
        (
            "models: {names: llama}",
            "c.yaml:2:17: models.names = llama: one value where a list belongs\n  fix: write it in brackets, [llama]",
        ),
        (
            "models: {names: [a, b, a]}",
            "c.yaml:2:24: models.names[2] = a: given before in the same list\n  fix: write each item once",
        ),
        (
            "shape: {input_len: [1, 4, 4, 2]}",
            "c.yaml:2:27: shape.input_len[2] = 4: not above the item before it\n  fix: write the items in ascending order, each once\n\
             c.yaml:2:30: shape.input_len[3] = 2: not above the item before it\n  fix: write the items in ascending order, each once",
        ),
        (
            "slo: {ttft: [2s, 1]}",
            "c.yaml:2:18: slo.ttft[1] = 1: a duration without a unit\n  fix: write 1s or 1ms",
        ),
        (
            "shape: {input_len: []}",
            "c.yaml:2:20: shape.input_len: a list of 0\n  fix: give 1 to 16 items",
        ),
        (
            "listen: 127.0.0.1:1\nadmin: {listen: 127.0.0.1:2}\nlisten: 127.0.0.1:3",
            "c.yaml:4:1: listen: given twice, first at c.yaml:2:1\n  fix: keep one of them",
        ),
        (
            "log: {level: \"a b\\nc\"}",
            "c.yaml:2:14: log.level = \"a b\\nc\": not one of error, warn, info, debug, trace\n  fix: write one of error, warn, info, debug, trace",
        ),
    ] {
        assert_eq!(said_of_file(file), expected, "{file}");
    }
}

#[test]
fn unknown_keys_name_the_nearest_and_never_their_value() {
    let said = said(include_str!("fixtures/wrong_keys.yaml"), &[], &[]);
    let expected = "\
c.yaml:2:1: lisetn: unknown key
  fix: did you mean `listen`?
c.yaml:3:1: upstreams: unknown key
  fix: did you mean `upstream`?
c.yaml:5:1: limits.body_bytes: a key path in one word
  fix: write `limits:` and below it, indented, `body_bytes:`
c.yaml:7:3: limits.queueBytes: unknown key
  fix: did you mean `limits.queue_bytes`?
c.yaml:8:3: limits.head-bytes: unknown key
  fix: did you mean `limits.head_bytes`?
c.yaml:9:3: limits.tokenizer: unknown key
  fix: remove it; known here are connections, tls_handshake, head_bytes, head_fields, head_timeout, body_bytes, body_pause, body_rate, client_idle, client_write, client_rate, http2_control_frames, http2_new_streams, queue_bytes, queue_bytes_max, queue_bytes_total
c.yaml:10:3: limits.log: unknown key
  fix: remove it; known here are connections, tls_handshake, head_bytes, head_fields, head_timeout, body_bytes, body_pause, body_rate, client_idle, client_write, client_rate, http2_control_frames, http2_new_streams, queue_bytes, queue_bytes_max, queue_bytes_total
c.yaml:11:1: connect_timeout: unknown key
  fix: did you mean `upstream.connect_timeout`?
c.yaml:14:3: log.listen: unknown key
  fix: `listen` stands at the top level: write it without indentation
c.yaml:15:6: slo: a value where a section of keys belongs
  fix: write the keys of `slo` below it, indented
c.yaml:16:1: api_key: unknown key
  fix: remove it; known here are listen, half_close, allow_upgrade, routes, admin, tls, upstream, engine, models, shape, slo, limits, drain, log
upstream.url: not given, and it has no default
  fix: give `http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH` by --upstream, LOADPROOF_UPSTREAM_URL or the file";
    assert_eq!(said, expected);
}

#[test]
fn yaml_that_cannot_be_read_names_line_column_and_fix() {
    for (file, expected) in [
        (
            "listen: \"a\nlog: {}\n",
            "c.yaml:1:9: not readable as YAML: unclosed quote\n  fix: close the quote on the same line",
        ),
        (
            "log:\n\tlevel: info\n",
            "c.yaml:2:2: not readable as YAML: tabs disallowed within this context (block indentation)\n  fix: indent with spaces",
        ),
        (
            "log:\n  level: info\n    format: json\n",
            "c.yaml:3:11: not readable as YAML: mapping values are not allowed in this context\n  fix: indent the keys of a section alike, and quote a value that contains \": \"",
        ),
        (
            "log: {}\n  drain: {}\n",
            "c.yaml:2:3: not readable as YAML: while parsing a block mapping, did not find expected key\n  fix: indent the keys of a section alike, and quote a value that contains \": \"",
        ),
        (
            "slo: {ttft: [1s, 2s}\n",
            "c.yaml:1:13: not readable as YAML: mismatched bracket '[' closed by '}'\n  fix: close the bracket",
        ),
        (
            "log: {}\n---\ndrain: {}\n",
            "c.yaml:3:1: not readable as YAML: only single YAML document expected but multiple found\n  fix: remove everything from the line --- on",
        ),
        (
            "log: *missing\n",
            "c.yaml:1:6: not readable as YAML: reference to unknown value\n  fix: define the anchor with & before the alias * uses it, or quote the value",
        ),
        (
            "listen: @here\n",
            "c.yaml:1:9: not readable as YAML: unexpected character: `@'\n  fix: quote the value",
        ),
        (
            "- listen\n",
            "c.yaml:1:1: not a mapping of keys to values\n  fix: write KEY: VALUE lines, for example listen: 127.0.0.1:8080",
        ),
        (
            "[a]: 1\n",
            "c.yaml:1:1: not readable as YAML: expected string scalar\n  fix: correct the line; every key is `KEY: VALUE`, indented with spaces below its section",
        ),
    ] {
        assert_eq!(said(file, &[], &[]), expected, "{file}");
    }
}

#[test]
fn variables_and_flags_are_named_as_they_were_given() {
    let variables = [
        ("LOADPROOF_LIMIT_BODY_BYTES", "sk-secret"),
        ("LOADPROOF_TOKENIZER", "1"),
        ("LOADPROOF_LISTEN", ""),
        ("LOADPROOF_SLO_TTFT", "1s,,500"),
        ("LOADPROOF_CONFIG", "ignored-here.yaml"),
        ("PATH", "/bin"),
    ];
    let flags = [
        Flag::one("--log-level", "log.level", "loud"),
        Flag::assignment("log.format"),
        Flag::assignment("limits.body_byte=sk-secret"),
        Flag::assignment("drain.delay="),
        Flag::one("--upstream", "upstream.url", "http://127.0.0.1:8000"),
        Flag::assignment("upstream.url=http://127.0.0.1:8001"),
        Flag::many(
            "--model",
            "models.names",
            &["a,b".to_owned(), "other".to_owned()],
        ),
    ];
    let expected = r#"environment LOADPROOF_LIMIT_BODY_BYTES: unknown variable
  fix: did you mean LOADPROOF_LIMITS_BODY_BYTES?
environment LOADPROOF_TOKENIZER: unknown variable
  fix: unset it; `loadproof config reference` lists every variable
environment LOADPROOF_LISTEN: listen = "": a key without a value
  fix: give it a value or unset the variable
environment LOADPROOF_SLO_TTFT: slo.ttft[1] = "": an empty item
  fix: give one duration between two commas
environment LOADPROOF_SLO_TTFT: slo.ttft[2] = 500: a duration without a unit
  fix: write 500s or 500ms
flag --set: limits.body_byte: unknown key
  fix: did you mean `limits.body_bytes`?
flag --set: upstream.url: given twice, first at flag --upstream
  fix: keep one of them
flag --model: models.names[1] = other: the label value for models that are not listed
  fix: remove it, and give the model another name in the engine
flag --set: drain.delay = "": a key without a value
  fix: give it a value or leave the flag out
flag --log-level: log.level = loud: not one of error, warn, info, debug, trace
  fix: write one of error, warn, info, debug, trace
flag --set: log.format: a key without a value
  fix: give it a value or leave the flag out"#;
    let said = said("", &variables, &flags);
    assert_eq!(said, expected);
}

#[test]
fn values_that_cannot_both_hold_are_told_with_both_places() {
    for (file, expected) in [
        (
            "limits: {queue_bytes: 16MiB}",
            "c.yaml:2:23: limits.queue_bytes = 16MiB: limits.queue_bytes (16MiB, c.yaml:2:23) is above limits.queue_bytes_max (8MiB, default)\n  fix: lower limits.queue_bytes or raise limits.queue_bytes_max",
        ),
        (
            "limits: {queue_bytes_total: 1MiB}",
            "c.yaml:2:29: limits.queue_bytes_total = 1MiB: limits.queue_bytes_max (8MiB, default) is above limits.queue_bytes_total (1MiB, c.yaml:2:29)\n  fix: lower limits.queue_bytes_max or raise limits.queue_bytes_total",
        ),
        (
            "listen: 0.0.0.0:9464",
            "c.yaml:2:9: listen = 0.0.0.0:9464: listen (0.0.0.0:9464, c.yaml:2:9) and admin.listen (127.0.0.1:9464, default) take the same port\n  fix: give one of them another port",
        ),
        (
            "listen: '[::]:8000'",
            "c.yaml:1:17: upstream.url = http://127.0.0.1:8000: the engine's address is our own listen ([::]:8000, c.yaml:2:9)\n  fix: give the place at which the engine listens",
        ),
        (
            "tls: {certificate: /a}",
            "c.yaml:2:20: tls.certificate = /a: of no use without tls.key\n  fix: give tls.key too",
        ),
        (
            "tls: {client_ca: /a}",
            "c.yaml:2:18: tls.client_ca = /a: of no use without tls.certificate\n  fix: give tls.certificate too",
        ),
        ("tls: {certificate: /a, key: /b, client_ca: /c}", "ok"),
        ("listen: 127.0.0.1:0\nadmin: {listen: '127.0.0.1:0'}", "ok"),
        ("listen: 127.0.0.2:8000", "ok"),
        ("listen: '[::1]:8000'", "ok"),
    ] {
        assert_eq!(said_of_file(file), expected, "{file}");
    }
}

#[test]
fn an_engine_at_our_own_address_is_refused_in_every_spelling() {
    for (engine, listen, ours) in [
        ("localhost:8000", "127.0.0.1:8000", true),
        ("localhost:8000", "[::1]:8000", true),
        ("LOCALHOST:8000", "[::]:8000", true),
        ("[::1]:8000", "[::]:8000", true),
        ("[::ffff:127.0.0.1]:8000", "127.0.0.1:8000", true),
        ("10.0.0.1:8000", "0.0.0.0:8000", true),
        ("[::1]:8000", "0.0.0.0:8000", false),
        ("10.0.0.1:8000", "127.0.0.1:8000", false),
        ("localhost:8001", "127.0.0.1:8000", false),
        ("engine:8000", "127.0.0.1:8000", false),
    ] {
        let file = format!("upstream: {{url: 'http://{engine}'}}\nlisten: '{listen}'");
        let said = said(&file, &[], &[]);
        assert_eq!(
            said.contains("is our own listen"),
            ours,
            "{engine} {listen}: {said}"
        );
    }
}

/// Each port of the engine has a listener of its own; a port that is chosen by the system is chosen for each.
#[test]
fn listeners_and_ports_of_the_engine_are_as_many() {
    let fix = "\n  fix: give each port of the engine one to listen on: as many ports in listen as in upstream.url";
    for (listen, engine, expected) in [
        ("0.0.0.0:8000-8003", "http://127.0.0.1:8200-8203", "ok".to_owned()),
        ("127.0.0.1:0", "http://127.0.0.1:8200-8203", "ok".to_owned()),
        (
            "127.0.0.1:8000",
            "http://127.0.0.1:8200-8203",
            format!("c.yaml:1:9: listen = 127.0.0.1:8000: listen (127.0.0.1:8000, c.yaml:1:9) and upstream.url (http://127.0.0.1:8200-8203, c.yaml:2:17) have 1 and 4 ports{fix}"),
        ),
        (
            "127.0.0.1:8000-8001",
            "unix:/run/engine.sock",
            format!("c.yaml:1:9: listen = 127.0.0.1:8000-8001: listen (127.0.0.1:8000-8001, c.yaml:1:9) and upstream.url (unix:/run/engine.sock, c.yaml:2:17) have 2 and 1 ports{fix}"),
        ),
        (
            "127.0.0.1:8200-8201",
            "http://127.0.0.1:8201-8202",
            "c.yaml:2:17: upstream.url = http://127.0.0.1:8201-8202: the engine's address is our own listen (127.0.0.1:8200-8201, c.yaml:1:9)\n  fix: give the place at which the engine listens".to_owned(),
        ),
        (
            "0.0.0.0:9463-9464",
            "http://engine:8200-8201",
            "c.yaml:1:9: listen = 0.0.0.0:9463-9464: listen (0.0.0.0:9463-9464, c.yaml:1:9) and admin.listen (127.0.0.1:9464, default) take the same port\n  fix: give one of them another port".to_owned(),
        ),
    ] {
        let file = format!("listen: {listen}\nupstream: {{url: '{engine}'}}");
        assert_eq!(said(&file, &[], &[]), expected, "{listen} {engine}");
    }
}

#[test]
fn a_value_that_cannot_be_read_hides_no_other_fault() {
    let file = "limits: {queue_bytes: 9MiB, queue_bytes_total: lots}\nlog: {level: loud}";
    let said = said_of_file(file);
    let lines: Vec<&str> = said.lines().step_by(2).collect();
    assert_eq!(
        lines,
        [
            "c.yaml:2:23: limits.queue_bytes = 9MiB: limits.queue_bytes (9MiB, c.yaml:2:23) is above limits.queue_bytes_max (8MiB, default)",
            "c.yaml:2:48: limits.queue_bytes_total = lots: not a size",
            "c.yaml:3:14: log.level = loud: not one of error, warn, info, debug, trace",
        ]
    );
}

#[test]
fn credentials_are_refused_and_not_repeated() {
    for url in [
        "http://user:sk-secret@host:8000",
        "user:sk-secret@host:8000",
    ] {
        let said = said(&format!("upstream: {{url: \"{url}\"}}"), &[], &[]);
        assert!(!said.contains("sk-secret"), "{said}");
        assert!(said.contains("***@host:8000"), "{said}");
    }
}
